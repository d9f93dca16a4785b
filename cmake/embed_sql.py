#!/usr/bin/env python3
"""Turns a folder of SQL scripts into a C++ source with a constant for each: `inbox_tables.sql` becomes kInboxTables.

embed_sql.py src/store/postgres/sql HEADER NAMESPACE OUT.cc
"""

import pathlib
import sys


def constant(path):
    return "k" + "".join(word.capitalize() for word in path.stem.split("_"))


def main(folder, header, namespace, target):
    parts = [f'#include "{header}"\n\nnamespace {namespace} {{\n']
    for path in sorted(pathlib.Path(folder).glob("*.sql")):
        script = path.read_text(encoding="ascii")
        parts.append(f'const char* const {constant(path)} = R"sql({script})sql";\n')
    parts.append(f"}}  // namespace {namespace}\n")
    pathlib.Path(target).write_text("\n".join(parts), encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
