"""Three nodes of one store, upgraded one by one to a program that knows one more member of a job, one more
event and one more level of what nodes say to each other (src/base/tomorrow.h). Run by tools/soak upgrade tomorrow:
MILLRACE_OLDER is today's program, MILLRACE_BIN tomorrow's.
"""

import os
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parents[1] / "system"), str(pathlib.Path(__file__).parents[1])]

import harness  # noqa: E402 (its folder is on the path only now)

import client  # noqa: E402
import nodes  # noqa: E402

OLDER = os.environ["MILLRACE_OLDER"]
TYPE_OF_TOMORROW = "~tomorrow"


# Today's has no such type.
client.Client.contract = lambda _: client.AnyContract()


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

    def each(self):
        return [self.new_client(server) for server in self.nodes.running]

    def test_what_only_tomorrow_can_read_waits_until_all_can(self):
        of_tomorrow = {"type": TYPE_OF_TOMORROW, "payload": {"n": 1}}
        reply = self.each()[0].post("/v1/jobs", {"queue": self.queues[0], **of_tomorrow})
        self.assertEqual(reply.status, 422, "today's program knows no such type")

        # Partly upgraded: an ack's jobs for other shards are passed on, from any node to any.
        expected = {}
        for server in self.nodes.servers[:2]:
            self.upgrade(server)
            expected |= self.finish_with_a_child(self.each(), {"type": "child"})
            for api in self.each():
                for queue in self.queues:
                    reply = api.post("/v1/jobs", {"queue": queue, **of_tomorrow})
                    self.assertIn(reply.status, (422, 503), reply)
                    if reply.status == 503:
                        self.assertEqual(reply.json["code"], "overloaded", reply)
                        self.assertIn("older node", reply.json["detail"])

        # Completely upgraded.
        self.upgrade(self.nodes.servers[2])

        def taken():
            reply = self.each()[0].post("/v1/jobs", {"queue": self.queues[0], **of_tomorrow})
            self.assertIn(reply.status, (201, 503), reply)
            return reply.json["id"] if reply.status == 201 else None

        expected[harness.eventually(taken, what="a job of tomorrow")] = TYPE_OF_TOMORROW
        expected |= self.finish_with_a_child(self.each(), {"type": TYPE_OF_TOMORROW})
        self.check(expected)

        # Recovered from rows and tables that hold the member, and ended by the event.
        for server in self.nodes.servers:
            server.kill()
        self.nodes.start()
        self.check(expected)
        self.finish_all(expected)
        for server in self.nodes.servers:
            server.kill()
        self.nodes.start()
        for id, job_type in expected.items():
            job = self.each()[0].get(f"/v1/jobs/{id}").json
            self.assertEqual((job["type"], job["state"]), (job_type, "succeeded"))

        # There is no way back.
        older = self.nodes.add()
        older.binary = OLDER
        with self.assertRaises(AssertionError) as refused:
            older.start()
        self.assertIn("written by a newer Millrace", str(refused.exception) + older.log)

    def finish_with_a_child(self, apis, child):
        """Each node finishes a job of each shard with an ack that submits a job to every shard.
        Returns types by id.
        """
        made = {}
        for api in apis:
            for queue in self.queues:
                self.assertEqual(api.post("/v1/jobs", {"type": "parent", "queue": queue}).status, 201)
                (job,) = self.claim(1, [queue], api, wait_ms=20_000, types=["parent"])
                children = [{"id": harness.uuid7(), "queue": other, **child} for other in self.queues]
                item = {
                    "id": job["id"],
                    "token": job["lease"]["token"],
                    "outcome": "succeeded",
                    "enqueue": children,
                }
                reply = api.post("/v1/ack", {"items": [item]})
                self.assertEqual(reply.json["results"][0]["status"], 200, reply)
                made |= {each["id"]: child["type"] for each in children}
        return made

    def check(self, expected):
        for id, job_type in expected.items():
            api = self.each()[0]
            harness.eventually(lambda: api.get(f"/v1/jobs/{id}").status == 200, what=f"job {id}")  # noqa: B023
            job = api.get(f"/v1/jobs/{id}").json
            self.assertEqual((job["type"], job["state"]), (job_type, "ready"))
        lost = self.nodes.cluster.sql(
            "SELECT count(*) FROM millrace.jobs WHERE queue = '~outbox' AND state = 'dead'", self.nodes.database
        )
        self.assertEqual(lost.strip(), "0")

    def finish_all(self, expected):
        api, left = self.each()[1], set(expected)
        while left:
            jobs = self.claim(50, self.queues, api, wait_ms=20_000, types=["child", TYPE_OF_TOMORROW])
            self.assertTrue(jobs)
            for job in jobs:
                item = {"id": job["id"], "token": job["lease"]["token"], "outcome": "succeeded"}
                self.assertEqual(api.post("/v1/ack", {"items": [item]}).status, 200)
                left.discard(job["id"])


if __name__ == "__main__":
    harness.unittest.main()
