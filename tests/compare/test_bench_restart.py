"""A small run of the measurement of restarts."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Restart(unittest.TestCase):
    def test_a_short_run(self):
        command = [
            sys.executable,
            "-B",
            ROOT / "bench/restart/run",
            "--quick",
            "--jobs",
            "2000",
            "-o",
            "json",
            "--millrace",
            os.environ.get("MILLRACE_BIN", ROOT / "build/release/millrace"),
        ]
        run = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        result = json.loads(run.stdout)
        self.assertEqual((result["jobs"], len(result["seconds"])), (2000, 1))
        self.assertGreater(result["resident_bytes"], 1 << 20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
