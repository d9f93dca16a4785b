"""A way to a server that delivers late, in pieces that nobody sent or several at once, breaks
connections, and says again on a new connection what was said on one that is over.
"""

import asyncio
import collections
import contextlib
import dataclasses
import random

from proxy import Proxy

CHUNK = 65_536
KEPT = 1 << 20  # of what was said on a connection, to say it again
AGAIN_S = 1.0  # for which the answer to that is awaited


@dataclasses.dataclass(frozen=True)
class Roughness:
    """`late_s`: how late something arrives at most. `breaks`: the part of what is read that breaks
    its connection. `again`: the part of the connections that are said again when they are over.
    """

    late_s: float = 0
    breaks: float = 0
    again: float = 0


SMOOTH = Roughness()


class RoughProxy(Proxy):
    """Passes everything on as it comes until it is told otherwise: rough()."""

    def __init__(self, host, port, seed=None):
        self.counts = collections.Counter()  # of what was done
        self._roughness = SMOOTH
        self._dice = random.Random(seed)
        super().__init__(host, port)

    def rough(self, roughness):
        self._roughness = roughness

    def smooth(self):
        self._roughness = SMOOTH

    async def _pass_up(self, client, server, state):
        said = state["said"] = bytearray()
        await self._pass(client, server, said)

    async def _pass_down(self, upstream, answers, _state):
        await self._pass(upstream, answers, None)

    async def _pass(self, reader, writer, said):
        while data := await reader.read(CHUNK):
            if said is not None and len(said) < KEPT:
                said += data
            rough = self._roughness
            if self._dice.random() < rough.breaks:
                self.counts["connections broken"] += 1
                return
            if rough.late_s:
                # What comes meanwhile is read together.
                await asyncio.sleep(self._dice.uniform(0, rough.late_s))
                cut = self._dice.randint(0, len(data))
                writer.write(data[:cut])
                await writer.drain()
                await asyncio.sleep(self._dice.uniform(0, rough.late_s / 4))
                data = data[cut:]
                self.counts["pieces late"] += 1
            writer.write(data)
            await writer.drain()

    async def _after(self, state):
        if not state.get("said") or self._dice.random() >= self._roughness.again:
            return
        upstream, server = await asyncio.open_connection(self.host, self.server_port)
        server.write(bytes(state["said"]))
        with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
            await asyncio.wait_for(upstream.read(-1), AGAIN_S)
        server.close()
        self.counts["connections said again"] += 1
