"""Tests of findings: what the server says is wrong, its thresholds, scopes and bounds. test_doctor.py causes each of
them.
"""

import json
import unittest

import harness
import nodes


class FindingsCase(harness.MillraceCase):
    def findings(self, api=None, **query):
        reply = (api or self.api).get("/v1/findings", **query)
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def of(self, code, api=None, **query):
        """{the queue of a finding: the finding}"""
        items = self.findings(api, **query)["items"]
        return {item["about"].get("queue"): item for item in items if item["code"] == code}

    def find(self, code, **query):
        """The finding about this test's queue, waited for: a job must have waited for a millisecond."""
        return harness.eventually(lambda: self.of(code, limit=100, **query).get(self.queue), what=f"finding {code}")


class Findings(harness.ServerCase, FindingsCase):
    def test_a_finding_says_what_it_is_about_and_what_it_was_judged_by(self):
        self.submit_many(3)
        found = self.find("queue_without_workers", alone_ms=5)
        self.assertEqual(found["severity"], "bad")
        self.assertEqual(found["about"], {"queue": self.queue})
        self.assertEqual(found["what"], f"No worker takes jobs from {self.queue}")
        self.assertEqual(found["command"], f"millrace work -q {self.queue} -- COMMAND")
        self.assertEqual(found["next"], f"start a worker: {found['command']}")
        ready, age = found["figures"]
        self.assertEqual(ready, {"name": "ready", "value": 3, "unit": "jobs", "threshold": None})
        self.assertEqual((age["name"], age["unit"], age["threshold"]), ("oldest_ready_age", "ms", 5))
        self.assertGreater(age["value"], 5)

    def test_the_caller_chooses_the_thresholds(self):
        self.submit()
        self.find("queue_without_workers", alone_ms=0)
        self.assertNotIn(self.queue, self.of("queue_without_workers", alone_ms=3_600_000, limit=100))
        self.claim(worker=f"w-{self.queue}")
        self.submit()
        self.find("queue_behind", late_ms=0)
        self.assertNotIn(self.queue, self.of("queue_behind", limit=100))

    def test_only_a_close_look_searches_the_tables(self):
        self.submit("charge")
        self.claim(types=["mail"], worker=f"w-{self.queue}")
        self.list_jobs()  # the tables have the job
        found = self.find("type_untaken", closely="true")
        self.assertEqual(found["about"]["type"], "charge")
        self.assertNotIn(self.queue, self.of("type_untaken", limit=100))

    def test_parts_can_be_chosen(self):
        self.submit()
        self.find("queue_without_workers", alone_ms=0)
        answer = self.findings(about="limits,schedules", alone_ms=0)
        self.assertEqual(set(answer["looked_at"]), {"limits", "types", "schedules"})
        self.assertNotIn("queue_without_workers", {item["code"] for item in answer["items"]})
        answer = self.findings(about="queues")
        self.assertEqual(set(answer["looked_at"]), {"queues"})
        self.assertGreaterEqual(answer["looked_at"]["queues"], 1)

    def test_what_is_refused(self):
        for name, value in (
            ("limit", 0),
            ("limit", 101),
            ("about", "disks"),
            ("about", "queues,disks"),
            ("closely", "yes"),
            ("late_ms", -1),
            ("late_ms", 315_360_000_001),
            ("window_ms", 59_999),
            ("window_ms", 3_600_001),
            ("failing_percent", 0),
            ("failing_percent", 101),
            ("free_percent", 101),
            ("poison_attempts", 1001),
            ("patience", "1m"),
        ):
            with self.subTest(name=name, value=value):
                self.assert_refused(self.api.get("/v1/findings", **{name: value}), 422, "validation_failed", name)

    def test_at_the_bounds_it_answers(self):
        self.findings(limit=100, window_ms=3_600_000, late_ms=315_360_000_000, failing_percent=100)
        self.findings(limit=1, window_ms=60_000, late_ms=0, failing_percent=1)


class Alone(FindingsCase):
    def start(self, *args, **settings):
        self.use(self.new_server(*args, **settings).start())

    def with_tokens(self, *limited):
        """A server with tokens; {name: a client} for those that are limited: (name, scopes, queues)."""
        flags = [
            word for scope in ("admin", "operate", "read", "submit", "work", "payload") for word in ("--scope", scope)
        ]
        made = json.loads(harness.run("token", "new", "--name", "all", *flags, "-o", "json").stdout)
        self.start(config=made["toml"], token=made["token"])
        clients = {}
        for name, scopes, queues in limited:
            body = {"name": name, "scopes": scopes, **({"queues": queues} if queues else {})}
            reply = self.api.post("/v1/tokens", body)
            self.assertEqual(reply.status, 201, reply)
            clients[name] = self.new_client(token=reply.json["token"])
        return clients

    def test_many_of_a_code_are_counted(self):
        self.start()
        for n in range(12):
            self.submit(queue=f"q-{n}")
        query = {"about": "queues", "alone_ms": 0}
        harness.eventually(lambda: len(self.findings(limit=100, **query)["items"]) == 12, what="all of them")
        answer = self.findings(**query)
        self.assertEqual(len(answer["items"]), 10)
        self.assertEqual(answer["more"], [{"code": "queue_without_workers", "severity": "bad", "count": 2}])
        answer = self.findings(limit=1, **query)
        self.assertEqual((len(answer["items"]), answer["more"][0]["count"]), (1, 11))
        answer = self.findings(limit=12, **query)
        self.assertEqual((len(answer["items"]), answer["more"]), (12, []))

    def test_a_limited_token_sees_its_queues_alone(self):
        clients = self.with_tokens(("of-a", ["read"], ["a*"]))
        for name in ("a-one", "b-vault"):
            self.submit(f"type-of-{name}", queue=name, max_attempts=1)
            self.fail_attempt(self.claim(queues=[name], worker=f"w-{name}", lease_ms=300_000)[0], f"of {name}")
            self.submit(f"type-of-{name}", queue=name)
            self.claim(queues=[name], worker=f"w-{name}", lease_ms=300_000)
            self.submit(f"type-of-{name}", queue=name)
            self.api.put(f"/v1/limits/limit-{name}", {"concurrency": 1})
            self.api.post(f"/v1/limits/limit-{name}/pause")
            body = {"every_ms": 60_000, "paused": True, "job": {"type": f"type-of-{name}", "queue": name}}
            self.assertEqual(self.api.put(f"/v1/schedules/schedule-{name}", body).status, 201)
        query = {"late_ms": 0, "silent_ms": 0, "poison_dead": 1, "closely": "true", "limit": 100}

        def all_seen():
            body = json.dumps(self.findings(**query))
            wanted = [f"type {kind} died" for kind in ("type-of-a-one", "type-of-b-vault")]
            wanted += ["Queue b-vault is", "Worker w-b-vault", "schedule-b-vault", "limit-b-vault"]
            return all(text in body for text in wanted)

        harness.eventually(all_seen, what="all findings")

        answer = self.findings(clients["of-a"], **query)
        said = json.dumps(answer)
        self.assertNotIn("b-vault", said)
        for name in ("Queue a-one", "Worker w-a-one", "schedule-a-one", "type-of-a-one"):
            self.assertIn(name, said)
        self.assertNotIn("limit-a-one", said)  # limits are of all queues
        self.assertEqual({part["about"] for part in answer["not_looked_at"]}, {"limits", "tokens", "node", "cluster"})
        self.assertEqual(answer["looked_at"]["queues"], 1)

    def test_texts_of_errors_need_the_scope_payload(self):
        clients = self.with_tokens(("plain", ["read"], None))
        self.submit(max_attempts=1)
        self.fail_attempt(self.claim()[0], "card declined")

        def dead(api=None):
            items = self.findings(api, poison_dead=1)["items"]
            return next((item["why"] for item in items if item["code"] == "poison_dead"), None)

        self.assertIn("card declined", harness.eventually(dead, what="the dead job"))
        self.assertNotIn("card declined", dead(clients["plain"]))

    def test_other_scopes_are_refused(self):
        clients = self.with_tokens(("producer", ["submit"], None))
        self.assert_refused(clients["producer"].get("/v1/findings"), 403, "forbidden")


@unittest.skipUnless(harness.STORE == "postgres", "a story of PostgreSQL")
class OnNodes(FindingsCase):
    def test_each_node_sees_the_queues_of_all(self):
        several = nodes.Nodes(2)
        self.addCleanup(several.close)
        several.start()
        several.settle()
        self.use(several[0])
        names = {f"q-{n}" for n in range(8)}  # of several shards
        for name in names:
            self.submit(queue=name)
        query = {"alone_ms": 0, "limit": 100}
        for server in several.servers:
            api = self.new_client(server)
            harness.eventually(lambda api=api: set(self.of("queue_without_workers", api, **query)) == names, what="all")


if __name__ == "__main__":
    harness.main()
