#!/usr/bin/env python3
"""Turns the API's description into a C++ source that holds it as JSON.

embed_openapi.py docs/reference/openapi.yaml OUT.cc
"""

import json
import pathlib
import sys

import yaml

BYTES_PER_LINE = 24


def main(source, target):
    description = yaml.safe_load(pathlib.Path(source).read_text(encoding="utf-8"))
    # Dates that the YAML reader made of examples are written as they would be in JSON.
    content = json.dumps(description, separators=(",", ":"), default=str).encode("ascii")
    lines = []
    for start in range(0, len(content), BYTES_PER_LINE):
        lines.append(",".join(str(byte) for byte in content[start : start + BYTES_PER_LINE]) + ",")
    pathlib.Path(target).write_text(
        '#include "http/openapi.h"\n\n'
        "namespace millrace::http {\n\n"
        "static constexpr char kContent[] = {\n" + "\n".join(lines) + "\n};\n\n"
        "std::string_view openapi_json() { return {kContent, sizeof kContent}; }\n\n"
        "}  // namespace millrace::http\n",
        encoding="ascii",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
