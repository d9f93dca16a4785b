"""Three nodes of one store, upgraded one by one under load from a program that does not know operations, the audit and
groups of errors (before format 8). Run by tools/soak upgrade REVISION: MILLRACE_OLDER is that program.

While an older node takes part, what it could not read is refused, by any node and with the reason, and everything else
goes on. When the last one is new, all of it works.
"""

import os
import pathlib
import sys
import threading
import time

sys.path[:0] = [str(pathlib.Path(__file__).parents[1] / "system"), str(pathlib.Path(__file__).parents[1])]

import harness  # noqa: E402 (its folder is on the path only now)

import client  # noqa: E402
import nodes  # noqa: E402

OLDER = os.environ["MILLRACE_OLDER"]

# The older program answers as its own contract says.
client.Client.contract = lambda _: client.AnyContract()


class Load(threading.Thread):
    """Submits, claims and finishes jobs through any node that answers."""

    def __init__(self, cluster, queues):
        super().__init__()
        self.cluster, self.queues = cluster, queues
        self.stop = threading.Event()
        self.submitted, self.finished, self.odd = set(), set(), []

    def run(self):
        number = 0
        while not self.stop.is_set() or (self.submitted - self.finished and number < 100_000):
            number += 1
            servers = self.cluster.running
            api = servers[number % len(servers)].client()
            try:
                if not self.stop.is_set():
                    self.submit(api, number)
                self.work(api)
            except OSError:
                pass  # a node that is stopping
            finally:
                api.close()

    def submit(self, api, number):
        job = {"id": harness.uuid7(), "type": "load", "queue": self.queues[number % len(self.queues)]}
        while not self.stop.is_set():
            reply = api.post("/v1/jobs", job)
            if reply.status in (200, 201):
                self.submitted.add(job["id"])
                return
            if reply.status != 503:
                self.odd.append(reply)
                return
            time.sleep(0.05)

    def work(self, api):
        body = {"queues": self.queues, "types": ["load"], "limit": 10, "worker": {"id": "load"}}
        reply = api.post("/v1/claim", body)
        if reply.status != 200:
            if reply.status != 503:
                self.odd.append(reply)
            return
        jobs = reply.json["jobs"]
        items = [
            {"id": job["id"], "token": job["lease"]["token"], "outcome": "succeeded"} for job in jobs
        ]
        if not items:
            return
        reply = api.post("/v1/ack", {"items": items})
        if reply.status != 200:
            return  # their leases run out
        for item, result in zip(items, reply.json["results"]):
            if result["status"] == 200:
                self.finished.add(item["id"])


class UpgradeCase(harness.MillraceCase):
    def setUp(self):
        super().setUp()
        self.nodes = nodes.Nodes(3)
        self.addCleanup(self.nodes.close)
        for server in self.nodes.servers:
            server.binary = OLDER
        self.nodes.start()
        self.queues = list(self.nodes.queue_on_each_shard().values())

    def upgrade(self, server):
        server.stop()
        server.binary = harness.BINARY
        server.start()
        self.nodes.settle()

    def news(self):
        """Clients of the upgraded nodes."""
        return [self.new_client(s) for s in self.nodes.running if s.binary == harness.BINARY]

    def die(self, api):
        """Makes a job on each shard die."""
        for queue in self.queues:
            reply = api.post("/v1/jobs", {"type": "dies", "queue": queue, "max_attempts": 1})
            self.assertEqual(reply.status, 201, reply)
        left = len(self.queues)
        while left:
            for job in self.claim(50, self.queues, api, wait_ms=2000, types=["dies"]):
                error = {"type": "Oops", "message": "on the way"}
                item = {"id": job["id"], "token": job["lease"]["token"], "outcome": "dead", "error": error}
                self.assertEqual(api.post("/v1/ack", {"items": [item]}).status, 200)
                left -= 1

    def calls(self, group):
        """The calls that need every node to be upgraded."""
        body = {"action": "retry", "filter": {"state": ["dead"], "type": "dies"}, "operation": True}
        yield "POST", "/v1/jobs/bulk", body
        yield "POST", f"/v1/queues/{self.queues[0]}/purge", {"states": ["succeeded"], "operation": True}
        yield "POST", "/v1/admin/reproject", None
        yield "PATCH", f"/v1/error-groups/{group}", {"note": "seen"}

    def group(self, api):
        def seen():
            items = api.get("/v1/error-groups").json["items"]
            return next((item for item in items if item["message"] == "on the way"), None)

        return harness.eventually(seen, 30, what="the group of errors")

    def test_what_older_nodes_do_not_know_waits_until_none_is_left(self):
        load = Load(self.nodes, self.queues)
        load.start()
        try:
            self.go_through_the_upgrade()
        finally:
            load.stop.set()
            load.join(180)  # leases of a node that stopped run out first
        self.assertEqual(load.odd, [])
        self.assertGreater(len(load.finished), 100)
        self.assertEqual(load.submitted - load.finished, set())

    def go_through_the_upgrade(self):
        self.die(self.new_client(self.nodes.servers[0]))
        for server in self.nodes.servers[:2]:
            self.upgrade(server)
            for api in self.news():
                group = self.group(api)["id"]
                for method, path, body in self.calls(group):
                    reply = api.request(method, path, body)
                    self.assertEqual(reply.status, 503, (method, path, reply))
                    self.assertIn("older node", reply.json["detail"])
                    self.assertIn("retry-after", reply.headers)
                # Calls that older nodes support still work, but without a recorded author.
                queue = self.queues[0]
                for what in ("pause", "resume"):
                    self.assertEqual(api.post(f"/v1/queues/{queue}/{what}").status, 200)
                reply = api.get("/v1/operations")  # an older leader can't tell
                self.assertEqual(reply.status, 503, reply)
                self.assertIn("older node", reply.json["detail"])
                self.assertEqual(api.get("/v1/stats").status, 200)
                self.assertEqual(api.get("/v1/admin/audit", fresh="true").json["items"], [])
            self.die(self.news()[0])
        self.upgrade(self.nodes.servers[2])

        api = self.news()[0]
        group = self.group(api)["id"]
        for method, path, body in self.calls(group):

            def taken():
                reply = api.request(method, path, body)  # noqa: B023
                self.assertIn(reply.status, (200, 202, 503), reply)
                return reply if reply.status != 503 else None

            harness.eventually(taken, 30, what=f"{method} {path}")

        def all_ended():
            items = api.get("/v1/operations").json["items"]
            return len(items) == 3 and all(item["state"] == "completed" for item in items)

        harness.eventually(all_ended, 60, what="the end of the operations")
        retried = api.get("/v1/jobs", q="type:dies state:ready", limit=1000, fresh="true").json["items"]
        self.assertEqual(len(retried), 3 * len(self.queues))


        def actions():
            reply = self.news()[0].get("/v1/admin/audit", fresh="true")
            return [item["action"] for item in reply.json["items"]] if reply.status == 200 else []

        # Readers of the audit see since when it is complete.
        harness.eventually(lambda: "audit.began" in actions(), 30, what="the beginning")
        self.assertIn("operation.started", actions())
        self.assertIn("store.reprojected", actions())
        for server in self.nodes.servers:  # once, whoever starts anew
            server.restart()
        self.nodes.settle()
        time.sleep(1)
        harness.eventually(actions, what="the audit")
        self.assertEqual(actions().count("audit.began"), 1)


if __name__ == "__main__":
    harness.unittest.main()
