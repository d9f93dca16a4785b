"""The connection settings: options, the environment, TLS, proxies."""

from __future__ import annotations

import base64
import os
import re
import ssl
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from ._calls import Call, split_url
from ._version import __version__

DEFAULT_URL = "http://127.0.0.1:7600"


@dataclass(frozen=True)
class Proxy:
    host: str
    port: int
    headers: dict[str, str]


class Config:
    """The connection settings of both clients and the worker. Immutable."""

    def __init__(
        self,
        url: str | None,
        token: str | None,
        ca_file: str | None,
        ssl_context: ssl.SSLContext | None,
    ) -> None:
        self.url = (url or os.environ.get("MILLRACE_URL") or DEFAULT_URL).rstrip("/")
        self.scheme, self.host, self.port, self._prefix = split_url(self.url)
        self.tls = self._tls(ca_file, ssl_context) if self.scheme == "https" else None
        self.proxy = _proxy_for(self.scheme, self.host, self.port)
        token = _checked(token if token is not None else os.environ.get("MILLRACE_TOKEN"))
        self._headers = {
            "Host": _authority(self.scheme, self.host, self.port),
            "User-Agent": f"millrace-python/{__version__}",
            "Accept": "application/json",
        }
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        if self.proxy is not None and self.tls is None:
            self._headers.update(self.proxy.headers)

    @staticmethod
    def _tls(ca_file: str | None, given: ssl.SSLContext | None) -> ssl.SSLContext:
        if given is not None:
            return given
        return ssl.create_default_context(cafile=ca_file)

    def headers(self, call: Call[Any]) -> dict[str, str]:
        for name, value in call.headers.items():
            if not value.isprintable():
                raise ValueError(f"the header {name} must not have control characters: {value!r}")
        headers = {**self._headers, **call.headers}
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        return headers

    def target(self, call: Call[Any]) -> str:
        """Return the target for the request line: with a proxy and no TLS, the whole URL."""
        path = self._prefix + call.path
        if self.proxy is not None and self.tls is None:
            return f"http://{_authority(self.scheme, self.host, self.port)}{path}"
        return path


def _checked(token: str | None) -> str:
    """Return a token without the blanks around it, as files and secrets have them; "" for none.

    The error does not show the token, because errors are logged.
    """
    token = (token or "").strip()
    if not re.fullmatch("[!-~]*", token):
        raise ValueError(
            "the token has a blank, a line end or another character that no token has; "
            "check the option token, or MILLRACE_TOKEN"
        )
    return token


def _authority(scheme: str, host: str, port: int) -> str:
    name = f"[{host}]" if ":" in host else host
    return name if port == (443 if scheme == "https" else 80) else f"{name}:{port}"


def _proxy_for(scheme: str, host: str, port: int) -> Proxy | None:
    """Return the platform's proxy for this address (HTTPS_PROXY, NO_PROXY and so on)."""
    if urllib.request.proxy_bypass(f"{host}:{port}") or _is_loopback(host):
        return None
    url = urllib.request.getproxies().get(scheme)
    if not url:
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if not parts.hostname:
        return None
    headers = {}
    if parts.username is not None:
        secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Proxy-Authorization"] = "Basic " + base64.b64encode(secret.encode()).decode()
    return Proxy(parts.hostname, parts.port or 80, headers)


def _is_loopback(host: str) -> bool:
    return host == "localhost" or host == "::1" or host.startswith("127.")
