"""HTTP for threads: http.client, with connections kept open and a deadline for a whole try."""

from __future__ import annotations

import http.client
import io
import os
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from typing import Any, cast

from . import errors
from ._calls import Call, Lost, Response, no_tls
from ._config import Config

# The server closes a connection that is idle for 60 s (a setting). Using one that is about to be
# closed would cost a try.
_MAX_IDLE_S = 30.0
_MAX_KEPT = 32


class Transport:
    """Sends calls. Thread-safe; each call has its own connection."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._forget()

    def send(self, call: Call[Any], timeout: float) -> Response:
        """Make one try of at most `timeout` seconds. Raises Lost if there is no answer."""
        connection = self._take()
        ends = time.monotonic() + timeout
        is_sound = False
        try:
            response = connection.exchange(call, self._config.headers(call), ends)
            is_sound = connection.stays_open
            return response
        finally:
            if is_sound:
                self._keep(connection)
            else:
                connection.close()

    def _forget(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._kept: list[tuple[float, _Connection]] = []  # the newest last

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            kept, self._kept = self._kept, []
        for _, connection in kept:
            connection.close()

    def _take(self) -> _Connection:
        if self._process != os.getpid():
            self._forget()  # a child process must not use its parent's connections
        while True:
            with self._lock:
                if not self._kept:
                    return _Connection(self._config)
                since, connection = self._kept.pop()
            if time.monotonic() - since < _MAX_IDLE_S and not connection.has_ended():
                return connection
            connection.close()

    def _keep(self, connection: _Connection) -> None:
        with self._lock:
            if len(self._kept) < _MAX_KEPT:
                self._kept.append((time.monotonic(), connection))
                return
        connection.close()


class _Connection:
    def __init__(self, config: Config) -> None:
        self._config = config
        self._http: http.client.HTTPConnection | None = None
        self._socket: _DeadlineSocket | None = None
        self.stays_open = False

    def exchange(self, call: Call[Any], headers: Mapping[str, str], ends: float) -> Response:
        self.stays_open = False
        connection = self._http or self._connect(ends)
        assert self._socket is not None
        self._socket.ends = ends
        try:
            connection.request(call.method, self._config.target(call), call.body, dict(headers))
            answer = connection.getresponse()
            content = answer.read()
        except (http.client.RemoteDisconnected, http.client.IncompleteRead, OSError) as error:
            raise Lost(f"the connection to {self._config.url} was lost: {_why(error)}") from error
        except (http.client.HTTPException, ValueError) as error:
            raise errors.bad_answer(0, f"no clean HTTP ({_why(error)})") from error
        self.stays_open = not answer.will_close
        names = {name.lower(): value for name, value in answer.getheaders()}
        return Response(answer.status, names, content)

    def _connect(self, ends: float) -> http.client.HTTPConnection:
        config = self._config
        timeout = max(ends - time.monotonic(), 0.001)
        host, port = config.host, config.port
        if config.proxy is not None:
            host, port = config.proxy.host, config.proxy.port
        connection: http.client.HTTPConnection
        if config.tls is not None:
            connection = http.client.HTTPSConnection(
                host, port, timeout=timeout, context=config.tls
            )
            if config.proxy is not None:
                connection.set_tunnel(config.host, config.port, config.proxy.headers)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=timeout)
        try:
            connection.connect()
        except ssl.SSLError as error:
            raise no_tls(config.url, error) from error
        except OSError as error:
            raise Lost(f"no connection to {config.url}: {_why(error)}", refused=True) from error
        assert connection.sock is not None
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = _DeadlineSocket(connection.sock, ends)
        connection.sock = cast(socket.socket, self._socket)
        self._http = connection
        return connection

    def has_ended(self) -> bool:
        """Whether the server has closed the connection or has sent unrequested data."""
        assert self._socket is not None
        return self._socket.is_readable()

    def close(self) -> None:
        if self._http is not None:
            self._http.close()


class _DeadlineSocket:
    """A socket whose reads and writes share one deadline, however slowly bytes arrive."""

    def __init__(self, wrapped: socket.socket, ends: float) -> None:
        self._wrapped = wrapped
        self.ends = ends  # on the monotonic clock

    def sendall(self, data: bytes) -> None:
        self._bound()
        self._wrapped.sendall(data)  # the timeout covers all of the data

    def makefile(self, mode: str) -> io.BufferedReader:
        assert mode == "rb"
        return io.BufferedReader(_DeadlineReader(self))

    def recv_into(self, buffer: Any) -> int:
        self._bound()
        return self._wrapped.recv_into(buffer)

    def is_readable(self) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._wrapped, selectors.EVENT_READ)
            return bool(selector.select(0))

    def close(self) -> None:
        self._wrapped.close()

    def _bound(self) -> None:
        left = self.ends - time.monotonic()
        if left <= 0:
            raise socket.timeout("timed out")
        self._wrapped.settimeout(left)


class _DeadlineReader(io.RawIOBase):
    def __init__(self, source: _DeadlineSocket) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._source.recv_into(buffer)


def _why(error: BaseException) -> str:
    return str(error) or type(error).__name__
