"""Tests of both transports against the HTTP of other servers, proxies and bad connections."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
from collections.abc import Callable, Iterator
from unittest import mock

from support import PATIENCE, eventually, server

from millrace import AsyncMillrace, Millrace, MillraceError, Unreachable

OK = b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"name": "q"}'


class ScriptedServer:
    """Passes each connection to a function, and counts the connections."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._serve = serve
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections = 0
        self.ended = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._run, args=(connection,), daemon=True).start()

    def _run(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            self._serve(connection)
        self.ended += 1

    def close(self) -> None:
        self._listener.close()


@contextlib.contextmanager
def scripted(serve: Callable[[socket.socket], None]) -> Iterator[ScriptedServer]:
    made = ScriptedServer(serve)
    try:
        yield made
    finally:
        made.close()


def requests(connection: socket.socket) -> Iterator[bytes]:
    """Yield the heads of the requests, which have no bodies, on a connection."""
    text = b""
    while part := connection.recv(65536):
        text += part
        while b"\r\n\r\n" in text:
            head, _, text = text.partition(b"\r\n\r\n")
            yield head


def answering(*answers: bytes) -> Callable[[socket.socket], None]:
    """Return a server function that gives these answers in turn, on each connection."""

    def serve(connection: socket.socket) -> None:
        for _, answer in zip(requests(connection), answers * 100):
            connection.sendall(answer)

    return serve


def sync_calls(url: str, count: int = 1, **options: object) -> list[str]:
    with Millrace(url, **options) as client:  # type: ignore[arg-type]
        return [client.queue("q").name for _ in range(count)]


def async_calls(url: str, count: int = 1, **options: object) -> list[str]:
    async def call() -> list[str]:
        async with AsyncMillrace(url, **options) as client:  # type: ignore[arg-type]
            return [(await client.queue("q")).name for _ in range(count)]

    return asyncio.run(call())


class TransportTest(unittest.TestCase):
    def both(self, serve: Callable[[socket.socket], None], count: int = 1, **options: object):
        """Call with both clients, and yield the servers for inspection."""
        for calls in (sync_calls, async_calls):
            with self.subTest(calls.__name__), scripted(serve) as each:
                yield each, lambda calls=calls, each=each: calls(each.url, count, **options)

    def test_keeps_its_connection(self):
        for each, call in self.both(answering(OK), 100):
            self.assertEqual(call(), ["q"] * 100)
            self.assertEqual(each.connections, 1)

    def test_reads_chunks(self):
        chunks = b'4;x=y\r\n{"na\r\n9\r\nme": "q"}\r\n0\r\nTrailer: x\r\n\r\n'
        answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
        for each, call in self.both(answering(answer), 3):
            self.assertEqual(call(), ["q"] * 3)
            self.assertEqual(each.connections, 1)

    def test_passes_over_interim_answers(self):
        for _, call in self.both(answering(b"HTTP/1.1 100 Continue\r\n\r\n" + OK), 2):
            self.assertEqual(call(), ["q"] * 2)

    def test_heeds_connection_close(self):
        closing = OK.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)

        def serve(connection: socket.socket) -> None:
            next(requests(connection))
            connection.sendall(closing)

        for each, call in self.both(serve, 3):
            self.assertEqual(call(), ["q"] * 3)
            self.assertEqual(each.connections, 3)

    def test_a_kept_connection_that_has_ended_costs_no_try(self):
        def serve(connection: socket.socket) -> None:
            next(requests(connection))
            connection.sendall(OK)

        for calls in (self._pausing_sync, self._pausing_async):
            with self.subTest(calls.__name__), scripted(serve) as each:
                calls(each)
                self.assertEqual(each.connections, 2)

    def _pausing_sync(self, each: ScriptedServer) -> None:
        with Millrace(each.url, timeout=PATIENCE) as client:
            client.queue("q")
            eventually(lambda: each.ended)
            # `retry` is not repeated after a loss: it must find a live connection at once.
            client.retry("q")

    def _pausing_async(self, each: ScriptedServer) -> None:
        async def call() -> None:
            async with AsyncMillrace(each.url, timeout=PATIENCE) as client:
                await client.queue("q")
                while not each.ended:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.1)  # lets the loop see it
                await client.retry("q")

        asyncio.run(call())

    def test_answers_that_are_none_of_ours(self):
        for answer in (
            b"SSH-2.0-x\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
            b"HTTP/1.1 301 Moved\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        ):
            for _, call in self.both(answering(answer), timeout=PATIENCE):
                with self.assertRaises(MillraceError) as caught:
                    call()
                self.assertEqual(caught.exception.code, "bad_answer", answer)

    def test_half_an_answer_is_none(self):
        def serve(connection: socket.socket) -> None:
            next(requests(connection))
            connection.sendall(OK[:-5])

        for each, call in self.both(serve, timeout=3):
            with self.assertRaises(Unreachable):
                call()
            self.assertGreater(each.connections, 1)

    def test_a_trickle_does_not_outlast_the_deadline(self):
        def serve(connection: socket.socket) -> None:
            next(requests(connection))
            for byte in OK * 10:
                connection.sendall(bytes([byte]))
                time.sleep(0.05)

        for _, call in self.both(serve, timeout=0.5):
            began = time.monotonic()
            with self.assertRaises(Unreachable):
                call()
            self.assertLess(time.monotonic() - began, 15)

    def test_a_header_takes_no_line_break(self):
        for calls in (sync_calls, async_calls):
            with self.assertRaises((ValueError, MillraceError)):
                calls(server().url, token="a\r\nX: y")


def tunnel(connection: socket.socket, port: int) -> None:
    """Forward data in both directions until both sides have ended."""

    def pipe(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while part := source.recv(65536):
                sink.sendall(part)
            sink.shutdown(socket.SHUT_WR)

    with socket.create_connection(("127.0.0.1", port)) as target:
        back = threading.Thread(target=pipe, args=(target, connection), daemon=True)
        back.start()
        pipe(connection, target)
        back.join()


def proxy(seen: list[bytes], port: int) -> Callable[[socket.socket], None]:
    """Tunnel to `port`, whatever host is requested. Answers other requests itself."""

    def serve(connection: socket.socket) -> None:
        head = next(requests(connection))
        seen.append(head)
        if not head.startswith(b"CONNECT "):
            connection.sendall(OK)
            return
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        tunnel(connection, port)

    return serve


@unittest.skipUnless(shutil.which("openssl"), "openssl makes the certificate")
class TlsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.home.cleanup)
        cls.certificate, key = f"{cls.home.name}/cert", f"{cls.home.name}/key"
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
                *("-subj", "/CN=queue.test", "-keyout", key, "-out", cls.certificate),
                *("-addext", "subjectAltName=DNS:queue.test,IP:127.0.0.1"),
            ],
            check=True,
            capture_output=True,
        )
        cls.context = context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cls.certificate, key)

        def serve(connection: socket.socket) -> None:
            with context.wrap_socket(connection, server_side=True) as wrapped:
                answering(OK)(wrapped)

        cls.server = ScriptedServer(serve)
        cls.addClassCleanup(cls.server.close)
        cls.port = int(cls.server.url.rpartition(":")[2])

    def test_trusts_a_ca_file(self):
        for calls in (sync_calls, async_calls):
            before = self.server.connections
            names = calls(f"https://127.0.0.1:{self.port}", 5, ca_file=self.certificate)
            self.assertEqual(names, ["q"] * 5)
            self.assertEqual(self.server.connections, before + 1)

    def test_trusts_nobody_else(self):
        for calls in (sync_calls, async_calls):
            with self.assertRaises(Unreachable):
                calls(f"https://127.0.0.1:{self.port}", timeout=0.5)

    def test_a_worker_works_and_stops_over_tls(self):
        def serve(connection: socket.socket) -> None:
            with self.context.wrap_socket(connection, server_side=True) as wrapped:
                tunnel(wrapped, server().port)

        with scripted(serve) as each:
            url = each.url.replace("http:", "https:")
            app = Millrace(url, ca_file=self.certificate)

            @app.job("t", queue="tls")
            async def handle(n: int) -> int:
                return n

            jobs = [handle.submit(n) for n in range(5)]
            with app.worker(poll_wait=20):
                self.assertEqual(
                    [app.wait(job.id, PATIENCE).result for job in jobs], list(range(5))
                )
                time.sleep(1.2)  # a claim waits
                began = time.monotonic()
            self.assertLess(time.monotonic() - began, 15)

    def test_goes_through_a_proxy(self):
        for calls in (sync_calls, async_calls):
            seen: list[bytes] = []
            with scripted(proxy(seen, self.port)) as each:
                address = each.url.replace("http://", "http://me:secret@")
                env = {"https_proxy": address, "http_proxy": address, "no_proxy": "other.test"}
                with mock.patch.dict(os.environ, env):
                    names = calls(
                        "https://queue.test", 3, ca_file=self.certificate, timeout=PATIENCE
                    )
                    self.assertEqual(names, ["q"] * 3)
                    self.assertEqual(calls("http://plain.test", timeout=PATIENCE), ["q"])
            self.assertEqual(len(seen), 2)
            self.assertTrue(seen[0].startswith(b"CONNECT queue.test:443 "), seen)
            self.assertTrue(seen[1].startswith(b"GET http://plain.test/v1/queues/q "), seen)
            for head in seen:
                self.assertIn(b"proxy-authorization: basic bwu6c2vjcmv0", head.lower())


if __name__ == "__main__":
    unittest.main()
