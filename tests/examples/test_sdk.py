"""The libraries of a program that uses only the C++ SDK: the guide's program, linked by CMake."""

import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ["MILLRACE_BIN"]).parent / "guide_greeter"

# What sdk/cpp/README.md names, and what every C++ program has.
LIBRARIES = re.compile(r"lib(curl|fmt|stdc\+\+|m|gcc_s|c|pthread|[atu]b?san)\.so|ld-linux|libclang_rt")
# Of libraries that are linked statically there is no other trace.
FOREIGN = re.compile(r"\b(absl|spdlog|simdjson)::|\b(EVP|SHA256|OPENSSL|CRYPTO)_")


def lines_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


class WhatUsersOfTheSdkLink(unittest.TestCase):
    def test_only_the_libraries_that_its_readme_names(self):
        needed = [line for line in lines_of("readelf", "--dynamic", PROGRAM) if "(NEEDED)" in line]
        self.assertTrue(any("libcurl" in line for line in needed), needed)
        self.assertEqual([line for line in needed if not LIBRARIES.search(line)], [])

    def test_nothing_of_the_servers_libraries(self):
        symbols = lines_of("nm", "--demangle", PROGRAM)
        self.assertTrue(any("millrace::sdk::Client" in line for line in symbols))
        self.assertEqual([line for line in symbols if FOREIGN.search(line)], [])

    def test_public_headers_stand_on_the_standard_library(self):
        for header in (ROOT / "sdk/cpp/include").rglob("*.h"):
            # For users of that library, and for modules, which may be written in C.
            if header.name in ("nlohmann.h", "module.h"):
                continue
            includes = re.findall(r'^#include ["<](.+)[">]', header.read_text(), re.MULTILINE)
            foreign = [
                name for name in includes if not name.startswith("millrace/") and not re.fullmatch(r"[a-z_]+", name)
            ]
            self.assertEqual(foreign, [], header)


if __name__ == "__main__":
    unittest.main()
