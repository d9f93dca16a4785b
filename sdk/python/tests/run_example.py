"""Run the example twice on a real server: the second run must send nothing again."""

from __future__ import annotations

import pathlib
import subprocess
import sys

from support import clean_environment, own_server


def main() -> None:
    example = pathlib.Path(sys.argv[1])
    lines = len(example.read_text().splitlines())
    assert lines <= 30, f"{example} has {lines} lines"
    with own_server() as server:
        env = {**clean_environment(), "MILLRACE_URL": server.url}
        for new in (2000, 0):
            done = subprocess.run(
                [sys.executable, str(example)],
                env=env,
                timeout=600,
                capture_output=True,
                text=True,
            )
            wanted = f"{new} new of 2000 submitted\n1980 sent, 20 dead letters\n"
            assert (done.returncode, done.stdout) == (0, wanted), done
    print("the example works")


if __name__ == "__main__":
    main()
