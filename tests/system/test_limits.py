"""Tests that bounds exceeded by one, unknown members and wrong types are always refused with the
place of each fault, and change nothing.
"""

import harness

YEARS_10 = 315_360_000_000
NOBODY = "0190a0a0-0000-7000-8000-000000000000"  # an id that no job has


class OfAJob(harness.ServerCase):
    def one(self, **members):
        return {"type": "t", "queue": self.queue, **members}

    def test_numbers(self):
        for member, least, most in (
            ("priority", -32768, 32767),
            ("max_attempts", 1, 1000),
            ("lease_ms", 1000, 86_400_000),
            ("delay_ms", 0, YEARS_10),
        ):
            with self.subTest(member=member):
                self.submit(**{member: least})
                self.submit(**{member: most})
                self.assert_fault(self.one(**{member: least - 1}), f"/{member}")
                self.assert_fault(self.one(**{member: most + 1}), f"/{member}")
                for wrong in ("1", 1.5, True, [], {}, 10**30):
                    self.assert_fault(self.one(**{member: wrong}), f"/{member}")
        for member in ("expires_in_ms", "timeout_ms"):
            self.assert_fault(self.one(**{member: YEARS_10 + 1}), f"/{member}")
            self.assert_fault(self.one(**{member: -1}), f"/{member}")

    def test_names(self):
        for member in ("type", "queue"):
            for wrong in (
                "",
                "x" * 129,
                "two words",
                "caf\u00e9",
                "a\u0000",
                "a%b",
                7,
                [],
                {"a": 1},
            ):
                with self.subTest(member=member, wrong=str(wrong)[:20]):
                    self.assert_fault(self.one(**{member: wrong}), f"/{member}")
        self.submit(type="t" * 128)
        self.assertEqual(self.submit(queue="q" * 128)["queue"], "q" * 128)
        self.assert_fault({"queue": self.queue}, "/type")

    def test_tags_and_meta(self):
        self.submit(tags=[f"t{n}" for n in range(32)])
        self.assert_fault(self.one(tags=[f"t{n}" for n in range(33)]), "/tags")
        self.assert_fault(self.one(tags=["ok", "x" * 129]), "/tags/1")
        self.assert_fault(self.one(tags=["", 7]), ["/tags/0", "/tags/1"])
        self.assert_fault(self.one(tags="vip"), "/tags")
        self.submit(meta={"k": "v" * (8 * 1024 - 20)})
        self.assert_fault(self.one(meta={"k": "v" * (8 * 1024 + 1)}), "/meta")
        self.assert_fault(self.one(meta={"k": 1}), "/meta/k")
        self.assert_fault(self.one(meta=["k"]), "/meta")
        self.assert_fault(self.one(meta={"a/b~c": None}), "/meta/a~1b~0c")

    def test_times(self):
        for member in ("run_at", "expires_at"):
            for wrong in (
                "now",
                "2026-03-01",
                "2026-02-30T00:00:00Z",
                "2026-03-01T00:00:00",
                "2026-03-01T25:00:00Z",
                "2026-03-01 00:00:00",
                1767225600,
                "",
                "2026-03-01T00:00:00+25:00",
            ):
                with self.subTest(member=member, wrong=wrong):
                    self.assert_fault(self.one(**{member: wrong}), f"/{member}")
        for good, kept in (
            ("2099-12-31T23:59:59.9999999Z", "2099-12-31T23:59:59.999Z"),
            ("2099-01-01T00:00:00-00:30", "2099-01-01T00:30:00.000Z"),
            ("2099-01-01t00:00:00z", "2099-01-01T00:00:00.000Z"),
        ):
            self.assertEqual(self.submit(run_at=good)["run_at"], kept)
        reply = self.api.post("/v1/jobs", self.one(run_at="2099-01-01T00:00:00Z", delay_ms=1))
        self.assert_refused(reply, 422, "validation_failed")
        reply = self.api.post("/v1/jobs", self.one(expires_at="2099-01-01T00:00:00Z", expires_in_ms=1))
        self.assert_refused(reply, 422, "validation_failed")

    def test_retry_policies(self):
        for retry, place in (
            ({}, "/retry/strategy"),
            ({"strategy": "magic"}, "/retry/strategy"),
            ({"strategy": "fixed", "base_ms": -1}, "/retry/base_ms"),
            ({"strategy": "fixed", "base_ms": YEARS_10 + 1}, "/retry/base_ms"),
            ({"strategy": "fixed", "max_ms": YEARS_10 + 1}, "/retry/max_ms"),
            ({"strategy": "fixed", "jitter": 1.01}, "/retry/jitter"),
            ({"strategy": "fixed", "jitter": -0.01}, "/retry/jitter"),
            ({"strategy": "list"}, "/retry/delays_ms"),
            ({"strategy": "list", "delays_ms": []}, "/retry/delays_ms"),
            ({"strategy": "list", "delays_ms": [1, -1]}, "/retry/delays_ms/1"),
            ({"strategy": "list", "delays_ms": [1], "jitter": 0}, "/retry/jitter"),
            ({"strategy": "fixed", "delays_ms": [1]}, "/retry/delays_ms"),
            ({"strategy": "fixed", "colour": 1}, "/retry/colour"),
            ("fixed", "/retry"),
        ):
            with self.subTest(retry=retry):
                self.assert_fault(self.one(retry=retry), place)

    def test_unique(self):
        for unique, place in (
            ({}, "/unique/key"),
            ({"key": ""}, "/unique/key"),
            ({"key": "k" * 256}, "/unique/key"),
            ({"key": "k", "for_ms": -1}, "/unique/for_ms"),
            ({"key": "k", "for_ms": YEARS_10 + 1}, "/unique/for_ms"),
            ({"key": "k", "on_conflict": "shrug"}, "/unique/on_conflict"),
            ({"key": "k", "scope": "all"}, "/unique/scope"),
            ("k", "/unique"),
        ):
            with self.subTest(unique=unique):
                self.assert_fault(self.one(unique=unique), place)
        self.submit(unique={"key": "k" * 255})

    def test_ids(self):
        for wrong in ("", "1", NOBODY.replace("-", ""), "0190a0a0-0000-4000-8000-000000000000", 5):
            with self.subTest(wrong=wrong):
                self.assert_fault(self.one(id=wrong), "/id")

    def test_unknown_members_and_those_that_come_later(self):
        self.assert_fault(self.one(prioritty=1), "/prioritty")
        self.assert_fault(self.one(**{"a/b": 1, "": 2}), ["/a~1b", "/"])

    def test_keys_and_limits(self):
        self.submit(order_key="k" * 128)
        self.assert_fault(self.one(order_key="k" * 129), "/order_key")
        self.assert_fault(self.one(order_key=""), "/order_key")
        self.submit(fair_key="k" * 128)
        self.assert_fault(self.one(fair_key="k" * 129), "/fair_key")
        self.assert_fault(self.one(fair_key=""), "/fair_key")
        self.assert_fault(self.one(order_on_failure="pass"), "/order_on_failure")
        self.assert_fault(self.one(limits=[{"name": f"l{n}"} for n in range(9)]), "/limits")

    def test_all_faults_at_once_at_most_twenty(self):
        self.assert_fault(
            self.one(priority="x", lease_ms=1, colour=1, tags=7),
            ["/priority", "/lease_ms", "/colour", "/tags"],
        )
        reply = self.api.post("/v1/jobs", self.one(**{f"unknown{n}": n for n in range(50)}))
        self.assertEqual(len(reply.places), 20)

    def test_payloads(self):
        mebibyte = 1024 * 1024
        self.assertEqual(
            self.api.post(
                "/v1/jobs",
                raw=b'{"type":"t","queue":"%s","payload":"%s"}' % (self.queue.encode(), b"x" * (mebibyte - 2)),
            ).status,
            201,
        )
        for size in (mebibyte + 1, 3 * mebibyte):
            reply = self.api.post(
                "/v1/jobs",
                raw=b'{"type":"t","queue":"%s","payload":"%s"}' % (self.queue.encode(), b"x" * (size - 2)),
            )
            self.assert_refused(reply, 413, "payload_too_large")
        self.submit()
        job = self.claim_one()
        job = self.claim_one()
        reply = self.api.post(
            f"/v1/jobs/{job['id']}/complete",
            {"token": job["lease"]["token"], "result": "x" * mebibyte},
        )
        self.assert_refused(reply, 413, "payload_too_large")
        self.assertEqual(self.state(job["id"]), "running")

    def test_nothing_was_stored(self):
        self.assert_fault(self.one(priority=99999), "/priority")
        self.assertEqual(self.api.get(f"/v1/queues/{self.queue}").status, 404)


class OfTheOtherCalls(harness.ServerCase):
    def test_claims(self):
        good = {"queues": [self.queue], "limit": 1, "wait_ms": 0, "worker": {"id": "w"}}
        for change, place in (
            ({"limit": 0}, "/limit"),
            ({"limit": 1001}, "/limit"),
            ({"wait_ms": 60001}, "/wait_ms"),
            ({"wait_ms": -1}, "/wait_ms"),
            ({"queues": []}, "/queues"),
            ({"queues": "q"}, "/queues"),
            ({"queues": ["a b"]}, "/queues/0"),
            ({"types": []}, "/types"),
            ({"types": [""]}, "/types/0"),
            ({"lease_ms": 999}, "/lease_ms"),
            ({"lease_ms": 86_400_001}, "/lease_ms"),
            ({"worker": {}}, "/worker/id"),
            ({"worker": "w"}, ["/worker", "/worker/id"]),
            ({"worker": {"id": ""}}, "/worker/id"),
            ({"worker": {"id": "w", "colour": 1}}, "/worker/colour"),
            ({"colour": 1}, "/colour"),
        ):
            with self.subTest(change=change):
                self.assert_fault({**good, **change}, place, "/v1/claim")
        for member in ("queues", "worker"):
            self.assert_fault({k: v for k, v in good.items() if k != member}, f"/{member}", "/v1/claim")

    def assert_item_fault(self, path, bad, places, kind="items"):
        """Asserts that the second item is refused for faults at exactly these places."""
        good = {"id": NOBODY, "token": 1, "outcome": "succeeded"}
        if bad.keys() <= {"id", "token", "extend_ms", "progress"} and "heartbeat" in path + kind:
            del good["outcome"]
        reply = self.api.post(path, {kind: [good, bad]})
        self.assertEqual(reply.status, 200, reply)
        first, second = reply.json["results" if kind == "items" else kind]
        self.assertEqual((first["status"], first["error"]["code"]), (409, "lease_lost"))
        self.assertEqual((second["status"], second["error"]["code"]), (422, "validation_failed"))
        pointers = [fault["pointer"] for fault in second["error"]["errors"]]
        self.assertEqual(sorted(pointers), [places] if isinstance(places, str) else sorted(places))

    def test_acks(self):
        good = {"id": NOBODY, "token": 1, "outcome": "succeeded"}
        failed = {**good, "outcome": "failed"}
        for bad, place in (
            ({**good, "token": "1"}, "/token"),
            ({**good, "token": 2**53}, "/token"),
            ({**good, "token": -1}, "/token"),
            ({**good, "outcome": "great"}, "/outcome"),
            ({**good, "outcome": "snoozed"}, "/delay_ms"),
            ({**good, "outcome": "snoozed", "delay_ms": YEARS_10 + 1}, "/delay_ms"),
            ({**failed, "error": {"type": "E"}}, "/error/message"),
            ({**failed, "error": "E"}, "/error"),
            ({**failed, "delay_ms": -1}, "/delay_ms"),
            ({**good, "logs": [{}]}, "/logs/0/message"),
            ({**good, "logs": [{"message": "m", "level": "loud"}]}, "/logs/0/level"),
            ({**good, "enqueue": [{"type": ""}]}, "/enqueue/0/type"),
            ({**good, "enqueue": [{"type": "t", "fair_key": ""}]}, "/enqueue/0/fair_key"),
            ({**good, "colour": 1}, "/colour"),
            ({}, ["/id", "/outcome", "/token"]),
        ):
            with self.subTest(bad=bad):
                self.assert_item_fault("/v1/ack", bad, place)
        for wrong in ("x", 7, NOBODY[:-1]):
            self.assert_item_fault("/v1/ack", {**good, "id": wrong}, "/id")

    def test_heartbeats(self):
        good = {"id": NOBODY, "token": 1}
        for change, place in (
            ({"extend_ms": 999}, "/extend_ms"),
            ({"extend_ms": 86_400_001}, "/extend_ms"),
            ({"progress": {"percent": 101}}, "/progress/percent"),
            ({"progress": {"percent": -1}}, "/progress/percent"),
            ({"progress": {"message": "m" * 1025}}, "/progress/message"),
            ({"progress": {"colour": 1}}, "/progress/colour"),
            ({"progress": 50}, "/progress"),
        ):
            with self.subTest(change=change):
                self.assert_item_fault("/v1/heartbeat", {**good, **change}, place)

    def test_items_of_batch_calls(self):
        item = {"id": NOBODY, "token": 1}
        for path, one in (("/v1/ack", {**item, "outcome": "succeeded"}), ("/v1/heartbeat", item)):
            self.assert_fault({"items": []}, "/items", path)
            self.assert_fault({"items": [one] * 1001}, "/items", path)
            self.assert_fault({"items": one}, "/items", path)
            self.assert_fault({}, "/items", path)
            self.assertEqual(len(self.api.post(path, {"items": [one] * 1000}).json["results"]), 1000)
            self.assertIn(self.api.post(path, {"items": [one, 7]}).status, (200, 422))

    def test_single_forms(self):
        for verb, body, place in (
            ("complete", {}, "/token"),
            ("complete", {"token": 1, "outcome": "dead"}, "/outcome"),
            ("fail", {"token": 1, "error": {"message": "m"}}, "/error/type"),
            ("snooze", {"token": 1}, "/delay_ms"),
            ("release", {"token": "1"}, "/token"),
            ("heartbeat", {"token": 1, "extend_ms": 1}, "/extend_ms"),
        ):
            with self.subTest(verb=verb, body=body):
                self.assert_fault(body, place, f"/v1/jobs/{NOBODY}/{verb}")

    def test_polls(self):
        path = "/v1/workers/w/poll"
        item = {"id": NOBODY, "token": 1}
        for body, place in (
            ({"claim": {"limit": 1, "wait_ms": 0}}, "/claim/queues"),
            ({"claim": {"queues": ["q"], "limit": 0}}, "/claim/limit"),
            ({"heartbeats": {}}, "/heartbeats"),
            ({"acks": [{**item, "outcome": "succeeded"}] * 1001}, "/acks"),
            ({"colour": 1}, "/colour"),
        ):
            with self.subTest(body=str(body)[:80]):
                self.assert_fault(body, place, path)
        self.assert_item_fault(path, {}, ["/id", "/outcome", "/token"], "acks")
        self.assert_item_fault(path, {**item, "extend_ms": 1}, "/extend_ms", "heartbeats")
        for worker in ("a b", "%00", "x" * 129):
            reply = self.api.post(f"/v1/workers/{worker.replace(' ', '%20')}/poll")
            self.assert_refused(reply, 404, "not_found")

    def test_queues(self):
        path = f"/v1/queues/{self.queue}"
        for settings, place in (
            ({"max_attempts": 0}, "/max_attempts"),
            ({"max_attempts": 1001}, "/max_attempts"),
            ({"max_crashes": 0}, "/max_crashes"),
            ({"max_crashes": 1001}, "/max_crashes"),
            ({"lease_ms": 999}, "/lease_ms"),
            ({"max_ready": -1}, "/max_ready"),
            ({"retry": {"strategy": "x"}}, "/retry/strategy"),
            ({"retention": {"succeeded_ms": -1}}, "/retention/succeeded_ms"),
            ({"retention": {"running_ms": 1}}, "/retention/running_ms"),
            ({"retention": 5}, "/retention"),
            ({"colour": 1}, "/colour"),
            ({"concurrency": 0}, "/concurrency"),
            ({"concurrency": 1_000_001}, "/concurrency"),
            ({"rate": {"limit": 1_000_000_001, "per_ms": 1}}, "/rate/limit"),
            ({"rate": {"limit": 1, "per_ms": 86_400_001}}, "/rate/per_ms"),
            ({"rate": {"limit": 1, "per_ms": 1, "burst": 0}}, "/rate/burst"),
        ):
            for method in ("PUT", "PATCH"):
                with self.subTest(method=method, settings=settings):
                    self.assert_fault(settings, place, path, method)
        self.assertEqual(self.api.get(path).status, 404)
        for name in ("a%20b", "%00", "x" * 129, "caf%C3%A9", "%ff"):
            self.assertIn(self.api.put(f"/v1/queues/{name}").status, (404, 422), name)

    def test_edits_and_retries(self):
        job = self.submit(delay_ms=60000)["id"]
        for body, place in (
            ({"priority": 32768}, "/priority"),
            ({"max_attempts": 0}, "/max_attempts"),
            ({"tags": ["a b"]}, "/tags/0"),
            ({"run_at": "soon"}, "/run_at"),
            ({"type": "t"}, "/type"),
            ({"queue": "q"}, "/queue"),
        ):
            self.assert_fault(body, place, f"/v1/jobs/{job}", "PATCH")
        self.assert_fault({"reason": 7}, "/reason", f"/v1/jobs/{job}/cancel")
        self.assert_fault({"reset_attempts": "yes"}, "/reset_attempts", f"/v1/jobs/{job}/retry")
        for etag in ("x", '"', "-1", '"1', "*1", 'W/"1"'):
            reply = self.api.patch(f"/v1/jobs/{job}", {"priority": 1}, headers={"If-Match": etag})
            self.assertIn(reply.status, (412, 422), reply)
        self.assertEqual(self.job(job)["version"], 1)

    def test_waits(self):
        job = self.submit()["id"]
        for query, name in (
            ({"wait_ms": 60001, "until": "final"}, "wait_ms"),
            ({"wait_ms": -1}, "wait_ms"),
            ({"wait_ms": "x"}, "wait_ms"),
            ({"wait_ms": 1, "until": "dawn"}, "until"),
            ({"colour": 1}, "colour"),
        ):
            self.assert_refused(self.api.get(f"/v1/jobs/{job}", **query), 422, "validation_failed", name)


if __name__ == "__main__":
    harness.main()
