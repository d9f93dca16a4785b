"""A separate wall clock for a process, which can be set while the process runs.

A small library (clock_shim.c) is preloaded; a C compiler builds it at the first use. Programs that
do not ask the C library for the time, such as those in Go, ignore it: for them only the server's
clock can be moved.
"""

import functools
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import threading

from .failure import Skipped

SOURCE = pathlib.Path(__file__).with_name("clock_shim.c")
COMPILERS = ("cc", "gcc", "clang", "clang-19")
_lock = threading.Lock()


class Clock:
    """`env` is the environment that makes a process use this clock. Its file is in `home`, which
    must outlive the process.
    """

    def __init__(self, home):
        with _lock:
            library = _library()
        self.path = pathlib.Path(home) / "clock"
        self.path.write_bytes(bytes(8))
        self.env = {"LD_PRELOAD": library, "CONFORMANCE_CLOCK": str(self.path)}

    def set(self, offset_s):
        """Sets the clock to the machine's time plus `offset_s`."""
        with self.path.open("r+b") as file:
            file.write(struct.pack("=q", int(offset_s * 1e9)))


@functools.cache
def _library():
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise Skipped("no C compiler, so no clock can be moved")
    home = pathlib.Path(tempfile.gettempdir()) / f"millrace-conformance-{os.getuid()}"
    home.mkdir(mode=0o700, exist_ok=True)
    made = home / f"clock-{int(SOURCE.stat().st_mtime)}.so"
    if not made.exists():
        draft = home / f"clock-{os.getpid()}.so"
        arguments = ["-shared", "-fPIC", "-O2", "-Wall", "-o", str(draft), str(SOURCE)]
        subprocess.run([compiler, *arguments], check=True, capture_output=True)
        draft.replace(made)
    return str(made)
