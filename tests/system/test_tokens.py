"""Tests of tokens made at run time, of the scope `payload`, of isolation between queues, and of the
slowdown of clients that try invalid tokens.
"""

import pathlib
import re
import signal
import sys
import threading
import time

import harness
from test_auth import new_token

sys.path.append(str(pathlib.Path(__file__).parents[1]))
import nodes  # noqa: E402 (its folder is on the path only now)
import postgres  # noqa: E402

EVERY = ["submit", "work", "read", "operate", "admin"]
SECRET = re.compile(r"^mlr_[0-9a-f]{12}_[0-9a-f]{64}_[0-9a-f]{8}$")


def configured(name, *args):
    """(token, lines): a configured token with all scopes, and with the options `args`."""
    return new_token("--name", name, *[w for s in EVERY for w in ("--scope", s)], *args)


class TokensCase(harness.MillraceCase):
    @classmethod
    def setUpClass(cls):
        cls.admin, cls.lines = configured("admin")
        cls.server = harness.Server("--log-level", "debug", config=cls.settings() + cls.lines, token=cls.admin)
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    @classmethod
    def settings(cls):
        return ""

    def make(self, *scopes, api=None, name=None, **members):
        """Makes a token at run time and returns the answer."""
        name = name or f"{self.queue}-{next(self._names)}"
        reply = (api or self.api).post("/v1/tokens", {"name": name, "scopes": list(scopes), **members})
        self.assertEqual(reply.status, 201, reply)
        return reply.json

    def as_(self, made):
        return self.new_client(token=made["token"] if isinstance(made, dict) else made)


class AtRunTime(TokensCase):
    def test_made_used_listed_revoked(self):
        made = self.make("read", "submit", name="deploy", description="of the pipeline")
        self.assertRegex(made["token"], SECRET)
        self.assertEqual(made["id"], made["token"].split("_")[1])
        self.assertEqual((made["source"], made["created_by"]), ("api", "admin"))
        self.assertEqual((made["queues"], made["expires_at"]), (None, None))
        deploy = self.as_(made)
        self.assertEqual(deploy.get("/v1/meta").status, 200)
        self.assert_refused(deploy.get("/v1/tokens"), 403, "forbidden")
        shown = self.api.get(f"/v1/tokens/{made['id']}").json
        self.assertEqual(shown["description"], "of the pipeline")
        self.assertLess(abs(harness.seconds(shown["last_used_at"]) - time.time()), 120)
        self.assertIn(made["id"], [one["id"] for one in self.api.get("/v1/tokens").json["items"]])
        self.assertEqual(self.api.delete(f"/v1/tokens/{made['id']}").status, 204)
        self.assert_refused(deploy.get("/v1/meta"), 401, "unauthenticated")
        self.assertEqual(self.api.get(f"/v1/tokens/{made['id']}").status, 404)
        self.assertEqual(self.api.delete(f"/v1/tokens/{made['id']}").status, 404)

    def test_a_secret_is_shown_once_and_kept_nowhere(self):
        made = self.make("read")
        secret = made["token"].split("_")[2]
        for reply in (self.api.get("/v1/tokens"), self.api.get(f"/v1/tokens/{made['id']}")):
            for text in (b"mlr_", b"sha256", secret.encode()):
                self.assertNotIn(text, reply.body)
        self.as_(made).get("/v1/meta")
        self.assertNotIn(secret, self.server.log)
        self.server.restart()
        for file in self.server.data.rglob("*"):
            if file.is_file():
                self.assertNotIn(secret.encode(), file.read_bytes(), file)

    def test_it_outlives_the_server(self):
        kept, gone = self.make("read"), self.make("read")
        self.api.delete(f"/v1/tokens/{gone['id']}")
        self.server.restart(kill=True)
        self.use(self.server)
        harness.eventually(lambda: self.as_(kept).get("/v1/meta").status == 200)
        self.assertEqual(self.as_(gone).get("/v1/meta").status, 401)

    def test_lists_go_page_by_page(self):
        made = {self.make("read")["id"] for _ in range(7)}
        seen, cursor = [], None
        while True:
            reply = self.api.get("/v1/tokens", limit=3, **({"cursor": cursor} if cursor else {}))
            self.assertLessEqual(len(reply.json["items"]), 3)
            seen += [one["id"] for one in reply.json["items"]]
            cursor = reply.json["next_cursor"]
            if cursor is None:
                break
        self.assertEqual(seen, sorted(set(seen)))
        self.assertLessEqual(made, set(seen))

    def test_a_rotated_one_has_two_secrets_for_a_while(self):
        made = self.make("read", queues=["a*"])
        rotated = self.api.post(f"/v1/tokens/{made['id']}/rotate", {"grace_ms": 6000}).json
        self.assertEqual((rotated["id"], rotated["queues"]), (made["id"], ["a*"]))
        self.assertNotEqual(rotated["token"], made["token"])
        self.assertIsNotNone(rotated["former_secret_until"])
        former, current = self.as_(made), self.as_(rotated)
        self.assertEqual((former.get("/v1/meta").status, current.get("/v1/meta").status), (200, 200))
        time.sleep(6.1)
        self.assertEqual((former.get("/v1/meta").status, current.get("/v1/meta").status), (401, 200))

    def test_without_grace_the_former_secret_ends_at_once(self):
        made = self.make("read")
        rotated = self.api.post(f"/v1/tokens/{made['id']}/rotate", {"grace_ms": 0}).json
        self.assertIsNone(rotated["former_secret_until"])
        self.assertEqual(self.as_(made).get("/v1/meta").status, 401)
        self.assertEqual(self.as_(rotated).get("/v1/meta").status, 200)

    def test_an_hour_is_the_grace_that_nobody_names(self):
        made = self.make("read")
        rotated = self.api.post(f"/v1/tokens/{made['id']}/rotate").json
        left = harness.seconds(rotated["former_secret_until"]) - time.time()
        self.assertLess(abs(left - 3600), 60)

    def test_only_the_last_two_secrets_are_good(self):
        first = self.make("read")
        second = self.api.post(f"/v1/tokens/{first['id']}/rotate").json
        third = self.api.post(f"/v1/tokens/{first['id']}/rotate").json
        statuses = [self.as_(one).get("/v1/meta").status for one in (first, second, third)]
        self.assertEqual(statuses, [401, 200, 200])

    def test_it_expires(self):
        made = self.make("read", expires_in_ms=6000)
        short = self.as_(made)
        self.assertEqual(short.get("/v1/meta").status, 200)
        time.sleep(6.1)
        self.assert_refused(short.get("/v1/meta"), 401, "unauthenticated")
        at = harness.rfc3339(time.time() + 3600)
        self.assertLess(
            abs(harness.seconds(self.make("read", expires_at=at)["expires_at"]) - time.time() - 3600),
            60,
        )

    def test_who_waits_with_a_revoked_token_is_told(self):
        made = self.make("work", queues=["idle*"])
        answers = []
        waiting = self.as_(made)
        thread = threading.Thread(
            target=lambda: answers.append(
                waiting.post(
                    "/v1/claim",
                    {"queues": ["idle"], "limit": 1, "wait_ms": 60000, "worker": {"id": "w"}},
                )
            )
        )
        thread.start()
        time.sleep(0.5)
        start = time.monotonic()
        self.api.delete(f"/v1/tokens/{made['id']}")
        thread.join(70)
        self.assertFalse(thread.is_alive())
        self.assertLess(time.monotonic() - start, 40)
        self.assert_refused(answers[0], 401, "unauthenticated")
        job = self.submit(queue="idle")
        time.sleep(0.3)
        self.assertEqual(self.state(job["id"]), "ready", "nobody took it")

    def test_nobody_hands_on_more_than_they_have(self):
        limited = self.as_(self.make("admin", "read", queues=["mail.*"], expires_in_ms=3_600_000, name="limited"))
        for members in (
            {"scopes": ["work"], "queues": ["mail.*"]},
            {"scopes": ["read", "payload"], "queues": ["mail.*"]},
            {"scopes": ["read"]},
            {"scopes": ["read"], "queues": ["mai*"]},
            {"scopes": ["read"], "queues": ["mail.*", "sms"]},
            {"scopes": ["read"], "queues": ["mail.eu"], "expires_in_ms": 7_200_000},
        ):
            with self.subTest(members):
                reply = limited.post("/v1/tokens", {"name": "more", **members})
                self.assert_refused(reply, 403, "forbidden")
        less = self.make("read", api=limited, queues=["mail.eu.*"], name="less")
        self.assertEqual(less["created_by"], "limited")
        self.assertIsNotNone(less["expires_at"], "it lives no longer than who made it")
        other = self.make("read", queues=["sms"])
        for method, path in (
            ("GET", f"/v1/tokens/{other['id']}"),
            ("DELETE", f"/v1/tokens/{other['id']}"),
            ("POST", f"/v1/tokens/{other['id']}/rotate"),
        ):
            self.assert_refused(limited.request(method, path), 404, "not_found")
        strong = self.make("read", "work", queues=["mail.eu"])
        self.assert_refused(limited.post(f"/v1/tokens/{strong['id']}/rotate"), 403, "forbidden")
        self.assert_refused(limited.delete(f"/v1/tokens/{strong['id']}"), 403, "forbidden")
        self.assertEqual(self.as_(strong).get("/v1/queues").status, 200)
        self.assertEqual(limited.delete(f"/v1/tokens/{less['id']}").status, 204)
        # An administrator of all queues can stop any token.
        whole = self.as_(self.make("admin"))
        self.assertEqual(whole.delete(f"/v1/tokens/{strong['id']}").status, 204)

    def test_one_for_some_queues_administrates_nothing_of_all(self):
        limited = self.as_(self.make("admin", "read", "operate", queues=["mail.*"]))
        for method, path, body in (
            ("POST", "/v1/admin/backup", {"path": "/nowhere/x"}),
            ("POST", "/v1/admin/reproject", None),
            ("GET", "/v1/admin/config", None),
            ("GET", "/v1/admin/nodes", None),
            ("GET", "/v1/admin/diagnosis", None),
            ("POST", "/v1/admin/nodes/local/drain", None),
            ("POST", "/v1/admin/nodes/local/undrain", None),
            ("GET", "/v1/admin/audit", None),
            ("GET", "/metrics", None),
        ):
            with self.subTest(path):
                self.assert_refused(limited.request(method, path, body), 403, "forbidden")
        kinds = {op["kind"] for op in self.api.get("/v1/operations").json["items"]}
        self.assertNotIn("reproject", kinds)

    def test_one_cannot_take_all_operations(self):
        operator = self.as_(self.make("operate", "read", queues=["mail.*"]))
        self.submit_many(200, queue="mail.many")
        body = {"action": "cancel", "filter": {"queue": "mail.many"}, "rate_per_s": 1}
        begun = []
        for _ in range(50):
            reply = operator.post("/v1/jobs/bulk", body)
            self.assertEqual(reply.status, 202, reply)
            begun.append(reply.json["id"])
        reply = operator.post("/v1/jobs/bulk", body)
        self.assert_refused(reply, 409, "too_many_entries")
        self.assertIn("the token has as many operations going on", reply.json["detail"])
        other = self.as_(self.make("operate", "read", queues=["mail.*"], name="other"))
        reply = other.post("/v1/jobs/bulk", body)
        self.assertEqual(reply.status, 202, reply)
        for op in [*begun, reply.json["id"]]:
            self.api.post(f"/v1/operations/{op}/cancel")

    def test_one_of_the_configuration_is_changed_there(self):
        admin = next(t for t in self.api.get("/v1/tokens").json["items"] if t["name"] == "admin")
        self.assertEqual((admin["source"], admin["created_at"]), ("config", None))
        self.assertIn("payload", admin["scopes"])
        for reply in (
            self.api.delete(f"/v1/tokens/{admin['id']}"),
            self.api.post(f"/v1/tokens/{admin['id']}/rotate"),
        ):
            self.assert_refused(reply, 409, "invalid_state")
            self.assertIn("configuration", reply.json["detail"])
        self.assertEqual(self.api.get("/v1/meta").status, 200)

    def test_faults_are_named(self):
        for body, places in (
            ({}, ["/name", "/scopes"]),
            ({"name": "x", "scopes": []}, ["/scopes"]),
            ({"name": "x", "scopes": ["root"]}, ["/scopes/0"]),
            ({"name": "x", "scopes": ["read", "read"]}, ["/scopes/1"]),
            ({"name": "x", "scopes": ["payload"]}, ["/scopes"]),
            ({"name": 'x"', "scopes": ["read"]}, ["/name"]),
            ({"name": "x" * 65, "scopes": ["read"]}, ["/name"]),
            ({"name": "x", "scopes": ["read"], "queues": []}, ["/queues"]),
            ({"name": "x", "scopes": ["read"], "queues": ["a*b"]}, ["/queues/0"]),
            ({"name": "x", "scopes": ["read"], "queues": ["a b"]}, ["/queues/0"]),
            ({"name": "x", "scopes": ["read"], "queues": ["a"] * 65}, ["/queues"]),
            ({"name": "x", "scopes": ["read"], "expires_in_ms": 999}, ["/expires_in_ms"]),
            ({"name": "x", "scopes": ["read"], "expires_at": "2020-01-01T00:00:00Z"}, ["/expires_at"]),
            (
                {
                    "name": "x",
                    "scopes": ["read"],
                    "expires_at": "2100-01-01T00:00:00Z",
                    "expires_in_ms": 5000,
                },
                ["/expires_in_ms"],
            ),
            ({"name": "x", "scopes": ["read"], "secret": "mine"}, ["/secret"]),
        ):
            with self.subTest(body):
                reply = self.api.post("/v1/tokens", body)
                self.assert_refused(reply, 422, "validation_failed")
                self.assertEqual(sorted(reply.places), places)
        made = self.make("read", name="x" * 64)
        for grace in (-1, 604_800_001):
            reply = self.api.post(f"/v1/tokens/{made['id']}/rotate", {"grace_ms": grace})
            self.assert_refused(reply, 422, "validation_failed")

    def test_a_name_is_one_tokens(self):
        self.make("read", name="twice")
        for name in ("twice", "admin"):
            reply = self.api.post("/v1/tokens", {"name": name, "scopes": ["read"]})
            self.assert_refused(reply, 409, "invalid_state")

    def test_the_command_line(self):
        done = self.server.cli("token", "create", "--name", "cli", "--scope", "read")
        self.assertEqual(done.returncode, 0, done)
        token = done.stdout.strip()
        self.assertRegex(token, SECRET)
        token_id = token.split("_")[1]
        listed = self.server.cli("token", "list").stdout
        self.assertRegex(listed, rf"{token_id}\s+cli\s+read\s+all\s+api")
        self.assertRegex(listed, r"admin\s+submit,work,read,operate,admin,payload\s+all\s+config")
        rotated = self.server.cli("token", "rotate", token_id, "--grace", "0s").stdout.strip()
        self.assertEqual(self.new_client(token=rotated).get("/v1/meta").status, 200)
        self.assertEqual(self.new_client(token=token).get("/v1/meta").status, 401)
        self.assertEqual(self.server.cli("token", "revoke", token_id).returncode, 0)
        self.assertEqual(self.new_client(token=rotated).get("/v1/meta").status, 401)
        self.assertEqual(self.server.cli("token", "revoke", token_id).returncode, 3)
        self.assertEqual(self.server.cli("token", "create", "--name", "x").returncode, 2)

    def test_a_server_without_tokens_makes_none(self):
        server = self.new_server()
        server.start()
        api = server.client()
        self.addCleanup(api.close)
        reply = api.post("/v1/tokens", {"name": "first", "scopes": ["read"]})
        self.assert_refused(reply, 409, "invalid_state")
        self.assertIn("token new", reply.json["detail"])
        self.assertEqual(api.get("/v1/tokens").json["items"], [])


class Reload(harness.MillraceCase):
    def test_sighup_reads_tokens_and_some_keys_again(self):
        admin, lines = configured("admin")
        second, more = new_token("--name", "second", "--scope", "read")
        server = self.new_server(config=lines, token=admin)
        server.start()
        path = server.home / "millrace.toml"
        self.use(server)
        self.assertEqual(self.new_client(token=second).get("/v1/meta").status, 401)

        def reload(text, told):
            before = server.log.count(told)
            path.write_text(text)
            server.signal(signal.SIGHUP)
            harness.eventually(lambda: server.log.count(told) > before, what=told)

        again = "the server read its configuration again"
        reload('log_level = "debug"\ndrain = "3s"\n' + lines + more, again)
        self.assertEqual(self.new_client(token=second).get("/v1/meta").status, 200)
        harness.eventually(lambda: "path=/v1/meta status=200" in server.log, what="level debug")
        shown = {each["key"]: each for each in self.api.get("/v1/admin/config").json["settings"]}
        self.assertEqual((shown["drain"]["value"], shown["drain"]["source"]), ("3s", f"file {path}:2"))
        reload(lines, again)
        self.assertEqual(self.new_client(token=second).get("/v1/meta").status, 401)
        reload('memory = "300MiB"\n' + lines, "need a restart of the server")
        self.assertIn("keys=memory", server.log)
        shown = {each["key"]: each for each in self.api.get("/v1/admin/config").json["settings"]}
        self.assertEqual(shown["memory"]["waiting"], "300MiB")
        self.assertNotEqual(shown["memory"]["value"], "300MiB")
        self.assertEqual(shown["drain"]["value"], "10s")
        self.assertIsNone(shown["drain"]["waiting"])
        kept = "the server keeps its former configuration"
        reload("listen = 7\n" + lines, kept)
        reload("", kept)
        self.assertEqual(self.api.get("/v1/meta").status, 200)
        self.assertEqual(server.stop(), 0)


class Payload(TokensCase):
    """Tests of the scope `payload`: a token without it sees no data of producers and workers."""

    HIDDEN = "zq9-hidden"

    def setUp(self):
        super().setUp()
        self.blind = self.as_(self.make("submit", "work", "read", "operate"))
        self.seeing = self.as_(self.make("read", "payload"))

    def failed_job(self):
        """A job with a payload, a checkpoint, a log line and a failed attempt behind it."""
        job = self.submit(
            payload={"key": self.HIDDEN}, max_attempts=2, retry={"strategy": "fixed", "base_ms": 3_600_000, "jitter": 0}
        )
        claimed = self.claim_one()
        self.api.post(
            "/v1/heartbeat",
            {
                "items": [
                    {
                        "id": job["id"],
                        "token": claimed["lease"]["token"],
                        "progress": {"percent": 5, "message": "half", "checkpoint": [self.HIDDEN]},
                    }
                ]
            },
        )
        self.ack(
            claimed,
            "failed",
            error={"type": "Oops", "message": self.HIDDEN, "stack": self.HIDDEN},
            logs=[{"message": self.HIDDEN}],
        )
        return job["id"]

    def test_left_out_wherever_it_comes_out(self):
        job = self.failed_job()
        done = self.submit(payload=self.HIDDEN)["id"]
        self.finish(self.claim_one(), result={"value": self.HIDDEN})
        self.api.get("/v1/jobs", fresh="true")
        schedule = f"s-{self.queue}"
        reply = self.api.put(
            f"/v1/schedules/{schedule}",
            {"every_ms": 3_600_000, "job": {"type": "t", "queue": self.queue, "payload": self.HIDDEN}},
        )
        self.assertIn(reply.status, (200, 201), reply)
        everything = "payload,result,attempts,logs,events"
        places = [
            (f"/v1/jobs/{job}", {"include": everything}),
            (f"/v1/jobs/{done}", {"include": everything}),
            (f"/v1/jobs/{done}", {"include": "result", "wait_ms": 10, "until": "final"}),
            ("/v1/jobs", {"queue": self.queue, "include": "payload,result", "fresh": "true"}),
            ("/v1/jobs", {"q": f"queue:{self.queue} error:Oops", "include": "payload"}),
            (f"/v1/jobs/{job}/attempts", {}),
            (f"/v1/jobs/{job}/logs", {}),
            (f"/v1/jobs/{job}/events", {}),
            ("/v1/events", {"queues": self.queue, "limit": 1000}),
            ("/v1/schedules", {"queue": self.queue}),
            (f"/v1/schedules/{schedule}", {}),
        ]
        for path, query in places:
            with self.subTest(path=path, **query):
                seen = self.seeing.get(path, **query)
                self.assertEqual(seen.status, 200, seen)
                self.assertIn(self.HIDDEN.encode(), seen.body, "or the next line proves nothing")
                self.assertNotIn(b"redacted", seen.body)
                blind = self.blind.get(path, **query)
                self.assertEqual(blind.status, 200, blind)
                self.assertNotIn(self.HIDDEN.encode(), blind.body)
                self.assertIn(b'"redacted":true', blind.body)
        for method, path, body in (
            ("PATCH", f"/v1/jobs/{job}?include=payload", {"priority": 3}),
            ("POST", f"/v1/jobs/{job}/cancel?include={everything}", {}),
            ("POST", f"/v1/jobs/{job}/retry?include={everything}", {}),
            ("POST", f"/v1/schedules/{schedule}/pause", {}),
            ("POST", f"/v1/schedules/{schedule}/resume", None),
            ("POST", f"/v1/schedules/{schedule}/trigger", {}),
        ):
            with self.subTest(path=path):
                reply = self.blind.request(method, path, body)
                self.assertIn(reply.status, (200, 201), reply)
                self.assertNotIn(self.HIDDEN.encode(), reply.body)

    def test_what_is_left_tells_the_rest(self):
        job = self.failed_job()
        blind = self.blind.get(f"/v1/jobs/{job}", include="payload,attempts").json
        self.assertTrue(blind["redacted"])
        self.assertNotIn("payload", blind)
        self.assertEqual(blind["progress"], {"percent": 5, "message": "half", "checkpoint": None})
        error = blind["last_error"]
        self.assertEqual((error["type"], error["message"], error["stack"]), ("Oops", "", None))
        self.assertTrue(error["redacted"] and blind["attempts"][0]["error"]["redacted"])
        line = self.blind.get(f"/v1/jobs/{job}/logs").json["items"][0]
        self.assertEqual((line["level"], line["message"]), ("info", ""))

    def test_an_existing_job_is_no_way_around(self):
        key = {"Idempotency-Key": f"k-{self.queue}"}
        body = {"type": "t", "queue": self.queue, "unique": {"key": "u"}}
        self.api.post("/v1/jobs", {**body, "payload": self.HIDDEN}, headers=key)
        reply = self.blind.post("/v1/jobs", {**body, "payload": "mine"}, include="payload")
        self.assertEqual(reply.status, 200, reply)
        self.assertNotIn(self.HIDDEN.encode(), reply.body)
        self.assertTrue(reply.json["redacted"])

    def test_a_push_target_is_no_way_around(self):
        admin = self.as_(self.make("admin", "operate", "read"))
        target = {"url": "https://example.com/", "queues": [self.queue], "paused": True}
        reply = admin.put(f"/v1/push-targets/t-{self.queue}", target)
        self.assert_refused(reply, 403, "forbidden")
        self.assertIn("payload", reply.json["detail"])

    def test_a_search_is_no_way_around(self):
        job = self.failed_job()
        self.api.get("/v1/jobs", fresh="true")
        for word in (
            f"payload.key:{self.HIDDEN}",
            f"-payload.key:{self.HIDDEN}",
            "payload.key~zq9",
            f"result.value:{self.HIDDEN}",
            "error~zq9",
            f"queue:{self.queue} error~zq9",
        ):
            with self.subTest(word):
                self.assert_refused(self.blind.get("/v1/jobs", q=word), 403, "forbidden")
                bulk = self.blind.post(
                    "/v1/jobs/bulk",
                    {"action": "cancel", "filter": {"q": word}, "dry_run": True},
                )
                self.assert_refused(bulk, 403, "forbidden")
        found = self.seeing.get("/v1/jobs", q=f"payload.key:{self.HIDDEN} queue:{self.queue}")
        self.assertEqual([one["id"] for one in found.json["items"]], [job])
        self.assertEqual(self.blind.get("/v1/jobs", q="error:Oops").status, 200)

    def test_a_worker_sees_what_it_claims(self):
        for claim in ("claim", "poll"):
            job = self.failed_job()
            self.api.patch(f"/v1/jobs/{job}", {"run_at": "2020-01-01T00:00:00Z"})
            body = {"queues": [self.queue], "limit": 1, "wait_ms": 0}
            if claim == "claim":
                body = {**body, "worker": {"id": "w"}}
                claimed = self.blind.post("/v1/claim", body).json["jobs"][0]
            else:
                claimed = self.blind.post("/v1/workers/w/poll", {"claim": body}).json["jobs"][0]
            self.assertEqual(claimed["id"], job)
            self.assertEqual(claimed["payload"], {"key": self.HIDDEN})
            self.assertEqual(claimed["progress"]["checkpoint"], [self.HIDDEN])
            self.finish(claimed)

    def test_tokens_of_the_configuration_see_as_before_unless_they_say_so(self):
        old, lines = new_token("--name", "old", "--scope", "read")
        blind, more = new_token("--name", "blind", "--scope", "read", "--no-payload")
        named, last = new_token("--name", "named", "--scope", "read", "--scope", "payload")
        admin, first = configured("admin")
        self.assertNotIn("payload", lines)
        self.assertIn("payload = false", more)
        server = self.new_server(config=first + lines + more + last, token=admin)
        server.start()
        self.use(server)
        job = self.submit(payload=self.HIDDEN)["id"]
        for token, sees in ((old, True), (named, True), (blind, False)):
            reply = self.new_client(token=token).get(f"/v1/jobs/{job}", include="payload").json
            self.assertEqual("payload" in reply, sees)
        scopes = {one["name"]: one["scopes"] for one in self.api.get("/v1/tokens").json["items"]}
        self.assertEqual(
            (scopes["old"], scopes["named"], scopes["blind"]),
            (["read", "payload"], ["read", "payload"], ["read"]),
        )


class CrossReading(TokensCase):
    """A token for the queues `a*` tries to read and to change the contents of `b-vault`. These
    contain the word HIDDEN, which no attempt uses. If an attempt does not use the queue's name
    either, no answer may contain it.
    """

    HIDDEN = "zq9hidden"
    VAULT = "b-vault"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls()
        harness.MillraceCase.setUp(case)
        cls.limited = case.make("submit", "work", "read", "operate", "admin", "payload", queues=["a*"], name="limited")
        cls.fill(case)
        case.doCleanups()

    @classmethod
    def fill(cls, case):
        hidden = cls.HIDDEN
        members = {
            "type": f"{hidden}.t",
            "queue": cls.VAULT,
            "payload": {"k": hidden},
            "tags": [hidden],
            "meta": {"m": hidden},
            "max_attempts": 3,
        }
        cls.jobs = {}
        case.submit(**members)
        failed = case.claim_one(queues=[cls.VAULT], worker=f"w-{hidden}")
        case.ack(
            failed,
            "failed",
            delay_ms=3_600_000,
            error={"type": hidden, "message": hidden},
            logs=[{"message": hidden}],
        )
        cls.jobs["retrying"] = failed["id"]
        case.submit(**members)
        done = case.claim_one(queues=[cls.VAULT], worker=f"w-{hidden}")
        case.finish(done, result=hidden)
        cls.jobs["succeeded"] = done["id"]
        case.submit(**members)
        cls.running = case.claim_one(queues=[cls.VAULT], worker=f"w-{hidden}", lease_ms=3_600_000)
        cls.jobs["running"] = cls.running["id"]
        cls.jobs["scheduled"] = case.submit(**members, delay_ms=3_600_000)["id"]
        cls.jobs["ready"] = case.submit(**members)["id"]
        cls.target = "b-target"
        case.api.put(
            f"/v1/push-targets/{cls.target}",
            {"url": f"https://{hidden}.example.com/x", "queues": [cls.VAULT], "paused": True},
        )
        cls.schedule = f"s-{hidden}"
        case.api.put(
            f"/v1/schedules/{cls.schedule}",
            {"every_ms": 3_600_000, "job": {"type": f"{hidden}.t", "queue": cls.VAULT}},
        )
        case.api.put(f"/v1/queues/{cls.VAULT}", {"max_attempts": 7})
        case.make("read", queues=[cls.VAULT], name=f"t-{hidden}")
        case.api.get("/v1/jobs", fresh="true")

    def setUp(self):
        super().setUp()
        self.spy = self.as_(self.limited)
        self.before = self.everything()
        self.addCleanup(lambda: self.assertEqual(self.everything(), self.before))

    def everything(self):
        """The contents of the vault, as its owner sees them."""
        jobs = {
            job: {k: v for k, v in self.job(job, include="payload,result,attempts,logs").items()}
            for job in self.jobs.values()
        }
        queue = self.api.get(f"/v1/queues/{self.VAULT}").json
        schedule = self.api.get(f"/v1/schedules/{self.schedule}").json
        return (
            jobs,
            queue["settings"],
            queue["counts"],
            queue["paused"],
            queue["version"],
            schedule["version"],
        )

    def attempt(self, attempts, statuses=None):
        """Makes attempts (method, path, body, query), at least twenty, none of which may see
        anything.
        """
        self.assertGreaterEqual(len(attempts), 20)
        for method, path, body, query in attempts:
            with self.subTest(f"{method} {path}", body=body, query=query):
                reply = self.spy.request(method, path, body, query=query)
                self.assertNotIn(self.HIDDEN.encode(), reply.body)
                said = f"{path} {body} {query}"
                if self.VAULT not in said:
                    self.assertNotIn(self.VAULT.encode(), reply.body)
                self.assertLess(reply.status, 500, reply)
                if statuses:
                    self.assertIn(reply.status, statuses, reply)

    def test_what_is_hidden_is_there(self):
        """The same questions, asked by somebody who may: else the attempts would prove nothing."""
        job = self.jobs["retrying"]
        for path, query in (
            (f"/v1/jobs/{job}", {"include": "payload"}),
            (f"/v1/jobs/{job}/attempts", {}),
            (f"/v1/jobs/{job}/logs", {}),
            (f"/v1/jobs/{job}/events", {}),
            ("/v1/jobs", {"queue": self.VAULT}),
            ("/v1/jobs", {"q": "payload.k~zq", "include": "payload"}),
            ("/v1/schedules", {"queue": self.VAULT}),
            (f"/v1/schedules/{self.schedule}", {}),
            ("/v1/events", {"queues": self.VAULT, "limit": 1000}),
            ("/v1/stats", {"by": "type"}),
            ("/v1/findings", {"alone_ms": 0, "silent_ms": 0, "poison_dead": 1, "limit": 100}),
            ("/v1/workers", {}),
            ("/v1/tokens", {}),
            ("/v1/push-targets", {}),
        ):
            reply = self.api.get(path, **query)
            self.assertIn(self.HIDDEN.encode(), reply.body, path)
        self.assertIn(self.VAULT.encode(), self.api.get("/v1/queues").body)

    def test_jobs_by_their_ids(self):
        attempts = []
        for job in self.jobs.values():
            attempts += [
                ("GET", f"/v1/jobs/{job}", None, None),
                ("GET", f"/v1/jobs/{job}", None, {"include": "payload,result,attempts,logs,events"}),
                ("GET", f"/v1/jobs/{job}", None, {"wait_ms": 5, "until": "final"}),
                ("HEAD", f"/v1/jobs/{job}", None, None),
                ("GET", f"/v1/jobs/{job}/why", None, None),
                ("PATCH", f"/v1/jobs/{job}", {"priority": 1}, None),
                ("PATCH", f"/v1/jobs/{job}", {"payload": 1}, {"include": "payload"}),
                ("DELETE", f"/v1/jobs/{job}", None, None),
                ("POST", f"/v1/jobs/{job}/cancel", {}, {"include": "payload"}),
                ("POST", f"/v1/jobs/{job}/retry", {}, {"include": "payload"}),
            ]
        self.attempt(attempts, (404,))

    def test_attempts_logs_and_events_of_jobs(self):
        attempts = [
            ("GET", f"/v1/jobs/{job}/{what}", None, query)
            for job in self.jobs.values()
            for what in ("attempts", "logs", "events")
            for query in (None, {"limit": 1}, {"limit": 1000, "fresh": "true"})
        ]
        self.attempt(attempts, (404, 422))

    def test_lists_and_searches(self):
        queries = [
            {},
            {"limit": 1000},
            {"queue": self.VAULT},
            {"include": "payload,result"},
            *({"state": state} for state in self.jobs),
            {"created_after": "2020-01-01T00:00:00Z"},
            {"q": f"queue:{self.VAULT}"},
            {"q": "queue:b*"},
            {"q": "queue:b-*"},
            {"q": "-queue:a*"},
            {"q": "queue:a*,b*"},
            {"q": "queue~vault"},
            {"q": "priority>=-32768"},
            {"q": "attempt>=0"},
            {"q": "-tag:nothing"},
            {"q": "worker:w*"},
            {"q": "type:z*"},
            {"q": "payload.k~zq"},
            {"q": "error~zq"},
            {"q": f"id:{self.jobs['ready']}"},
            {"q": f"id:{self.jobs['succeeded']}", "include": "result"},
            {"tag": "zq", "fresh": "true"},
        ]
        self.attempt([("GET", "/v1/jobs", None, query) for query in queries])
        for query in queries:
            reply = self.spy.get("/v1/jobs", **query)
            if reply.status == 200:
                self.assertEqual([job for job in reply.json["items"] if not job["queue"].startswith("a")], [])

    def test_submissions_and_batches(self):
        vault = {"type": "t", "queue": self.VAULT}
        attempts = [
            ("POST", "/v1/jobs", {**vault, **more}, query)
            for more, query in (
                ({}, None),
                ({"payload": 1}, {"include": "payload"}),
                ({"delay_ms": 1000}, None),
                ({"priority": -5}, None),
                ({"unique": {"key": "u"}}, None),
                ({"unique": {"key": "u", "on_conflict": "replace"}}, None),
                ({"tags": ["x"]}, None),
                ({"id": self.jobs["ready"]}, {"include": "payload"}),
                ({"id": self.jobs["succeeded"]}, {"include": "result"}),
                ({"id": self.jobs["retrying"]}, {"include": "attempts,logs"}),
            )
        ]
        for jobs in (
            [vault],
            [vault] * 3,
            [{"type": "t", "queue": "a-one"}, vault],
            [vault, {"type": "t", "queue": "a-one"}],
            [{**vault, "id": self.jobs["running"]}],
        ):
            attempts.append(("POST", "/v1/jobs/batch", {"jobs": jobs}, None))
            attempts.append(("POST", "/v1/jobs/batch", {"jobs": jobs, "atomic": True}, None))
        self.attempt(attempts, (200, 404, 409, 422))

    def test_an_id_of_the_vaults_in_a_queue_of_ones_own(self):
        attempts = [
            ("POST", "/v1/jobs", {"type": "t", "queue": queue, "id": job, **more}, query)
            for job in self.jobs.values()
            for queue in ("a-one", "a-two")
            for more, query in (({}, {"include": "payload,result"}), ({"payload": 1}, None))
        ]
        self.attempt(attempts)

    def test_a_job_of_the_same_id_opens_nobody_elses(self):
        """On several shards a client may give its job the id of a job that lies on another one."""
        for job in self.jobs.values():
            for number in range(4):
                self.spy.post("/v1/jobs", {"type": "t", "queue": f"a-{number}", "id": job})
        self.spy.get("/v1/jobs", fresh="true")
        attempts = []
        for job in self.jobs.values():
            attempts += [
                ("POST", "/v1/jobs/bulk", {"action": "retry", "ids": [job]}, None),
                ("POST", "/v1/jobs/bulk", {"action": "cancel", "ids": [job]}, None),
                ("POST", "/v1/jobs/bulk", {"action": "delete", "ids": [job]}, None),
                ("GET", f"/v1/jobs/{job}", None, {"include": "payload"}),
                ("PATCH", f"/v1/jobs/{job}", {"priority": 1}, None),
                ("POST", f"/v1/jobs/{job}/retry", {}, None),
                ("POST", f"/v1/jobs/{job}/cancel", {}, None),
                ("DELETE", f"/v1/jobs/{job}", None, None),
            ]
        self.attempt(attempts)

    def test_bulk(self):
        attempts = []
        for action in ("retry", "cancel", "delete", "reprioritize"):
            more = {"priority": 1} if action == "reprioritize" else {}
            for target in (
                {"ids": list(self.jobs.values())},
                {"filter": {"queue": self.VAULT}},
                {"filter": {"tag": "zq"}},
                {"filter": {"q": "queue:b*"}},
                {"filter": {"q": "payload.k~zq"}, "dry_run": True},
            ):
                attempts.append(("POST", "/v1/jobs/bulk", {"action": action, **target, **more}, None))
        self.attempt(attempts, (200, 404))
        for _, _, body, _ in attempts:
            outcome = self.spy.post("/v1/jobs/bulk", body)
            if outcome.status == 200:
                self.assertEqual(outcome.json["changed"], 0, body)

    def test_claims_and_polls(self):
        attempts = []
        for queues in (
            [self.VAULT],
            ["a-one", self.VAULT],
            [self.VAULT, "a-one"],
            ["b*"],
            ["*"],
            ["a*"],
            ["b-vault%00"],
        ):
            body = {"queues": queues, "limit": 10, "wait_ms": 0}
            attempts += [
                ("POST", "/v1/claim", {**body, "worker": {"id": "spy"}}, None),
                ("POST", "/v1/claim", {**body, "types": ["zq*"], "worker": {"id": "spy"}}, None),
                ("POST", "/v1/workers/spy/poll", {"claim": body}, None),
            ]
        self.attempt(attempts)

    def test_leases_of_the_vaults_workers(self):
        job, token = self.running["id"], self.running["lease"]["token"]
        attempts = []
        for guess in (token, token - 1, token + 1, 0):
            item = {"id": job, "token": guess}
            attempts += [
                ("POST", "/v1/heartbeat", {"items": [item]}, None),
                ("POST", "/v1/ack", {"items": [{**item, "outcome": "succeeded"}]}, None),
                ("POST", "/v1/workers/spy/poll", {"heartbeats": [item]}, None),
                ("POST", "/v1/workers/spy/poll", {"logs": [{**item, "message": "x"}]}, None),
                ("POST", f"/v1/jobs/{job}/complete", {"token": guess}, {"include": "payload"}),
                ("POST", f"/v1/jobs/{job}/release", {"token": guess}, {"include": "payload"}),
                ("POST", f"/v1/jobs/{job}/heartbeat", {"token": guess}, {"include": "payload"}),
            ]
        self.attempt(attempts)

    def test_queues(self):
        vault = f"/v1/queues/{self.VAULT}"
        attempts = [
            ("GET", "/v1/queues", None, None),
            ("GET", "/v1/queues", None, {"limit": 1}),
            ("GET", "/v1/queues", None, {"limit": 1000}),
            ("GET", "/v1/queues", None, {"fresh": "true"}),
            ("GET", vault, None, None),
            ("HEAD", vault, None, None),
            ("PUT", vault, {}, None),
            ("PUT", vault, {"max_attempts": 2}, None),
            ("PATCH", vault, {"max_attempts": 2}, None),
            ("PATCH", vault, {"max_attempts": 2}, {"create": "true"}),
            ("POST", f"{vault}/pause", {}, None),
            ("POST", f"{vault}/pause", {"reason": "x"}, None),
            ("POST", f"{vault}/resume", None, None),
            ("POST", f"{vault}/purge", {}, None),
            ("POST", f"{vault}/purge", {"states": ["succeeded"]}, None),
            ("DELETE", vault, None, None),
            ("DELETE", vault, None, {"force": "true"}),
            ("GET", "/v1/queues/b%2Dvault", None, None),
            ("GET", "/v1/queues/b*", None, None),
            ("GET", "/v1/queues/*", None, None),
        ]
        self.attempt(attempts)

    def test_schedules(self):
        one = f"/v1/schedules/{self.schedule}"
        spec = {"every_ms": 3_600_000, "job": {"type": "t", "queue": "a-one"}}
        stolen = {"every_ms": 3_600_000, "job": {"type": "t", "queue": self.VAULT}}
        attempts = [
            ("GET", "/v1/schedules", None, None),
            ("GET", "/v1/schedules", None, {"limit": 1}),
            ("GET", "/v1/schedules", None, {"queue": self.VAULT}),
            ("GET", "/v1/schedules", None, {"managed_by": ""}),
            ("GET", one, None, None),
            ("HEAD", one, None, None),
            ("PUT", one, spec, None),
            ("PUT", one, stolen, None),
            ("PUT", "/v1/schedules/spys", stolen, None),
            ("DELETE", one, None, None),
            ("POST", f"{one}/pause", {}, None),
            ("POST", f"{one}/resume", None, None),
            ("POST", f"{one}/trigger", {}, None),
            ("POST", f"{one}/backfill", {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}, None),
            ("GET", f"{one}/runs", None, None),
            ("PUT", "/v1/schedules", {"managed_by": "spy", "schedules": {"spys": stolen}}, None),
            ("PUT", "/v1/schedules", {"managed_by": "spy", "schedules": {}, "prune": True}, None),
            ("PUT", "/v1/schedules", {"managed_by": "spy", "schedules": {self.schedule: spec}}, None),
            (
                "PUT",
                "/v1/schedules",
                {"managed_by": "spy", "schedules": {self.schedule: spec}, "force": True},
                None,
            ),
            (
                "PUT",
                "/v1/schedules",
                {"managed_by": "spy", "schedules": {self.schedule: spec}, "dry_run": True},
                None,
            ),
        ]
        # Its name is hidden, but an attempt that uses the name may see it in the answer.
        for method, path, body, query in attempts:
            with self.subTest(f"{method} {path}", body=body, query=query):
                reply = self.spy.request(method, path, body, query=query)
                said = f"{path} {body} {query}"
                self.assertNotIn(f"{self.HIDDEN}.t".encode(), reply.body)
                if self.HIDDEN not in said:
                    self.assertNotIn(self.HIDDEN.encode(), reply.body)
                if self.VAULT not in said:
                    self.assertNotIn(self.VAULT.encode(), reply.body)
                if path.startswith(one) or stolen is body:
                    self.assertIn(reply.status, (404, 409), reply)
        self.assertGreaterEqual(len(attempts), 20)

    def test_events(self):
        types = ["job.submitted", "job.started", "job.succeeded", "job.retrying", "queue.updated"]
        queries = [
            {},
            {"limit": 1000},
            {"limit": 1},
            {"queues": self.VAULT},
            {"queues": f"a-one,{self.VAULT}"},
            {"queues": "b*"},
            {"queues": "*"},
            *({"types": one} for one in types),
            *({"types": one, "queues": self.VAULT} for one in types),
            {"types": ",".join(types), "limit": 1000},
            {"types": "schedule.updated"},
            {"types": "schedule.updated", "queues": self.VAULT},
        ]
        self.attempt([("GET", "/v1/events", None, query) for query in queries])

    def test_statistics(self):
        queries = [
            {"by": by, "window_ms": window, "step_ms": step}
            for by in ("queue", "type", "queue,type")
            for window, step in ((60_000, 1000), (60_000, 60_000), (3_600_000, 60_000), (600_000, 10_000))
        ]
        queries += [{}, {"by": "queue"}, {"by": "type"}, {"by": "queue", "queue": self.VAULT}]
        queries += [{"queue": self.VAULT}, {"queue": "b*"}, {"type": "zq"}, {"window_ms": 60_000}]
        self.attempt([("GET", "/v1/stats", None, query) for query in queries])

    def test_findings(self):
        late = {"late_ms": 0, "alone_ms": 0, "silent_ms": 0, "stuck_ms": 0, "poison_dead": 1, "limit": 100}
        areas = ("queues", "workers", "limits", "errors", "schedules", "push_targets", "tokens", "node", "cluster")
        queries = [{**late, "about": area, "closely": closely} for area in areas for closely in ("true", "false")]
        queries += [{}, late, {"closely": "true"}, {**late, "closely": "true"}]
        self.attempt([("GET", "/v1/findings", None, query) for query in queries])

    def test_workers_and_tokens(self):
        worker = f"/v1/workers/w-{self.HIDDEN}"
        for path in (f"{worker}/quiet", f"{worker}/stop"):
            self.assert_refused(self.spy.post(path), 403, "forbidden")
        tokens = {one["name"]: one["id"] for one in self.api.get("/v1/tokens").json["items"]}
        attempts = [
            ("GET", path, None, query)
            for path in ("/v1/workers", "/v1/tokens")
            for query in (None, {"limit": 1}, {"limit": 1000}, {"fresh": "true"})
        ]
        for name in ("admin", f"t-{self.HIDDEN}"):
            attempts += [
                ("GET", f"/v1/tokens/{tokens[name]}", None, None),
                ("HEAD", f"/v1/tokens/{tokens[name]}", None, None),
                ("DELETE", f"/v1/tokens/{tokens[name]}", None, None),
                ("POST", f"/v1/tokens/{tokens[name]}/rotate", {}, None),
            ]
        new = {"name": "spy2", "scopes": ["read"]}
        attempts += [
            ("POST", "/v1/tokens", {**new, **more}, None)
            for more in ({}, {"queues": [self.VAULT]}, {"queues": ["*"]}, {"queues": ["a*", "b*"]})
        ]
        self.attempt(attempts)
        made = [one["name"] for one in self.api.get("/v1/tokens").json["items"]]
        self.assertNotIn("spy2", made)

    def test_push_targets(self):
        one = f"/v1/push-targets/{self.target}"
        own = {"url": "https://spy.example.com/", "queues": ["a-one"], "paused": True}
        stolen = {**own, "queues": [self.VAULT]}
        attempts = [
            ("GET", "/v1/push-targets", None, None),
            ("GET", "/v1/push-targets", None, {"limit": 1}),
            ("GET", "/v1/push-targets", None, {"limit": 1000}),
            ("GET", "/v1/push-targets", None, {"fresh": "true"}),
            ("GET", one, None, None),
            ("HEAD", one, None, None),
            ("PUT", one, own, None),
            ("PUT", one, stolen, None),
            ("PUT", one, {**own, "queues": ["a-one", self.VAULT]}, None),
            ("PUT", "/v1/push-targets/spys", stolen, None),
            ("PUT", "/v1/push-targets/spys", {**own, "queues": ["a-one", self.VAULT]}, None),
            ("PUT", "/v1/push-targets/spys", {**own, "queues": ["b*"]}, None),
            ("PUT", "/v1/push-targets/spys", {**own, "queues": ["*"]}, None),
            ("PUT", "/v1/push-targets/spys", {**own, "queues": []}, None),
            ("DELETE", one, None, None),
            ("POST", f"{one}/pause", {}, None),
            ("POST", f"{one}/pause", {"reason": "x"}, None),
            ("POST", f"{one}/resume", None, None),
            ("POST", f"{one}/test", None, None),
            ("POST", f"{one}/test", {}, None),
        ]
        before = self.api.get(one).json
        self.attempt(attempts, (200, 403, 404, 422))
        self.assertEqual(self.api.get(one).json, before)
        self.assertEqual(self.api.get("/v1/push-targets/spys").status, 404)

    def test_what_is_of_all_queues(self):
        attempts = [
            ("GET", "/metrics", None, None),
            ("POST", "/v1/admin/backup", {"path": "/tmp/millrace-copy"}, None),
            ("POST", "/v1/admin/nodes/1234567890abcdef/drain", None, None),
            ("POST", "/v1/admin/nodes/1234567890abcdef/undrain", None, None),
            ("GET", "/v1/limits", None, None),
            ("GET", "/v1/limits/any", None, None),
            ("PUT", "/v1/limits/any", {"concurrency": 1}, None),
            ("PATCH", "/v1/limits/any", {"concurrency": 1}, None),
            ("DELETE", "/v1/limits/any", None, None),
            ("POST", "/v1/limits/any/pause", {}, None),
            ("POST", "/v1/limits/any/resume", None, None),
            ("GET", "/v1/limits/any/keys", None, None),
            ("GET", "/v1/limits/any/holders", None, None),
        ] * 2
        self.attempt(attempts, (403,))


class Throttle(TokensCase):
    @classmethod
    def settings(cls):
        return "[limits]\nfailed_logins = 30\n"

    def guess(self, token, times=1):
        client = self.new_client(token=token)
        return [client.get("/v1/meta") for _ in range(times)]

    def test_who_keeps_failing_is_slowed_and_a_good_token_is_not(self):
        made = self.make("read")
        wrong = new_token("--name", "x", "--scope", "read")[0]
        replies = self.guess(wrong, 40)
        self.assertEqual([r.status for r in replies[:20]], [401] * 20)
        self.assertIn(429, [r.status for r in replies[30:]])
        slowed = next(r for r in replies if r.status == 429)
        self.assertEqual(slowed.code, "rate_limited")
        self.assertLessEqual(int(slowed.headers["retry-after"]), 2)
        # All from the same address:
        self.assertEqual(self.api.get("/v1/meta").status, 200)
        self.assertEqual(self.as_(made).get("/v1/meta").status, 200)
        self.assertEqual(self.api.get("/livez").status, 200)
        time.sleep(2.1)
        self.assertEqual(self.guess(wrong)[0].status, 401, "heard again")

    def test_secrets_of_one_token_are_tried_less_often(self):
        made, other = self.make("read"), self.make("read")
        self.assertEqual(self.as_(made).get("/v1/meta").status, 200)
        rotated = self.api.post(f"/v1/tokens/{other['id']}/rotate", {"grace_ms": 0}).json
        statuses = [r.status for r in self.guess(other["token"], 6)]
        self.assertEqual(statuses[:3], [401] * 3)
        self.assertEqual(statuses[3:], [429] * 3)
        # For a while not even the right token is checked from here, if it was never used here.
        self.assertEqual(self.as_(rotated).get("/v1/meta").status, 429)
        self.assertEqual(self.as_(made).get("/v1/meta").status, 200)


class WithoutTheStore(harness.MillraceCase):
    """The database is away, so tokens made at run time can't be looked up."""

    patience_s = 0

    def test_after_a_while_it_is_not_known_what_was_revoked(self):
        admin, lines = configured("admin")
        cluster = postgres.Cluster()
        self.addCleanup(cluster.close)
        alone = nodes.Nodes(1, cluster=cluster, config=lines, token=admin)
        self.addCleanup(alone.close)
        alone.start()
        self.use(alone[0])
        made = self.api.post("/v1/tokens", {"name": "made", "scopes": ["read"]}).json
        client = self.new_client(token=made["token"])
        foreign = self.new_client(token=new_token("--name", "x", "--scope", "read")[0])
        self.assertEqual(client.get("/v1/meta").status, 200)
        self.assertEqual(foreign.get("/v1/meta").status, 401)
        stopping = time.monotonic()
        cluster.stop()
        self.assertEqual(client.get("/v1/meta").status, 200, "what was heard is good for a while")
        harness.eventually(lambda: client.get("/v1/meta").status == 503, 60, 0.1)
        self.assertGreater(time.monotonic() - stopping, 5)
        self.assert_refused(client.get("/v1/meta"), 503, "storage_unavailable")
        self.assert_refused(foreign.get("/v1/meta"), 503, "storage_unavailable")
        self.assertEqual(self.new_client(token="nonsense").get("/v1/meta").status, 401)
        self.assertEqual(self.api.get("/v1/meta").status, 200, "one of the configuration goes on")
        cluster.start()
        harness.eventually(lambda: client.get("/v1/meta").status == 200, 60, 0.1)
        self.assertEqual(foreign.get("/v1/meta").status, 401)


class OnAllNodes(harness.MillraceCase):
    patience_s = harness.PATIENCE_S

    @classmethod
    def setUpClass(cls):
        cls.admin, lines = configured("admin")
        cls.nodes = nodes.Nodes(3, config=lines, token=cls.admin)
        cls.addClassCleanup(cls.nodes.close)
        cls.nodes.start()
        cls.queues = cls.nodes.queue_on_each_shard()

    def test_made_is_known_and_revoked_is_gone_on_all_nodes(self):
        queues = list(self.queues.values())
        for number, server in enumerate(self.nodes.servers):
            with self.subTest(node=number):
                api = self.new_client(server)
                reply = api.post("/v1/tokens", {"name": f"on-{number}", "scopes": ["read", "submit", "work"]})
                self.assertEqual(reply.status, 201, reply)
                made = reply.json
                clients = [self.new_client(s, made["token"]) for s in self.nodes.servers]
                # At once, on each node, and for a job on each shard, whichever node leads it.
                for client in clients:
                    for queue in queues:
                        sent = client.post("/v1/jobs", {"type": "t", "queue": queue})
                        self.assertEqual(sent.status, 201, sent)
                self.assertEqual(api.delete(f"/v1/tokens/{made['id']}").status, 204)
                for client in clients:
                    self.assert_refused(client.get("/v1/meta"), 401, "unauthenticated")

    def test_it_is_revoked_when_that_is_answered_whoever_is_asked(self):
        api = self.new_client(self.nodes[0])
        made = api.post("/v1/tokens", {"name": "watched", "scopes": ["read"]}).json
        taken = {}  # by node: when the latest successful request was sent

        def watch(number):
            client = self.new_client(self.nodes[number], made["token"])
            sent = time.monotonic()
            while client.get("/v1/meta").status == 200:
                taken[number] = sent
                time.sleep(0.01)
                sent = time.monotonic()

        threads = [threading.Thread(target=watch, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        harness.eventually(lambda: len(taken) == 3, what="service by all")
        self.assertEqual(api.delete(f"/v1/tokens/{made['id']}").status, 204)
        revoked = time.monotonic()
        for thread in threads:
            thread.join(60)
            self.assertFalse(thread.is_alive())
        self.assertLessEqual(max(taken.values()), revoked)

    def test_a_rotated_secret_is_good_on_all_nodes(self):
        made = self.new_client(self.nodes[1]).post("/v1/tokens", {"name": "turned", "scopes": ["read"]}).json
        rotated = self.new_client(self.nodes[2]).post(f"/v1/tokens/{made['id']}/rotate", {}).json
        for server in self.nodes.servers:
            for token in (made["token"], rotated["token"]):
                self.assertEqual(self.new_client(server, token).get("/v1/meta").status, 200)


if __name__ == "__main__":
    harness.main()
