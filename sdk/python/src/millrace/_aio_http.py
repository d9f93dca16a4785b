"""HTTP for asyncio: streams over connections that are kept open and belong to one event loop."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Mapping
from typing import Any

from . import errors
from ._calls import Call, Lost, Response, no_tls
from ._config import Config

_MAX_IDLE_S = 30.0
_MAX_KEPT = 32
_MAX_HEAD_BYTES = 64 << 10


class Grip:
    """A hold on a call that is under way."""

    def __init__(self) -> None:
        self._writer: asyncio.StreamWriter | None = None
        self.has_ended_sending = False

    def end_sending(self) -> None:
        """End the sending side, so that a server that lets the call wait answers at once.

        A no-op if the connection can't do this, as with TLS.
        """
        if self._writer is not None and self._writer.can_write_eof():
            self.has_ended_sending = True
            self._writer.write_eof()


class AsyncTransport:
    """Sends calls. Each has its own connection while it runs; a cancelled call closes it.

    Connections belong to the event loop that opened them. On another loop, new ones are opened.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._loop: asyncio.AbstractEventLoop | None = None
        self._kept: list[tuple[float, _Connection]] = []  # the newest last

    async def send(self, call: Call[Any], timeout: float, grip: Grip | None = None) -> Response:
        """Make one try of at most `timeout` seconds. Raises Lost if there is no answer."""
        try:
            return await asyncio.wait_for(self._send(call, grip or Grip()), timeout)
        except asyncio.TimeoutError:
            raise Lost(f"{self._config.url} did not answer in {timeout:.3g} s") from None

    async def close(self) -> None:
        """Close the idle connections."""
        kept, self._kept = self._kept, []
        for _, connection in kept:
            connection.close()
        await asyncio.sleep(0)  # the loop closes the sockets in its next turn

    async def _send(self, call: Call[Any], grip: Grip) -> Response:
        connection = self._take() or await self._connect()
        grip._writer = connection.writer
        is_sound = False
        try:
            response = await connection.exchange(
                call.method, self._config.target(call), self._config.headers(call), call.body
            )
            is_sound = connection.stays_open and not grip.has_ended_sending
            return response
        except (OSError, EOFError) as error:
            raise Lost(f"the connection to {self._config.url} was lost: {_why(error)}") from error
        finally:
            grip._writer = None
            if is_sound and len(self._kept) < _MAX_KEPT:
                self._kept.append((time.monotonic(), connection))
            else:
                connection.close()

    def _take(self) -> _Connection | None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._kept = loop, []
        while self._kept:
            since, connection = self._kept.pop()
            if time.monotonic() - since < _MAX_IDLE_S and not connection.has_ended():
                return connection
            connection.close()
        return None

    async def _connect(self) -> _Connection:
        config = self._config
        beneath: asyncio.StreamWriter | None = None
        try:
            if config.proxy is None:
                reader, writer = await asyncio.open_connection(
                    config.host, config.port, ssl=config.tls, limit=_MAX_HEAD_BYTES
                )
            else:
                reader, writer = await asyncio.open_connection(
                    config.proxy.host, config.proxy.port, limit=_MAX_HEAD_BYTES
                )
                if config.tls is not None:
                    await self._open_tunnel(reader, writer)
                    beneath = writer
                    reader, writer = await self._start_tls(writer, config.tls)
        except ssl.SSLError as error:
            raise no_tls(config.url, error) from error
        except (OSError, EOFError) as error:
            raise Lost(f"no connection to {config.url}: {_why(error)}", refused=True) from error
        raw = writer.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _Connection(reader, writer, beneath)

    async def _open_tunnel(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        config = self._config
        assert config.proxy is not None
        authority = f"{config.host}:{config.port}"
        headers = {"Host": authority, **config.proxy.headers}
        writer.write(_head("CONNECT", authority, headers, None))
        status, _ = _parse_head(await reader.readuntil(b"\r\n\r\n"))
        if status != 200:
            writer.close()
            raise OSError(f"the proxy answered CONNECT with {status}")

    async def _start_tls(
        self, writer: asyncio.StreamWriter, tls: ssl.SSLContext
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return new streams over the connection of `writer`, which has received no data since."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=_MAX_HEAD_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport = await loop.start_tls(
            writer.transport, protocol, tls, server_hostname=self._config.host
        )
        if transport is None:
            raise OSError("the connection ended during the TLS handshake")
        protocol.connection_made(transport)
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


class _Connection:
    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        beneath: asyncio.StreamWriter | None,
    ) -> None:
        self._reader = reader
        self.writer = writer
        self._beneath = beneath  # the tunnel's writer, whose deletion would close the connection
        self.stays_open = False

    async def exchange(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> Response:
        self.stays_open = False
        self.writer.write(_head(method, target, headers, body) + (body or b""))
        await self.writer.drain()
        while True:
            try:
                head = await self._reader.readuntil(b"\r\n\r\n")
            except asyncio.LimitOverrunError as error:
                raise errors.bad_answer(0, "its headers are too long") from error
            status, names = _parse_head(head)
            if status >= 200:
                break
        content = await self._content(status, names)
        return Response(status, names, content)

    async def _content(self, status: int, names: Mapping[str, str]) -> bytes:
        self.stays_open = names.get("connection", "").lower() != "close"
        if status in (204, 304):
            return b""
        if "chunked" in names.get("transfer-encoding", "").lower():
            return await self._chunks()
        length = names.get("content-length")
        if length is None:
            self.stays_open = False
            return await self._reader.read()
        if not length.isdigit():
            raise errors.bad_answer(status, "its Content-Length is no number")
        return await self._reader.readexactly(int(length))

    async def _chunks(self) -> bytes:
        chunks = []
        while True:
            size = (await self._reader.readuntil(b"\r\n")).split(b";")[0]
            try:
                length = int(size, 16)
            except ValueError:
                raise errors.bad_answer(0, "a chunk has no length") from None
            if length == 0:
                break
            chunks.append(await self._reader.readexactly(length))
            await self._reader.readexactly(2)
        while await self._reader.readuntil(b"\r\n") != b"\r\n":
            pass  # trailers are ignored
        return b"".join(chunks)

    def has_ended(self) -> bool:
        """Whether the server has closed the connection."""
        return self._reader.at_eof() or self.writer.transport.is_closing()

    def close(self) -> None:
        try:
            self.writer.transport.abort()
        except RuntimeError:
            pass  # its loop is closed


def _head(method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
    lines = [f"{method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None or method in ("POST", "PUT", "PATCH"):
        lines.append(f"Content-Length: {len(body or b'')}")
    text = "\r\n".join(lines)
    if text.count("\n") != len(lines) - 1:
        raise ValueError("a header must not contain a line break")
    return f"{text}\r\n\r\n".encode("latin-1")


def _parse_head(head: bytes) -> tuple[int, dict[str, str]]:
    lines = head[:-4].decode("latin-1").split("\r\n")
    version, _, rest = lines[0].partition(" ")
    status = rest[:3]
    if not version.startswith("HTTP/1.") or not status.isdigit():
        raise errors.bad_answer(0, "no HTTP")
    names = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        names[name.strip().lower()] = value.strip()
    if version == "HTTP/1.0":
        names.setdefault("connection", "close")
    return int(status), names


def _why(error: BaseException) -> str:
    if isinstance(error, asyncio.IncompleteReadError):
        return "the server closed it before its answer was whole"
    return str(error) or type(error).__name__
