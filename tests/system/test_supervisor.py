"""Tests of the messages to a supervisor: systemd's readiness protocol and its watchdog."""

import ctypes
import os
import pathlib
import socket
import unittest

import harness

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
WALL = 0x40000000  # waitpid also for threads


class Supervised(harness.MillraceCase):
    def supervised(self, address=None, **env):
        """A server of this test, not started yet, and the socket for its messages."""
        server = self.new_server()
        address = address or str(server.home / "notify")
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(listening.close)
        listening.bind(address.replace("@", "\0", 1))
        listening.settimeout(harness.START_TIMEOUT_S)
        server.env = {"NOTIFY_SOCKET": address, **env}
        return server, listening

    def hears(self, listening):
        return listening.recv(100).decode()

    def test_it_says_when_it_is_ready_and_when_it_stops(self):
        server, listening = self.supervised()
        server.spawn()
        self.assertEqual(self.hears(listening), "READY=1")
        self.assertTrue(server._ready(), "it said so too early")
        self.assertEqual(server.stop(), 0)
        self.assertEqual(self.hears(listening), "STOPPING=1")

    def test_an_abstract_socket(self):
        server, listening = self.supervised(address=f"@millrace-test-{os.getpid()}")
        server.start()
        self.assertEqual(self.hears(listening), "READY=1")

    def test_one_that_can_not_start_is_never_ready(self):
        server, listening = self.supervised()
        server.args += ["--memory", "1"]
        server.spawn()
        self.assertEqual(server.wait(), 78)
        listening.setblocking(False)
        self.assertRaises(BlockingIOError, listening.recv, 100)

    def test_nobody_listens(self):
        server, listening = self.supervised()
        listening.close()
        server.start()
        self.assertEqual(server.stop(), 0)

    def test_signs_of_life_come_within_the_time(self):
        server, listening = self.supervised(WATCHDOG_USEC=12_000_000)
        server.start()
        self.assertEqual(self.hears(listening), "READY=1")
        for _ in range(3):
            listening.settimeout(12)
            self.assertEqual(self.hears(listening), "WATCHDOG=1")

    def test_a_watchdog_of_another_process_gets_none(self):
        server, listening = self.supervised(WATCHDOG_USEC=1_000_000, WATCHDOG_PID=os.getpid())
        server.start()
        self.assertEqual(self.hears(listening), "READY=1")
        listening.settimeout(2.5)
        self.assertRaises(TimeoutError, listening.recv, 100)

    @unittest.skipUnless(os.geteuid() == 0, "holding a thread of another process is root's")
    @harness.sqlite_only
    def test_none_comes_when_the_shard_hears_nobody(self):
        server, listening = self.supervised(WATCHDOG_USEC=2_000_000)
        server.start()
        self.assertEqual(self.hears(listening), "READY=1")
        self.assertEqual(self.hears(listening), "WATCHDOG=1")
        threads = pathlib.Path(f"/proc/{server.process.pid}/task").iterdir()
        shard = [int(t.name) for t in threads if (t / "comm").read_text().strip() == "shard"]
        self.assertEqual(len(shard), 1)
        libc = ctypes.CDLL(None, use_errno=True)

        def ptrace(request):
            done = libc.ptrace(request, ctypes.c_long(shard[0]), None, None)
            self.assertEqual(done, 0, os.strerror(ctypes.get_errno()))

        ptrace(PTRACE_SEIZE)
        ptrace(PTRACE_INTERRUPT)
        os.waitpid(shard[0], WALL)
        self.addCleanup(ptrace, PTRACE_DETACH)
        listening.settimeout(6)
        try:
            self.assertEqual(self.hears(listening), "WATCHDOG=1", "one may be on its way")
        except TimeoutError:
            pass
        listening.settimeout(4)
        self.assertRaises(TimeoutError, listening.recv, 100)


if __name__ == "__main__":
    harness.main()
