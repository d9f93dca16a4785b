"""Tokens for a server's configuration file."""

import re

from . import paths  # noqa: F401 (makes the next import possible)
import harness


def config_of(*args):
    """(token, its lines for the configuration file), made by `millrace token new`."""
    made = harness.run("token", "new", *args)
    if made.returncode:
        raise AssertionError(f"millrace token new {args}: {made.stderr}")
    token = re.search(r"\bmlr_\w+", made.stdout)[0]
    lines = made.stdout[made.stdout.index("[[tokens]]") :].splitlines()
    kept = [line for line in lines if line.startswith("[[tokens]]") or re.match(r"\s*\w+ *= ", line)]
    return token, "\n".join(kept) + "\n"
