"""A way to a server: a proxy that understands HTTP, records all exchanges, and does harm by
rules.
"""

import asyncio
import collections
import dataclasses
import itertools
import json
import re
import time
import typing

from . import paths  # noqa: F401 (makes the next import possible)
from .exchange import Exchange
from proxy import Proxy

CHUNK = 65_536
SLOW_PIECE = 16  # bytes at a time


@dataclasses.dataclass(frozen=True)
class Harm:
    """The harm to a request. Times are in seconds.

    `lose` ends the connection before the "request" goes to the server, before its "answer" comes
    back, or in the middle of the answer ("half"). `hang` returns nothing as long as the client
    waits. `double` sends the request twice, and returns the second answer. `answer` is the way's
    own answer instead of the server's: (status, headers, body).
    """

    name: str
    lose: str | None = None
    hang: bool = False
    double: bool = False
    late_request_s: float = 0
    late_answer_s: float = 0
    slow_s: float = 0  # between pieces of the answer
    answer: tuple | None = None


LOST_REQUEST = Harm("request lost", lose="request")
LOST_ANSWER = Harm("answer lost", lose="answer")
HALF_ANSWER = Harm("answer cut in half", lose="half")
HANGING = Harm("no answer", hang=True)
DOUBLED = Harm("sent twice", double=True)


def late_answer(seconds):
    return Harm(f"answer {seconds} s late", late_answer_s=seconds)


def late_request(seconds):
    return Harm(f"request {seconds} s late", late_request_s=seconds)


def slow_answer(seconds):
    return Harm("answer in pieces", slow_s=seconds)


def problem(status, code, retry_after_s=None):
    """An answer in the form of the server's refusals."""
    body = {
        "type": "about:blank",
        "title": "Made by the way",
        "status": status,
        "detail": "made by the way",
        "code": code,
        "request_id": "r-way",
    }
    headers = {"Content-Type": "application/problem+json"}
    if retry_after_s is not None:
        headers["Retry-After"] = str(retry_after_s)
    return Harm(f"answered {status}", answer=(status, headers, json.dumps(body).encode()))


def page(status, text="<html><body>Not Millrace</body></html>", content_type="text/html"):
    """An answer such as a proxy between the client and the server would give."""
    return Harm(
        f"answered {status} by another",
        answer=(status, {"Content-Type": content_type}, text.encode()),
    )


@dataclasses.dataclass(eq=False)
class Rule:
    harm: Harm
    method: str | None
    path: typing.Pattern
    where: typing.Callable
    times: float
    hits: list = dataclasses.field(default_factory=list)  # the exchanges that it applied to

    def meets(self, exchange):
        return (
            len(self.hits) < self.times
            and self.method in (None, exchange.method)
            and self.path.search(exchange.path)
            and self.where(exchange)
        )


class Way(Proxy):
    """Passes everything unchanged until `when` is called."""

    def __init__(self, host, port):
        self.seen = []  # Exchanges, in the order of their arrival
        self._rules = []
        self._numbers = itertools.count(1)
        super().__init__(host, port)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def when(self, harm, method=None, path="", where=lambda _: True, times=1):
        """Does `harm` to the next `times` requests with this method, a path that matches the
        pattern, and a true `where`. The first matching rule applies. Returns the Rule.
        """
        rule = Rule(harm, method, re.compile(path), where, times)
        self._rules.append(rule)
        return rule

    def always(self, harm, method=None, path="", where=lambda _: True):
        return self.when(harm, method, path, where, times=float("inf"))

    def forget(self, *rules):
        """Ends these rules; without arguments, all rules."""
        self._rules = [rule for rule in self._rules if rules and rule not in rules]

    def cut(self):
        """Ends all connections, including those with data under way."""

        async def end():
            for way in self._ways:
                way.cancel()

        asyncio.run_coroutine_threadsafe(end(), self._loop).result()

    def requests(self, method=None, path="", where=lambda _: True):
        """The matching requests so far."""
        return [
            exchange
            for exchange in list(self.seen)
            if method in (None, exchange.method) and re.search(path, exchange.path) and where(exchange)
        ]

    def close(self):
        super().close()
        self._loop.close()

    # The two directions of one connection.

    async def _pass_up(self, client, server, state):
        state["number"] = next(self._numbers)
        state["waiting"] = collections.deque()  # exchanges in the order of their answers
        await asyncio.sleep(0)  # lets the other direction begin
        while True:
            raw, exchange = await self._read_request(client, state["number"])
            harm = self._harm_of(exchange)
            self.seen.append(exchange)
            if harm is None:
                harm = Harm("")
            exchange.fate = harm.name
            if harm.lose == "request":
                return
            if harm.late_request_s:
                await asyncio.sleep(harm.late_request_s)
            if harm.hang:
                await client.read(1)  # the client gives up
                return
            if harm.answer:
                await self._answer(exchange, harm, state["answers"])
                continue
            if harm.double:
                state["waiting"].append((None, harm))
                server.write(raw)
            state["waiting"].append((exchange, harm))
            server.write(raw)
            await server.drain()

    async def _pass_down(self, upstream, answers, state):
        state["answers"] = answers
        while True:
            raw, status, body = await self._read_answer(upstream, state)
            if raw is None:
                return
            exchange, harm = state["waiting"].popleft()
            if exchange is None:
                continue  # the first of two answers
            exchange.status, exchange.answer = status, body
            if harm.lose == "answer":
                return
            if harm.late_answer_s:
                await asyncio.sleep(harm.late_answer_s)
            if harm.lose == "half":
                answers.write(raw[: len(raw) - max(1, len(body) // 2)])
                await answers.drain()
                return
            if harm.slow_s:
                for start in range(0, len(raw), SLOW_PIECE):
                    answers.write(raw[start : start + SLOW_PIECE])
                    await answers.drain()
                    await asyncio.sleep(harm.slow_s)
            else:
                answers.write(raw)
                await answers.drain()
            exchange.delivered_at = time.monotonic()

    def _harm_of(self, exchange):
        for rule in list(self._rules):
            if rule.meets(exchange):
                rule.hits.append(exchange)
                return rule.harm
        return None

    @staticmethod
    async def _answer(exchange, harm, answers):
        status, headers, body = harm.answer
        head = f"HTTP/1.1 {status} Made\r\nContent-Length: {len(body)}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        answers.write(head.encode() + b"\r\n" + body)
        await answers.drain()
        exchange.status, exchange.answer = status, body
        exchange.delivered_at = time.monotonic()

    @staticmethod
    async def _read_request(client, number):
        head = await client.readuntil(b"\r\n\r\n")
        line, headers = read_head(head)
        method, target, _ = line.split(" ", 2)
        framed, body = await read_body(client, headers, head)
        return framed, Exchange(number, time.monotonic(), method, target, headers, body)

    @staticmethod
    async def _read_answer(upstream, state):
        """The bytes, the status and the body; None if the server has closed the connection."""
        while True:
            try:
                head = await upstream.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                return None, 0, b""
            line, headers = read_head(head)
            status = int(line.split(" ")[1])
            if status != 100:
                break
        if status in (204, 304) or (state["waiting"] and _is_head(state["waiting"][0][0])):
            return head, status, b""
        framed, body = await read_body(upstream, headers, head)
        return framed, status, body


def _is_head(exchange):
    return exchange is not None and exchange.method == "HEAD"


def read_head(head):
    """The first line, and the fields by lower-case names."""
    line, *fields = head.decode("latin-1").split("\r\n")[:-2]
    pairs = (field.split(":", 1) for field in fields)
    return line, {name.strip().lower(): value.strip() for name, value in pairs}


async def read_body(reader, headers, raw):
    """`raw` followed by the bytes of the body, and the body."""
    if headers.get("transfer-encoding", "").lower() != "chunked":
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return raw + body, body
    body = b""
    while True:
        size = await reader.readuntil(b"\r\n")
        data = await reader.readexactly(int(size.split(b";")[0], 16) + 2)
        raw += size + data
        body += data[:-2]
        if len(data) == 2:
            return raw, body
