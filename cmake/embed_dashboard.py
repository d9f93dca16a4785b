#!/usr/bin/env python3
"""Writes a C++ source that holds the files of the dashboard: each as it is, and compressed.

    embed_dashboard.py web/dist OUT.cc

A file F has its compressed forms beside it, F.gz and F.br. The assembler takes the bytes in.
"""

import hashlib
import pathlib
import sys

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


def main(source, target):
    source = pathlib.Path(source).resolve()
    files = sorted(path for path in source.rglob("*") if path.is_file() and path.suffix in TYPES)
    pieces, rows = [], []
    for number, path in enumerate(files):
        forms = []
        for form in (path, pathlib.Path(f"{path}.gz"), pathlib.Path(f"{path}.br")):
            name = f"millrace_asset_{number}_{len(forms)}"
            pieces.append(
                f'__asm__(".section .rodata\\n.global {name}\\n{name}:\\n.incbin \\"{form}\\"\\n"\n'
                f'        ".previous\\n");\n'
                f'extern "C" const char {name}[];'
            )
            forms.append(f"{{{name}, {form.stat().st_size}}}")
        place = "/" + path.relative_to(source).as_posix()
        if place == "/index.html":
            place = "/"
        tag = hashlib.sha256(path.read_bytes()).hexdigest()[:20]
        rows.append(f'    {{"{place}", "{TYPES[path.suffix]}", "{tag}", ' + ", ".join(forms) + "},")
    pathlib.Path(target).write_text(
        '#include "http/assets.h"\n\n' + "\n".join(pieces) + "\n\nnamespace millrace::http {\n\n"
        "static const Asset kAssets[] = {\n" + "\n".join(rows) + "\n};\n\n"
        "std::span<const Asset> assets() { return kAssets; }\n\n"
        "}  // namespace millrace::http\n",
        encoding="ascii",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
