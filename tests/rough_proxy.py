"""A proxy before a server that delivers data late and split or merged, breaks connections, and
repeats the data of an ended connection on a new one.
"""

import asyncio
import collections
import contextlib
import dataclasses
import random

from proxy import Proxy

CHUNK = 65_536
KEPT = 1 << 20  # bytes kept of a connection, to repeat them
AGAIN_S = 1.0  # how long to wait for the answer to the repetition


@dataclasses.dataclass(frozen=True)
class Roughness:
    """`late_s` is the maximum delay of data. `breaks` is the fraction of reads that break the
    connection. `again` is the fraction of connections that are repeated after their end.
    """

    late_s: float = 0
    breaks: float = 0
    again: float = 0


SMOOTH = Roughness()


class RoughProxy(Proxy):
    """Passes data unchanged until `rough` is called."""

    def __init__(self, host, port, seed=None):
        self.counts = collections.Counter()  # by kind of harm
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
                # Data that arrives meanwhile is read together.
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
