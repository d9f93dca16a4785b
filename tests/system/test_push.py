"""Tests of push: the outcome of each answer, the content of calls, forbidden receivers, and a bound
that holds even if the server crashes.
"""

import itertools
import json
import threading
import time

import harness
import nodes  # whose folder the harness has added
import receiver

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
FORMER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
PERMITTED = ("--push-allow", "127.0.0.0/8", "--push-ports", "all", "--push-allow-http", "true")


class PushCase(harness.MillraceCase):
    _targets = itertools.count(1)

    def receive(self, answer=None):
        made = receiver.Receiver(answer)
        self.addCleanup(made.close)
        return made

    def target(self, url, api=None, **members):
        """A push target for this test's queue, or for the named queues; deleted at the end."""
        name = f"t{next(self._targets)}"
        body = {"url": url, "queues": [self.queue], **members}
        api = api or self.api
        reply = harness.eventually(lambda: (r := api.put(f"/v1/push-targets/{name}", body)).status != 503 and r, 60)
        self.assertEqual(reply.status, 201, reply)
        return name

    def get(self, name, api=None):
        reply = (api or self.api).get(f"/v1/push-targets/{name}")
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def health(self, name):
        return self.get(name)["health"]


class Outcomes(PushCase, harness.ServerCase):
    serve_args = PERMITTED

    def tearDown(self):
        for item in self.api.get("/v1/push-targets").json["items"]:
            self.assertEqual(self.api.delete(f"/v1/push-targets/{item['name']}").status, 204)
        super().tearDown()

    def after(self, status, body=b"", headers=None, state="final", **members):
        """A job after a call with this answer."""
        self.queue += "-n"  # that no other target serves
        r = self.receive(lambda _: (status, body, headers or {}))
        name = self.target(r.url)
        job = self.submit(**{"max_attempts": 1, **members})
        if state == "final":
            job = self.final(job["id"], include="result")
        else:
            harness.eventually(lambda: self.state(job["id"]) == state, what=state)
            job = self.job(job["id"])
        self.assertEqual(len(r.calls), 1)
        return job, name

    def test_a_call_says_what_a_worker_would_know(self):
        r = self.receive()
        self.target(r.url, headers={"X-Team": "a b"}, secret=[SECRET, FORMER])
        job = self.submit("mail.send", payload={"to": "ada", "n": 1.0})
        self.assertEqual(self.final(job["id"])["state"], "succeeded")
        (call,) = r.calls
        self.assertEqual(call.path, "/hook")
        self.assertEqual(call.body, b'{"to": "ada", "n": 1.0}')
        expected = {
            "content-type": "application/json",
            "ce-specversion": "1.0",
            "ce-id": job["id"],
            "ce-source": f"/v1/queues/{self.queue}",
            "ce-type": "mail.send",
            "ce-time": job["created_at"],
            "ce-millracequeue": self.queue,
            "ce-millraceattempt": "1",
            "millrace-job-id": job["id"],
            "millrace-attempt": "1",
            "millrace-timeout-ms": "30000",
            "webhook-id": job["id"],
            "x-team": "a b",
        }
        self.assertEqual({k: call.headers.get(k) for k in expected}, expected)
        self.assertLess(abs(int(call.headers["webhook-timestamp"]) - time.time()), 60)
        self.assertEqual(
            call.headers["webhook-signature"],
            f"{receiver.signatures(SECRET, call)} {receiver.signatures(FORMER, call)}",
        )

    def test_success_and_its_result(self):
        job, name = self.after(200, b' {"sent": 1}\n')
        self.assertEqual((job["state"], job["result"]), ("succeeded", {"sent": 1}))
        for status, body in ((204, b""), (201, b"made"), (200, b"<html>")):
            job, name = self.after(status, body)
            self.assertEqual((job["state"], job.get("result")), ("succeeded", None))
        health = harness.eventually(
            lambda: (h := self.health(name))["totals"]["succeeded"] == 1 and h, what="the call's count"
        )
        self.assertEqual(health["last"][0]["status"], 200)
        self.assertGreater(health["latency"]["p50_ms"], 0)
        figure = f'millrace_push_calls_total{{target="{name}",outcome="succeeded"}} 1'
        harness.eventually(lambda: figure in self.api.get("/metrics").body.decode(), what=figure)

    def test_accepted_is_acknowledged_with_the_token(self):
        r = self.receive(lambda _: (202, b"", {}))
        self.target(r.url)
        job = self.submit(lease_ms=20_000)
        harness.eventually(lambda: r.calls, what="the call")
        time.sleep(0.5)
        self.assertEqual(self.state(job["id"]), "running")
        token = int(r.calls[0].headers["millrace-token"])
        reply = self.api.post(f"/v1/jobs/{job['id']}/complete", {"token": token, "result": "later"})
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual(self.final(job["id"])["state"], "succeeded")
        self.assertEqual(len(r.calls), 1)

    def test_what_can_not_be_done_is_dead(self):
        for status in (409, 422):
            job, name = self.after(status, b"no such address", max_attempts=5)
            self.assertEqual(job["state"], "dead")
            self.assertEqual(job["last_error"]["type"], f"http_{status}")
            self.assertIn("no such address", job["last_error"]["message"])
            self.assertFalse(self.get(name)["paused"])

    def test_a_receiver_that_is_gone_is_called_no_more(self):
        job, name = self.after(410)
        self.assertEqual(job["state"], "dead")
        harness.eventually(lambda: self.get(name)["paused"], what="the pause")
        self.assertIn("410", self.get(name)["pause_reason"])
        waiting = self.submit()
        time.sleep(0.5)
        self.assertEqual(self.state(waiting["id"]), "ready")

    def test_a_busy_receiver_is_asked_again_at_no_attempt(self):
        answers = iter([(429, {"retry-after": "1"}), (503, {"retry-after": "1"}), (200, {})])

        def answer(_):
            status, headers = next(answers)
            return status, b"", headers

        r = self.receive(answer)
        name = self.target(r.url)
        job = self.submit(max_attempts=1)
        done = self.final(job["id"])
        self.assertEqual((done["state"], done["attempt"]), ("succeeded", 1))
        self.assertEqual([c.headers["millrace-attempt"] for c in r.calls], ["1", "1", "1"])
        self.assertGreater(r.calls[1].begun - r.calls[0].begun, 0.9)
        harness.eventually(lambda: self.health(name)["totals"]["snoozed"] == 2, what="the counts")

    def test_all_else_fails_and_retries(self):
        for status in (400, 404, 429, 500, 503):
            job, _ = self.after(status, b"oh\x1b[31m", retry={"strategy": "fixed", "base_ms": 10})
            self.assertEqual(job["state"], "dead")
            self.assertEqual(job["last_error"]["type"], f"http_{status}")
            self.assertIn("oh [31m", job["last_error"]["message"])
        self.queue += "-last"
        answers = iter([500, 200])
        r = self.receive(lambda _: (next(answers), b"", {}))
        self.target(r.url)
        job = self.submit(retry={"strategy": "fixed", "base_ms": 10, "jitter": 0})
        self.assertEqual(self.final(job["id"])["attempt"], 2)
        self.assertEqual([c.headers["millrace-attempt"] for c in r.calls], ["1", "2"])
        self.assertEqual(len({c.headers["webhook-id"] for c in r.calls}), 1)

    def test_redirects_are_not_followed(self):
        other = self.receive()
        job, _ = self.after(302, headers={"location": other.url})
        self.assertEqual((job["state"], job["last_error"]["type"]), ("dead", "http_302"))
        self.assertEqual(other.calls, [])

    def test_silence_and_nobody_are_failures(self):
        r = self.receive(lambda _: time.sleep(3) or (200, b"", {}))
        self.target(r.url, timeout_ms=300)
        job = self.final(self.submit(max_attempts=1)["id"])
        self.assertEqual((job["state"], job["last_error"]["type"]), ("dead", "timeout"))
        self.queue += "-2"
        self.target(receiver.nobody())
        job = self.final(self.submit(max_attempts=1)["id"])
        self.assertEqual(job["last_error"]["type"], "unreachable")
        self.queue += "-3"
        self.target(self.receive(lambda _: None).url)
        job = self.final(self.submit(max_attempts=1)["id"])
        self.assertEqual(job["last_error"]["type"], "broken_answer")

    def test_a_bound_on_calls_at_once(self):
        # Calls are answered in groups of three.
        three = threading.Barrier(3, timeout=harness.PATIENCE_S)
        r = self.receive(lambda _: three.wait() is None or (200, b"", {}))
        self.target(r.url, concurrency=3, timeout_ms=60_000)
        ids = self.submit_many(39)
        for job_id in ids:
            self.assertEqual(self.final(job_id)["state"], "succeeded")
        self.assertEqual(r.most_at_once, 3)
        self.assertEqual(sorted(r.jobs()), sorted(ids))

    def test_a_dead_target_costs_the_others_nothing(self):
        over = threading.Event()
        hangs = self.receive(lambda _: over.wait(120) and (200, b"", {}))
        self.addCleanup(over.set)
        self.target(hangs.url, concurrency=50, queues=[self.queue + "-hangs"], timeout_ms=120_000)
        gone = self.target(receiver.nobody(), queues=[self.queue + "-gone"])
        for suffix in ("-hangs", "-gone"):
            for _ in range(100):
                self.submit(queue=self.queue + suffix)
        harness.eventually(lambda: len(hangs.calls) == 50, what="fifty calls that hang")
        harness.eventually(lambda: self.health(gone)["breaker"] == "open", what="the breaker")
        r = self.receive()
        self.target(r.url)
        time.sleep(0.5)
        for job_id in self.submit_many(200):
            self.assertEqual(self.final(job_id)["state"], "succeeded")
        self.assertEqual([call.over for call in hangs.calls], [None] * 50, "they hang still")
        over.set()
        # The breaker leaves the jobs alone.
        ready = self.counts(self.queue + "-gone").get("ready", 0)
        self.assertGreater(ready, 80)

    def test_a_cancelled_job_ends_its_call(self):
        r = self.receive(lambda _: time.sleep(15) or (200, b"", {}))
        self.target(r.url)
        job = self.submit()
        harness.eventually(lambda: r.calls, what="the call")
        self.assertEqual(self.api.post(f"/v1/jobs/{job['id']}/cancel", {}).status, 200)
        self.assertEqual(self.final(job["id"])["state"], "cancelled")

    def test_a_paused_target_calls_nobody(self):
        r = self.receive()
        name = self.target(r.url)
        self.assertEqual(self.api.post(f"/v1/push-targets/{name}/pause", {"reason": "later"}).status, 200)
        time.sleep(2)  # the server withdraws its claim a fifth of a second later, or when it can
        job = self.submit()
        time.sleep(0.5)
        self.assertEqual((self.state(job["id"]), r.calls), ("ready", []))
        self.assertEqual(self.get(name)["pause_reason"], "later")
        self.assertEqual(self.api.post(f"/v1/push-targets/{name}/resume").status, 200)
        self.assertEqual(self.final(job["id"])["state"], "succeeded")

    def test_a_target_takes_its_types_alone(self):
        r = self.receive()
        self.target(r.url, types=["mail"])
        other, mail = self.submit("other"), self.submit("mail")
        self.assertEqual(self.final(mail["id"])["state"], "succeeded")
        self.assertEqual(self.state(other["id"]), "ready")

    def test_a_test_is_a_call_without_a_job(self):
        answers = iter([204, 500])
        r = self.receive(lambda _: (next(answers), b"", {}))
        name = self.target(r.url)
        for status in (204, 500):
            reply = self.api.post(f"/v1/push-targets/{name}/test")
            self.assertEqual(reply.status, 200, reply)
            self.assertEqual((reply.json["ok"], reply.json["status"]), (status == 204, status))
        self.assertEqual(r.calls[0].headers["ce-type"], "millrace.test")

    def test_its_worker_is_none_of_those_that_people_manage(self):
        r = self.receive(lambda _: time.sleep(2) or (200, b"", {}))
        self.target(r.url)
        self.submit()
        harness.eventually(lambda: r.calls, what="the call")
        self.assertEqual([w for w in self.api.get("/v1/workers").json["items"] if "push" in w["id"]], [])
        reply = self.api.post("/v1/claim", {"queues": [self.queue], "worker": {"id": "~push:t1"}, "wait_ms": 0})
        self.assertEqual(reply.status, 422, reply)


class Targets(PushCase, harness.ServerCase):
    """Tests of their settings, and of secrets that can't be read back."""

    serve_args = PERMITTED

    def put(self, name, if_match=None, **members):
        body = {"url": "http://127.0.0.1:1/", "queues": [self.queue], "paused": True, **members}
        headers = {"If-Match": if_match} if if_match else None
        return self.api.put(f"/v1/push-targets/{name}", body, headers=headers)

    def test_secrets_are_kept_and_never_answered(self):
        name = f"s-{self.queue}"
        texts = []
        body = {
            "url": "http://127.0.0.1:1/",
            "queues": [self.queue],
            "paused": True,
            "secret": SECRET,
            "headers": {"Authorization": "Bearer canary-3c1"},
        }
        reply = self.api.put(f"/v1/push-targets/{name}", body)
        self.assertEqual(reply.status, 201, reply)
        texts.append(reply.body)
        reply = self.put(name, concurrency=7)
        self.assertEqual((reply.status, reply.json["version"]), (200, 2))
        self.assertEqual(reply.json["header_names"], ["authorization"])
        self.assertTrue(reply.json["secret"])
        texts += [reply.body, self.api.get("/v1/push-targets").body]
        texts += [self.api.get(f"/v1/push-targets/{name}").body, self.api.get("/metrics").body]
        texts.append(self.server.log.encode())
        for text in texts:
            self.assertNotIn(b"canary-3c1", text)
            self.assertNotIn(SECRET.removeprefix("whsec_").encode(), text)
        reply = self.api.put(f"/v1/push-targets/{name}", {**body, "secret": None, "headers": None})
        self.assertEqual((reply.json["secret"], reply.json["header_names"]), (False, []))

    def test_what_must_not_be_called_is_refused(self):
        for url in (
            "http://10.0.0.1/",
            "http://169.254.169.254/latest/meta-data/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://0/",
            "ftp://example.com/",
            "http://user@example.com/",
            "http://example.com/#a",
            "http://example.com/ a",
        ):
            reply = self.put("refused", url=url)
            self.assert_refused(reply, 422, "validation_failed", "/url")
        for members, place in (
            ({"secret": "hunter2"}, "/secret"),
            ({"concurrency": 501}, "/concurrency"),
            ({"headers": {"Host": "x"}}, "/headers/Host"),
            ({"headers": {"x": "a\r\nb"}}, "/headers/x"),
        ):
            self.assert_refused(self.put("refused", **members), 422, "validation_failed", place)
        self.assertEqual(self.api.get("/v1/push-targets/refused").status, 404)
        self.assertEqual(self.put("a%20b").status, 422)

    def test_versions_guard_a_change(self):
        name = f"v-{self.queue}"
        self.assertEqual(self.put(name).status, 201)
        self.assertEqual(self.put(name, '"9"').status, 412)
        reply = self.put(name, '"1"', concurrency=2)
        self.assertEqual((reply.status, reply.headers["etag"]), (200, '"2"'))
        reply = self.api.delete(f"/v1/push-targets/{name}", headers={"If-Match": '"1"'})
        self.assertEqual(reply.status, 412, reply)
        self.assertEqual(self.api.delete(f"/v1/push-targets/{name}").status, 204)
        self.assertEqual(self.api.delete(f"/v1/push-targets/{name}").status, 404)

    def test_pages(self):
        names = [f"p{i}-{self.queue}" for i in range(5)]
        for name in names:
            self.assertEqual(self.put(name).status, 201)
        found, cursor = [], None
        while True:
            query = {"limit": 2, **({"cursor": cursor} if cursor else {})}
            page = self.api.get("/v1/push-targets", **query).json
            found += [item["name"] for item in page["items"]]
            cursor = page["next_cursor"]
            if not cursor:
                break
        self.assertEqual(found, sorted(found))
        self.assertLessEqual(set(names), set(found))

    def test_the_command_line(self):
        r = self.receive()
        name = f"c-{self.queue}"
        secret = self.server.home / "secret"
        secret.write_text(SECRET + "\n")

        def cli(*args, status=0):
            done = self.server.cli("push-target", *args)
            self.assertEqual(done.returncode, status, done)
            return done.stdout

        shown = cli("set", name, "--target-url", r.url, "-q", self.queue, "--secret-file", secret,
                    "--header", "X-A: b", "--timeout", "2s", "-c", "3")  # fmt: skip
        self.assertIn("x-a", shown)
        job = self.submit()
        self.final(job["id"])
        self.assertEqual(r.calls[0].headers["x-a"], "b")
        self.assertIn("webhook-signature", r.calls[0].headers)
        self.assertIn(job["id"], cli("get", name))
        self.assertIn("up", cli("list"))
        self.assertEqual(json.loads(cli("get", name, "-o", "json"))["concurrency"], 3)
        cli("pause", name, "--reason", "later")
        self.assertIn("later", cli("get", name))
        cli("resume", name)
        self.assertIn("answered 200", cli("test", name))
        r.answer = lambda _: (500, b"", {})
        cli("test", name, status=1)
        cli("delete", name, "--yes")
        cli("get", name, status=3)


class Restarts(PushCase):
    """Crashes of the server lose no job, and never cause more calls than the bound."""

    def check(self, r, ids, bound):
        self.assertLessEqual(set(ids), set(r.jobs()))
        self.assertEqual(r.twice_at_once, [])
        self.assertLessEqual(r.most_at_once, bound)

    def test_a_server_that_is_killed_calls_again_when_its_leases_are_over(self):
        slow = threading.Event()
        r = self.receive(lambda _: slow.wait(60) and (200, b"", {}))
        self.use(self.new_server(*PERMITTED).start())
        name = self.target(r.url, concurrency=2, timeout_ms=20000)
        ids = [self.submit()["id"] for _ in range(6)]
        harness.eventually(lambda: len(r.calls) == 2, what="two calls")
        self.use(self.server.restart(kill=True))
        # The dead process's calls count until their leases are over.
        harness.eventually(lambda: self.health(name), what="somebody who serves")
        self.assertEqual(self.health(name)["held_elsewhere"], 2)
        self.assertEqual(len(r.calls), 2)
        slow.set()
        for job_id in ids:
            self.await_state(job_id, "succeeded", timeout_s=150)
        self.check(r, ids, 2)

    def test_a_server_that_stops_lets_its_calls_end(self):
        r = self.receive(lambda _: time.sleep(1) or (200, b"", {}))
        self.use(self.new_server(*PERMITTED).start())
        self.target(r.url)
        job = self.submit()
        harness.eventually(lambda: r.calls, what="the call")
        self.assertEqual(self.server.stop(), 0)
        self.use(self.server.start())
        self.assertEqual(self.state(job["id"]), "succeeded")
        self.assertEqual(len(r.calls), 1)


class Nodes(PushCase):
    """Three nodes: the one that leads the first shard serves the targets."""

    def test_a_node_that_is_killed(self):
        cluster = nodes.Nodes(3, *PERMITTED)
        self.addCleanup(cluster.close)
        cluster.start()
        self.use(cluster[0])
        r = self.receive(lambda _: time.sleep(0.05) or (200, b"", {}))
        queues = list(cluster.queue_on_each_shard().values())
        name = self.target(r.url, concurrency=4, timeout_ms=10000, queues=queues)
        apis = [self.new_client(server) for server in cluster.servers]
        for api in apis:
            harness.eventually(lambda a=api: a.get(f"/v1/push-targets/{name}").status == 200, what="its copy")
        harness.eventually(
            lambda: sum(self.get(name, api)["health"] is not None for api in apis) == 1,
            60,
            what="one node that serves the targets",
        )
        serving = next(s for s, api in zip(cluster.servers, apis) if self.get(name, api)["health"])
        others = [server for server in cluster.servers if server is not serving]
        for server in others:
            self.assertEqual(self.get(name, self.new_client(server))["served_by"], serving.url)
        ids = []
        self.use(others[0])

        def submit(count):
            for number in range(count):
                queue = queues[number % len(queues)]
                body = {"type": "work", "queue": queue, "id": harness.uuid7()}
                harness.eventually(lambda b=body: self.api.post("/v1/jobs", b).status in (200, 201), 30, 0.05)
                ids.append(body["id"])

        submit(100)
        harness.eventually(lambda: len(r.calls) > 20, what="some calls")
        serving.kill()
        submit(100)
        for job_id in ids:
            harness.eventually(
                lambda j=job_id: self.api.get(f"/v1/jobs/{j}").json.get("state") == "succeeded",
                120,
                0.05,
                what=f"the end of {job_id}",
            )
        self.assertLessEqual(set(ids), set(r.jobs()))
        self.assertEqual(r.twice_at_once, [])
        self.assertLessEqual(r.most_at_once, 4)


if __name__ == "__main__":
    harness.main()
