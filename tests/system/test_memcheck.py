"""The tests in which something ends while somebody waits for it, on a server under Valgrind's memcheck: it
finds what uses memory that was freed. The whole of tests/system is run on a sanitizer's build by
`tools/test --preset dev`, which takes too long for each change.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

HERE = pathlib.Path(__file__).parent
TESTS = ("test_token_ends.py",)
ERROR = 66
TIMEOUT_S = 800
WRAPPER = """#!/bin/sh
[ "$1" = serve ] || exec {binary} "$@"
exec valgrind --quiet --error-exitcode={error} {binary} "$@"
"""


@unittest.skipIf(harness.is_sanitized(), "it has a sanitizer instead")
@unittest.skipUnless(shutil.which("valgrind"), "there is no valgrind")
class Memcheck(unittest.TestCase):
    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="millrace-memcheck-"))
        self.addCleanup(shutil.rmtree, self.home)
        # Debian's Valgrind can't read this compiler's debug information; names of functions are enough.
        subprocess.run(["strip", "-g", "-o", self.home / "millrace", harness.BINARY], check=True)
        self.wrapper = self.home / "wrapped"
        self.wrapper.write_text(WRAPPER.format(binary=self.home / "millrace", error=ERROR))
        self.wrapper.chmod(0o755)

    def test_what_ends_while_somebody_waits(self):
        for name in TESTS:
            with self.subTest(test=name):
                done = subprocess.run(
                    [sys.executable, "-B", HERE / name],
                    env={**os.environ, "MILLRACE_BIN": str(self.wrapper), "MILLRACE_SLOW": "1"},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=TIMEOUT_S,
                    check=False,
                )
                self.assertEqual(done.returncode, 0, done.stdout[-8000:])


if __name__ == "__main__":
    unittest.main()
