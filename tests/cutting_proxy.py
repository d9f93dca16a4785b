"""A proxy before a PostgreSQL server that cuts connections at the message that ends a transaction:
before the message reaches the server, after it and before the answer, or inside the answer. (The
unit tests have one too: src/store/testing/cutting_proxy.h.)
"""

from proxy import Proxy

WAYS = ("before", "after", "inside")


class CuttingProxy(Proxy):
    """Cuts nothing until `cut` is called."""

    def __init__(self, host, port):
        self.cuts = dict.fromkeys(WAYS, 0)  # the cuts made so far
        self._draw = lambda: None
        super().__init__(host, port)

    def cut(self, draw):
        """Calls `draw()` at the end of each transaction: it returns one of WAYS, or None for no cut."""
        self._draw = draw

    def let_pass(self):
        self._draw = lambda: None

    async def _pass_up(self, client, server, state):
        """Passes messages one by one. Each has a type and a length, the first only a length."""
        head = await client.readexactly(4)
        server.write(head + await client.readexactly(int.from_bytes(head, "big") - 4))
        pending = b""
        while True:
            head = await client.readexactly(5)
            pending += head + await client.readexactly(int.from_bytes(head[1:], "big") - 4)
            if head[:1] in (b"P", b"B", b"D", b"E", b"C"):
                continue  # kept until the message that ends them, since the server carries them out at once
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
            if state.get("cut") == "after":
                return
            if state.get("cut") == "inside":
                answers.write(data[: len(data) // 2])
                await answers.drain()
                return
            answers.write(data)
            await answers.drain()
