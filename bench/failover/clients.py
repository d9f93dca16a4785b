"""A steady load of clients that know all nodes' URLs, with the fate of each of their requests."""

import asyncio
import collections
import dataclasses
import json
import threading
import time

PAUSE_S = 0.15  # of each client, between two requests; each shard gets one every twenty milliseconds or so
RETRY_PAUSE_S = 0.005
ANSWER_S = 30


@dataclasses.dataclass(slots=True)
class Done:
    """One request that was finally acknowledged: a submission, a claim that returned a job, or its completion."""

    kind: str
    shard: int
    home: int  # the node whose client it is
    begun: float
    ended: float
    troubles: list  # what it met with before: (node, what)

    @property
    def took(self):
        return self.ended - self.begun


class Client:
    """Asks its own node; if that is gone or redirects it, the next one."""

    def __init__(self, load, kind, shard, queue, home):
        self.load, self.kind, self.shard, self.queue, self.home = load, kind, shard, queue, home
        self.node = home
        self.connection, self.connected_to = None, None

    async def run(self):
        while not self.load.stopping:
            if self.kind == "submit":
                await self.ask("submit", "/v1/jobs", {"type": "probe", "queue": self.queue, "id": self.load.new_id()})
            else:
                await self.claim()
            await asyncio.sleep(PAUSE_S)
        self.disconnect()

    async def claim(self):
        claim = {"queues": [self.queue], "limit": 1, "worker": {"id": f"worker-{self.home}"}}
        answer = await self.ask("claim", "/v1/claim", claim)
        for job in answer["jobs"] if answer else []:
            item = {"id": job["id"], "token": job["lease"]["token"], "outcome": "succeeded"}
            await self.ask("ack", "/v1/ack", {"items": [item]})

    async def ask(self, kind, path, body):
        """Repeats the request until it is acknowledged; all requests here are idempotent."""
        troubles, begun = [], time.monotonic()
        while not self.load.stopping:
            node, what = self.node, None
            try:
                status, answer = await asyncio.wait_for(self.exchange(path, body), ANSWER_S)
                if status < 300 and answer.get("jobs") != []:
                    self.load.done.append(Done(kind, self.shard, self.home, begun, time.monotonic(), troubles))
                    return answer
                what = f"{answer['code']}: {answer['detail']}" if status >= 400 else "no job"
            except OSError as error:
                what = "can't connect" if self.connection is None else f"closed: {type(error).__name__}"
            except (asyncio.IncompleteReadError, asyncio.TimeoutError) as error:
                what = f"closed: {type(error).__name__}"
            troubles.append((node, what))
            if what.startswith(("draining", "can't", "closed")):
                self.disconnect()
                self.node = (node + 1) % len(self.load.ports)
            await asyncio.sleep(RETRY_PAUSE_S)
        return None

    async def exchange(self, path, body):
        if self.connected_to != self.node:
            self.disconnect()
        if self.connection is None:
            self.connection = await asyncio.open_connection("127.0.0.1", self.load.ports[self.node])
            self.connected_to = self.node
        reader, writer = self.connection
        raw = json.dumps(body).encode()
        writer.write(
            b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
            % (path.encode(), len(raw), raw)
        )
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.split("content-length:", 1)[1].split("\r\n", 1)[0])
        answer = json.loads(await reader.readexactly(length))
        if "connection: close" in head:
            self.disconnect()
        return int(head.split(" ", 2)[1]), answer

    def disconnect(self):
        if self.connection is not None:
            self.connection[1].close()
            self.connection = None


class Load:
    """For each shard and node one client that submits and one that claims, each on its own thread."""

    def __init__(self, queues, ports, new_id):
        self.ports, self.new_id = ports, new_id
        self.stopping = False
        self.done = []
        self.clients = [
            Client(self, kind, shard, queue, home)
            for shard, queue in queues.items()
            for kind in ("submit", "claim")
            for home in range(len(ports))
        ]
        self.failure = None
        self.thread = threading.Thread(target=self.run)

    def run(self):
        async def all_of_them():
            await asyncio.gather(*(client.run() for client in self.clients))

        try:
            asyncio.run(all_of_them())
        except Exception as error:  # the main thread must hear of it
            self.failure = error

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping = True
        self.thread.join()

    def go_home(self):
        """Clients return to their node if it is back."""
        for client in self.clients:
            client.node = client.home

    def since(self, instant, shards=None):
        """Requests begun after `since`, by client: (shard, kind, home). Completions belong to their claim."""
        found = collections.defaultdict(list)
        for done in list(self.done):
            if done.begun >= instant and (shards is None or done.shard in shards):
                found[done.shard, "submit" if done.kind == "submit" else "claim", done.home].append(done)
        return found

    def ended_since(self, instant, shards=None):
        return [done for done in list(self.done) if done.ended >= instant and (shards is None or done.shard in shards)]
