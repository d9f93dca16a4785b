"""Every bound passed by one, and everything else that is no good request: always a clear refusal, nothing changed, and
the next request is served."""
import json

import harness

YEARS_10 = 315_360_000_000
NOBODY = "0190a0a0-0000-7000-8000-000000000000"
MALFORMED_JSON = [b"", b" ", b"{", b'{"type":"t"', b'{"type":"t",}', b"{'type':'t'}", b'{"type":t}', b'{"type":"t"} x',
                  b'{"type":"t"}{}', b'{"type":"t","payload":NaN}', b'{"type":"t","payload":01}',
                  b'{"type":"t","payload":1.}', b'{"type":"t","payload":+1}', b'{"type":"t","payload":.5}',
                  b'{"type":"t","payload":"\n"}', b'{"type":"t","payload":"\x00"}', b'{"type":"t","payload":"\\x41"}',
                  b'{"type":"t","payload":"\\u12"}', b'{"type":"t","payload":[1,]}', b'{"type":"t","payload":tru}',
                  b'\xef\xbb\xbf{"type":"t"}', b'{"type":"t","payload":"\xff"}', b'{"type":"t","payload":"\xc0\xaf"}',
                  b'{"type":"t","payload":"\xed\xa0\x80"}', b'{"type":"t","payload":"\xf5\x80\x80\x80"}',
                  b'{"type":"t","payload":"\xe2\x82"}', b'{"type":"t","type":"u"}',
                  b'{"type":"t","\\u0074ype":"u"}', b'{"type":"t","meta":{"a":"1","a":"2"}}', b'{"type":"\\ud800"}',
                  b'{"type":"t","meta":{"k":"\\udc00"}}', b"{\x00}", b"\xff\xfe{\x00}\x00", b"nul", b"[1,2"]


class Refusals(harness.ServerCase):
    def refused(self, body, place, path="/v1/jobs", method="POST"):
        reply = self.api.request(method, path, body)
        self.assert_refused(reply, 422, "validation_failed", *([place] if isinstance(place, str) else place))

    def accepted(self, **members):
        self.assertEqual(self.submit(**members)["queue"], self.queue)


class OfAJob(Refusals):
    def one(self, **members):
        return {"type": "t", "queue": self.queue, **members}

    def test_numbers(self):
        for member, least, most in (("priority", -32768, 32767), ("max_attempts", 1, 1000),
                                    ("lease_ms", 1000, 86_400_000), ("delay_ms", 0, YEARS_10)):
            with self.subTest(member=member):
                self.accepted(**{member: least})
                self.accepted(**{member: most})
                self.refused(self.one(**{member: least - 1}), f"/{member}")
                self.refused(self.one(**{member: most + 1}), f"/{member}")
                for wrong in ("1", 1.5, True, [], {}, 10**30):
                    self.refused(self.one(**{member: wrong}), f"/{member}")
        for member in ("expires_in_ms", "timeout_ms"):
            self.refused(self.one(**{member: YEARS_10 + 1}), f"/{member}")
            self.refused(self.one(**{member: -1}), f"/{member}")

    def test_names(self):
        for member in ("type", "queue"):
            for wrong in ("", "x" * 129, "two words", "caf\u00e9", "a\u0000", "a%b", 7, [], {"a": 1}):
                with self.subTest(member=member, wrong=str(wrong)[:20]):
                    self.refused(self.one(**{member: wrong}), f"/{member}")
        self.accepted(type="t" * 128)
        self.assertEqual(self.submit(queue="q" * 128)["queue"], "q" * 128)
        self.refused({"queue": self.queue}, "/type")

    def test_tags_and_meta(self):
        self.accepted(tags=[f"t{n}" for n in range(32)])
        self.refused(self.one(tags=[f"t{n}" for n in range(33)]), "/tags")
        self.refused(self.one(tags=["ok", "x" * 129]), "/tags/1")
        self.refused(self.one(tags=["", 7]), ["/tags/0", "/tags/1"])
        self.refused(self.one(tags="vip"), "/tags")
        self.accepted(meta={"k": "v" * (8 * 1024 - 20)})
        self.refused(self.one(meta={"k": "v" * (8 * 1024 + 1)}), "/meta")
        self.refused(self.one(meta={"k": 1}), "/meta/k")
        self.refused(self.one(meta=["k"]), "/meta")
        self.refused(self.one(meta={"a/b~c": None}), "/meta/a~1b~0c")

    def test_times(self):
        for member in ("run_at", "expires_at"):
            for wrong in ("now", "2026-03-01", "2026-02-30T00:00:00Z", "2026-03-01T00:00:00", "2026-03-01T25:00:00Z",
                          "2026-03-01 00:00:00", 1767225600, "", "2026-03-01T00:00:00+25:00"):
                with self.subTest(member=member, wrong=wrong):
                    self.refused(self.one(**{member: wrong}), f"/{member}")
        for good, kept in (("2099-12-31T23:59:59.9999999Z", "2099-12-31T23:59:59.999Z"),
                           ("2099-01-01T00:00:00-00:30", "2099-01-01T00:30:00.000Z"),
                           ("2099-01-01t00:00:00z", "2099-01-01T00:00:00.000Z")):
            self.assertEqual(self.submit(run_at=good)["run_at"], kept)
        reply = self.api.post("/v1/jobs", self.one(run_at="2099-01-01T00:00:00Z", delay_ms=1))
        self.assert_refused(reply, 422, "validation_failed")
        reply = self.api.post("/v1/jobs", self.one(expires_at="2099-01-01T00:00:00Z", expires_in_ms=1))
        self.assert_refused(reply, 422, "validation_failed")

    def test_retry_policies(self):
        for retry, place in (({}, "/retry/strategy"), ({"strategy": "magic"}, "/retry/strategy"),
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
                             ({"strategy": "fixed", "colour": 1}, "/retry/colour"), ("fixed", "/retry")):
            with self.subTest(retry=retry):
                self.refused(self.one(retry=retry), place)

    def test_unique(self):
        for unique, place in (({}, "/unique/key"), ({"key": ""}, "/unique/key"), ({"key": "k" * 256}, "/unique/key"),
                              ({"key": "k", "for_ms": -1}, "/unique/for_ms"),
                              ({"key": "k", "for_ms": YEARS_10 + 1}, "/unique/for_ms"),
                              ({"key": "k", "on_conflict": "shrug"}, "/unique/on_conflict"),
                              ({"key": "k", "scope": "all"}, "/unique/scope"), ("k", "/unique")):
            with self.subTest(unique=unique):
                self.refused(self.one(unique=unique), place)
        self.accepted(unique={"key": "k" * 255})

    def test_ids(self):
        for wrong in ("", "1", NOBODY.upper(), NOBODY.replace("-", ""), "0190a0a0-0000-4000-8000-000000000000", 5):
            with self.subTest(wrong=wrong):
                self.refused(self.one(id=wrong), "/id")

    def test_unknown_members_and_those_that_come_later(self):
        self.refused(self.one(prioritty=1), "/prioritty")
        self.refused(self.one(**{"a/b": 1, "": 2}), ["/a~1b", "/"])
        for member, value in (("limits", [{"name": "smtp"}]), ("fair_key", "a"), ("order_key", "a")):
            self.refused(self.one(**{member: value}), f"/{member}")

    def test_all_faults_at_once_at_most_twenty(self):
        self.refused(self.one(priority="x", lease_ms=1, colour=1, tags=7),
                     ["/priority", "/lease_ms", "/colour", "/tags"])
        reply = self.api.post("/v1/jobs", self.one(**{f"unknown{n}": n for n in range(50)}))
        self.assertEqual(len(reply.places), 20)

    def test_payloads(self):
        mebibyte = 1024 * 1024
        self.assertEqual(self.api.post("/v1/jobs", raw=b'{"type":"t","queue":"%s","payload":"%s"}' % (
            self.queue.encode(), b"x" * (mebibyte - 2))).status, 201)
        for size in (mebibyte + 1, 3 * mebibyte):
            reply = self.api.post("/v1/jobs", raw=b'{"type":"t","queue":"%s","payload":"%s"}' % (
                self.queue.encode(), b"x" * (size - 2)))
            self.assert_refused(reply, 413, "payload_too_large")
        self.submit()
        job = self.claim_one()
        job = self.claim_one()
        reply = self.api.post(f"/v1/jobs/{job['id']}/complete", {"token": job["lease"]["token"],
                                                                 "result": "x" * mebibyte})
        self.assert_refused(reply, 413, "payload_too_large")
        self.assertEqual(self.state(job["id"]), "running")

    def test_nothing_was_stored(self):
        self.refused(self.one(priority=99999), "/priority")
        self.assertEqual(self.api.get(f"/v1/queues/{self.queue}").status, 404)


class OfTheBody(Refusals):
    def test_what_is_no_json(self):
        for raw in MALFORMED_JSON:
            with self.subTest(raw=raw):
                reply = self.api.post("/v1/jobs", raw=raw)
                self.assertIn((reply.status, reply.code), [(400, "invalid_json")] + (
                    [(422, "validation_failed")] if not raw.strip() else []), reply)
                self.accepted()

    def test_what_is_kept_as_sent_inside_a_payload(self):
        for raw in (b'{"a":1,"a":2}', b'"\\ud800"', b'"\\udc00\\ud800"', b"1e400", b"-1E+999999", b"1" * 1000,
                    b'{"\\ud834":"\\ud834"}'):
            with self.subTest(raw=raw[:30]):
                reply = self.api.post("/v1/jobs", raw=b'{"type":"t","payload":%s}' % raw, include="payload")
                self.assertEqual(reply.status, 201, reply)
                self.assertIn(raw, reply.body)

    def test_what_is_no_object(self):
        for raw in (b"[]", b"null", b"1", b'"text"', b"true", b'[{"type":"t"}]'):
            with self.subTest(raw=raw):
                reply = self.api.post("/v1/jobs", raw=raw)
                self.assert_refused(reply, 422, "validation_failed", "")

    def test_depth(self):
        def nested(levels):
            return b'{"type":"t","payload":' + b"[" * levels + b"]" * levels + b"}"
        self.assertEqual(self.api.post("/v1/jobs", raw=nested(63)).status, 201)
        for levels in (64, 65, 1000, 1_000_000):
            self.assert_refused(self.api.post("/v1/jobs", raw=nested(levels)), 400, "invalid_json")
        self.assert_refused(self.api.post("/v1/jobs", raw=b'{"type":"t","payload":' + b'{"a":' * 500_000), 400,
                            "invalid_json")
        self.accepted()

    def test_content_types(self):
        body = json.dumps({"type": "t", "queue": self.queue}).encode()
        for good in ("application/json", "application/json; charset=utf-8", "APPLICATION/JSON", None):
            self.assertEqual(self.api.post("/v1/jobs", raw=body, headers={"Content-Type": good}).status, 201, good)
        for bad in ("text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json", "*/*",
                    "application/problem+json"):
            self.assert_refused(self.api.post("/v1/jobs", raw=body, headers={"Content-Type": bad}), 415,
                                "unsupported_media_type")

    def test_a_body_may_be_left_out_where_it_may(self):
        job = self.submit()
        self.assertEqual(self.api.post(f"/v1/jobs/{job['id']}/cancel").status, 200)
        self.assertEqual(self.api.post(f"/v1/jobs/{job['id']}/retry", {}).status, 200)
        self.assertEqual(self.api.put(f"/v1/queues/{self.queue}").status, 200)

    def test_huge(self):
        body = b'{"type":"t","payload":"' + b"x" * (17 * 1024 * 1024) + b'"}'
        with self.server.connect(timeout=20) as raw:
            try:
                raw.send(b"POST /v1/jobs HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n" % len(body))
                raw.send(body)
            except OSError:
                pass  # refused by the head alone, and closed
            reply = raw.read_reply()
            self.assertTrue(reply is None or reply.status == 413, reply)
        with self.server.connect() as raw:
            raw.send(b"POST /v1/jobs HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n" % len(body))
            self.assertEqual(raw.read_reply().code, "payload_too_large")
        self.accepted()


class OfTheOtherCalls(Refusals):
    def test_claims(self):
        good = {"queues": [self.queue], "limit": 1, "wait_ms": 0, "worker": {"id": "w"}}
        for change, place in (({"limit": 0}, "/limit"), ({"limit": 1001}, "/limit"), ({"wait_ms": 60001}, "/wait_ms"),
                              ({"wait_ms": -1}, "/wait_ms"), ({"queues": []}, "/queues"), ({"queues": "q"}, "/queues"),
                              ({"queues": ["a b"]}, "/queues/0"), ({"types": []}, "/types"),
                              ({"types": [""]}, "/types/0"), ({"lease_ms": 999}, "/lease_ms"),
                              ({"lease_ms": 86_400_001}, "/lease_ms"), ({"worker": {}}, "/worker/id"),
                              ({"worker": "w"}, "/worker"), ({"worker": {"id": ""}}, "/worker/id"),
                              ({"worker": {"id": "w", "colour": 1}}, "/worker/colour"), ({"colour": 1}, "/colour")):
            with self.subTest(change=change):
                self.refused({**good, **change}, place, "/v1/claim")
        for member in ("queues", "worker"):
            self.refused({k: v for k, v in good.items() if k != member}, f"/{member}", "/v1/claim")

    def test_acks(self):
        good = {"id": NOBODY, "token": 1, "outcome": "succeeded"}
        for change, place in (({"token": "1"}, "/token"), ({"token": 2**53}, "/token"), ({"token": -1}, "/token"),
                              ({"outcome": "great"}, "/outcome"), ({"id": "x"}, "/id"),
                              ({"delay_ms": YEARS_10 + 1, "outcome": "snoozed"}, "/delay_ms"),
                              ({"error": {"type": "E"}, "outcome": "failed"}, "/error/message"),
                              ({"error": "E", "outcome": "failed"}, "/error"),
                              ({"logs": [{}]}, "/logs/0/message"),
                              ({"logs": [{"message": "m", "level": "loud"}]}, "/logs/0/level"),
                              ({"enqueue": [{"type": ""}]}, "/enqueue/0/type"),
                              ({"enqueue": [{"type": "t", "fair_key": "a"}]}, "/enqueue/0/fair_key"),
                              ({"colour": 1}, "/colour")):
            with self.subTest(change=change):
                self.refused({"items": [good, {**good, **change}]}, "/items/1" + place, "/v1/ack")
        for member in good:
            self.refused({"items": [{k: v for k, v in good.items() if k != member}]}, f"/items/0/{member}", "/v1/ack")

    def test_items_of_batch_calls(self):
        item = {"id": NOBODY, "token": 1}
        for path, one in (("/v1/ack", {**item, "outcome": "succeeded"}), ("/v1/heartbeat", item)):
            self.refused({"items": []}, "/items", path)
            self.refused({"items": [one] * 1001}, "/items", path)
            self.refused({}, "/items", path)
            self.assertEqual(len(self.api.post(path, {"items": [one] * 1000}).json["results"]), 1000)

    def test_heartbeats(self):
        for change, place in (({"extend_ms": 999}, "/extend_ms"), ({"extend_ms": 86_400_001}, "/extend_ms"),
                              ({"progress": {"percent": 101}}, "/progress/percent"),
                              ({"progress": {"percent": -1}}, "/progress/percent"),
                              ({"progress": {"colour": 1}}, "/progress/colour"), ({"progress": 50}, "/progress")):
            with self.subTest(change=change):
                self.refused({"items": [{"id": NOBODY, "token": 1, **change}]}, "/items/0" + place, "/v1/heartbeat")

    def test_polls(self):
        path = "/v1/workers/w/poll"
        for body, place in (({"claim": {"limit": 1, "wait_ms": 0}}, "/claim/queues"),
                            ({"claim": {"queues": ["q"], "limit": 0}}, "/claim/limit"),
                            ({"acks": [{}]}, ["/acks/0/id", "/acks/0/outcome", "/acks/0/token"]),
                            ({"logs": [{"id": NOBODY, "token": 1}]}, "/logs/0/message"),
                            ({"heartbeats": {}}, "/heartbeats"), ({"colour": 1}, "/colour")):
            with self.subTest(body=body):
                self.refused(body, place, path)
        self.refused({"acks": [{"id": NOBODY, "token": 1, "outcome": "succeeded"}] * 1001}, "/acks", path)

    def test_queues(self):
        path = f"/v1/queues/{self.queue}"
        for settings, place in (({"max_attempts": 0}, "/max_attempts"), ({"max_attempts": 1001}, "/max_attempts"),
                                ({"max_crashes": 0}, "/max_crashes"), ({"max_crashes": 1001}, "/max_crashes"),
                                ({"lease_ms": 999}, "/lease_ms"), ({"max_ready": -1}, "/max_ready"),
                                ({"retry": {"strategy": "x"}}, "/retry/strategy"),
                                ({"retention": {"succeeded_ms": -1}}, "/retention/succeeded_ms"),
                                ({"retention": {"running_ms": 1}}, "/retention/running_ms"),
                                ({"retention": 5}, "/retention"), ({"colour": 1}, "/colour"),
                                ({"concurrency": 5}, "/concurrency"),
                                ({"rate": {"limit": 1, "per_ms": 1000, "burst": 1}}, "/rate")):
            for method in ("PUT", "PATCH"):
                with self.subTest(method=method, settings=settings):
                    self.refused(settings, place, path, method)
        self.assertEqual(self.api.get(path).status, 404)
        for name in ("a%20b", "%00", "x" * 129, "caf%C3%A9", "%ff"):
            self.assertIn(self.api.put(f"/v1/queues/{name}").status, (404, 422), name)

    def test_edits_and_retries(self):
        job = self.submit(delay_ms=60000)["id"]
        for body, place in (({"priority": 32768}, "/priority"), ({"max_attempts": 0}, "/max_attempts"),
                            ({"tags": ["a b"]}, "/tags/0"), ({"run_at": "soon"}, "/run_at"), ({"type": "t"}, "/type"),
                            ({"queue": "q"}, "/queue")):
            self.refused(body, place, f"/v1/jobs/{job}", "PATCH")
        self.refused({"reason": 7}, "/reason", f"/v1/jobs/{job}/cancel")
        self.refused({"reset_attempts": "yes"}, "/reset_attempts", f"/v1/jobs/{job}/retry")
        for etag in ("x", '"', "-1", '"1', "*1", 'W/"1"'):
            reply = self.api.patch(f"/v1/jobs/{job}", {"priority": 1}, headers={"If-Match": etag})
            self.assertIn(reply.status, (412, 422), reply)
        self.assertEqual(self.job(job)["version"], 1)

    def test_waits(self):
        job = self.submit()["id"]
        for query, name in (({"wait_ms": 60001, "until": "final"}, "wait_ms"), ({"wait_ms": -1}, "wait_ms"),
                            ({"wait_ms": "x"}, "wait_ms"), ({"wait_ms": 1, "until": "dawn"}, "until"),
                            ({"colour": 1}, "colour")):
            self.assert_refused(self.api.get(f"/v1/jobs/{job}", **query), 422, "validation_failed", name)


class WhatComesLater(Refusals):
    def test_paths_that_are_not_there_yet(self):
        for method, path in (("GET", "/v1/schedules"), ("PUT", "/v1/schedules/nightly"),
                             ("POST", "/v1/schedules/preview"), ("GET", "/v1/workflows"), ("POST", "/v1/workflows"),
                             ("GET", f"/v1/workflows/{NOBODY}/graph"), ("GET", "/"), ("GET", "/v1"), ("GET", "/v2/jobs"),
                             ("GET", "/v1/jobs/"), ("GET", "//v1/jobs"), ("GET", "/v1/../v1/jobs"),
                             ("GET", "/V1/jobs")):
            with self.subTest(path=path):
                self.assert_refused(self.api.request(method, path), 404, "not_found")

    def test_the_stream_of_events(self):
        reply = self.api.get("/v1/events", headers={"Accept": "text/event-stream"})
        self.assert_refused(reply, 404, "not_found")
        self.assertEqual(self.api.get("/v1/events", headers={"Accept": "application/json"}).status, 200)

    def test_methods_that_a_path_does_not_have(self):
        for method, path, allowed in (("POST", "/v1/tokens", {"GET"}), ("DELETE", "/v1/tokens", {"GET"}),
                                      ("GET", "/v1/claim", {"POST"}), ("PUT", "/v1/jobs", {"GET", "POST"}),
                                      ("DELETE", "/v1/jobs", {"GET", "POST"}), ("GET", "/v1/jobs/batch", {"POST"}),
                                      ("POST", "/livez", {"GET"}), ("BREW", "/v1/queues", {"GET"}),
                                      ("DELETE", "/v1/queues/q", {"GET", "PUT", "PATCH"})):
            with self.subTest(method=method, path=path):
                reply = self.api.request(method, path)
                self.assert_refused(reply, 405, "method_not_allowed")
                self.assertEqual({word.strip() for word in reply.headers["allow"].split(",")} - {"HEAD", "OPTIONS"},
                                 allowed)


if __name__ == "__main__":
    harness.main()
