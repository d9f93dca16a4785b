"""Runs commands on a terminal with a given number of columns."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

import harness


class Terminal:
    """A command on its own terminal; `typed` is entered at once."""

    def __init__(self, *args, columns=80, rows=24, typed="", **env):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            [harness.BINARY, *map(str, args)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=harness.environment(TERM="xterm", **env),
            start_new_session=True,
        )
        os.close(theirs)
        self.end = ours
        self.shown = ""
        if typed:
            self.type(typed)

    def type(self, text):
        os.write(self.end, text.encode())

    def read_until(self, done, timeout_s=harness.PATIENCE_S):
        """Reads until `done(output)` is true or the command ends."""
        deadline = time.monotonic() + timeout_s
        while not done(self.shown):
            if time.monotonic() > deadline:
                raise AssertionError(f"not shown within {timeout_s} s:\n{self.shown}")
            if select.select([self.end], [], [], 0.1)[0]:
                try:
                    part = os.read(self.end, 1 << 16)
                except OSError:  # its last user has closed it
                    break
                self.shown += part.decode(errors="replace").replace("\r\n", "\n")
        return self.shown

    def finish(self, timeout_s=harness.PATIENCE_S):
        """The whole output and the exit status."""
        self.read_until(lambda _: False, timeout_s)
        status = self.process.wait(timeout_s)
        os.close(self.end)
        return self.shown, status
