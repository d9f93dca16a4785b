"""Writes the code blocks of a page that name a file into a directory: snippets.py PAGE DIRECTORY."""

import pathlib
import re
import sys

page, directory = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
blocks = re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
if not blocks:
    sys.exit(f"{page} has no block that names a file")
for name, text in blocks:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
