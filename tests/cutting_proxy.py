"""A way to a PostgreSQL server that cuts connections at the message that ends a transaction: before
it reaches the server, after it has and before anything of the answer comes back, or inside the
answer. (The unit tests have one too: src/store/testing/cutting_proxy.h.)
"""

import asyncio
import contextlib
import threading

WAYS = ("before", "after", "inside")


class CuttingProxy:
    """Cuts nothing until it is told to: cut(). Ends with close()."""

    def __init__(self, host, port):
        self.host, self.server_port = host, port
        self.cuts = dict.fromkeys(WAYS, 0)  # that were made
        self._draw = lambda: None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        starting = asyncio.start_server(self._serve, "127.0.0.1", 0)
        server = asyncio.run_coroutine_threadsafe(starting, self._loop).result()
        self.port = server.sockets[0].getsockname()[1]

    def url(self, direct):
        """The way through it to what `direct` names; in the clear, so that it can be read."""
        through = direct.replace(f"{self.host}:{self.server_port}/", f"127.0.0.1:{self.port}/")
        return f"{through}?sslmode=disable&gssencmode=disable"

    def cut(self, draw):
        """`draw()`, asked at the end of each transaction: one of WAYS, or None to let it pass."""
        self._draw = draw

    def let_pass(self):
        self._draw = lambda: None

    def close(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _serve(self, client, answers):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            upstream, server = await asyncio.open_connection(self.host, self.server_port)
            state = {"cut": None}
            ways = [
                asyncio.ensure_future(self._pass_up(client, server, state)),
                asyncio.ensure_future(self._pass_down(upstream, answers, state)),
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            server.close()
        answers.close()

    async def _pass_up(self, client, server, state):
        """Message by message; each has a type and a length, the first a length alone."""
        head = await client.readexactly(4)
        server.write(head + await client.readexactly(int.from_bytes(head, "big") - 4))
        pending = b""
        while True:
            head = await client.readexactly(5)
            pending += head + await client.readexactly(int.from_bytes(head[1:], "big") - 4)
            if head[:1] in (b"P", b"B", b"D", b"E", b"C"):
                continue  # the server carries these out as they come: they go with what ends them
            way = self._draw() if head[:1] in (b"S", b"Q") else None
            if way:
                self.cuts[way] += 1
            if way == "before":
                return
            state["cut"] = way
            server.write(pending)
            await server.drain()
            pending = b""

    async def _pass_down(self, upstream, answers, state):
        while data := await upstream.read(65536):
            if state["cut"] == "after":
                return
            if state["cut"] == "inside":
                answers.write(data[: len(data) // 2])
                await answers.drain()
                return
            answers.write(data)
            await answers.drain()
