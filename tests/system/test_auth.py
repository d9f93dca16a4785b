"""Tests of tokens: their permissions by scope and queue, and the refusals of other requests."""

import re
import threading
import time

import harness

# The scope that each route needs; None means none. `{q}` is a queue, `{j}` a job of it.
ROUTES = [
    ("GET", "/livez", None),
    ("GET", "/readyz", None),
    ("GET", "/v1/session", None),
    ("POST", "/v1/session", None),
    ("DELETE", "/v1/session", None),
    ("GET", "/metrics", "read"),
    ("GET", "/v1/meta", "read"),
    ("GET", "/v1/openapi.json", "read"),
    ("POST", "/v1/admin/backup", "admin"),
    ("GET", "/v1/admin/audit", "admin"),
    ("GET", "/v1/tokens", "admin"),
    ("POST", "/v1/tokens", "admin"),
    ("GET", "/v1/tokens/{q}", "admin"),
    ("DELETE", "/v1/tokens/{q}", "admin"),
    ("POST", "/v1/tokens/{q}/rotate", "admin"),
    ("POST", "/v1/jobs", "submit"),
    ("POST", "/v1/jobs/batch", "submit"),
    ("POST", "/v1/jobs/bulk", "operate"),
    ("GET", "/v1/jobs", "read"),
    ("GET", "/v1/jobs/{j}", "read"),
    ("PATCH", "/v1/jobs/{j}", "operate"),
    ("DELETE", "/v1/jobs/{j}", "operate"),
    ("POST", "/v1/jobs/{j}/cancel", "operate"),
    ("POST", "/v1/jobs/{j}/retry", "operate"),
    ("GET", "/v1/jobs/{j}/attempts", "read"),
    ("GET", "/v1/jobs/{j}/logs", "read"),
    ("GET", "/v1/jobs/{j}/events", "read"),
    ("POST", "/v1/jobs/{j}/complete", "work"),
    ("POST", "/v1/jobs/{j}/fail", "work"),
    ("POST", "/v1/jobs/{j}/snooze", "work"),
    ("POST", "/v1/jobs/{j}/release", "work"),
    ("POST", "/v1/jobs/{j}/heartbeat", "work"),
    ("POST", "/v1/claim", "work"),
    ("POST", "/v1/heartbeat", "work"),
    ("POST", "/v1/ack", "work"),
    ("POST", "/v1/workers/w/poll", "work"),
    ("GET", "/v1/workers", "read"),
    ("POST", "/v1/workers/w/quiet", "operate"),
    ("POST", "/v1/workers/w/stop", "operate"),
    ("GET", "/v1/queues", "read"),
    ("GET", "/v1/queues/{q}/scale", "read"),
    ("GET", "/v1/queues/{q}/shares", "read"),
    ("GET", "/v1/queues/{q}", "read"),
    ("PUT", "/v1/queues/{q}", "operate"),
    ("PATCH", "/v1/queues/{q}", "operate"),
    ("DELETE", "/v1/queues/{q}", "operate"),
    ("POST", "/v1/queues/{q}/pause", "operate"),
    ("POST", "/v1/queues/{q}/resume", "operate"),
    ("POST", "/v1/queues/{q}/purge", "operate"),
    ("GET", "/v1/schedules", "read"),
    ("PUT", "/v1/schedules", "operate"),
    ("POST", "/v1/schedules/preview", "read"),
    ("GET", "/v1/schedules/{q}", "read"),
    ("PUT", "/v1/schedules/{q}", "operate"),
    ("DELETE", "/v1/schedules/{q}", "operate"),
    ("POST", "/v1/schedules/{q}/pause", "operate"),
    ("POST", "/v1/schedules/{q}/resume", "operate"),
    ("POST", "/v1/schedules/{q}/trigger", "operate"),
    ("POST", "/v1/schedules/{q}/backfill", "operate"),
    ("GET", "/v1/schedules/{q}/runs", "read"),
    ("GET", "/v1/push-targets", "read"),
    ("GET", "/v1/push-targets/{q}", "read"),
    ("PUT", "/v1/push-targets/{q}", "admin"),
    ("DELETE", "/v1/push-targets/{q}", "admin"),
    ("POST", "/v1/push-targets/{q}/pause", "operate"),
    ("POST", "/v1/push-targets/{q}/resume", "operate"),
    ("POST", "/v1/push-targets/{q}/test", "operate"),
    ("GET", "/v1/jobs/{j}/why", "read"),
    ("GET", "/v1/limits", "read"),
    ("GET", "/v1/limits/{q}", "read"),
    ("PUT", "/v1/limits/{q}", "operate"),
    ("PATCH", "/v1/limits/{q}", "operate"),
    ("DELETE", "/v1/limits/{q}", "operate"),
    ("POST", "/v1/limits/{q}/pause", "operate"),
    ("POST", "/v1/limits/{q}/resume", "operate"),
    ("GET", "/v1/limits/{q}/keys", "read"),
    ("GET", "/v1/limits/{q}/holders", "read"),
    ("GET", "/v1/types", "read"),
    ("GET", "/v1/types/{q}", "read"),
    ("PUT", "/v1/types/{q}", "operate"),
    ("DELETE", "/v1/types/{q}", "operate"),
    ("GET", "/v1/admin/config", "admin"),
    ("GET", "/v1/admin/nodes", "admin"),
    ("GET", "/v1/admin/diagnosis", "admin"),
    ("POST", "/v1/admin/nodes/1234567890abcdef/drain", "admin"),
    ("POST", "/v1/admin/nodes/1234567890abcdef/undrain", "admin"),
    ("POST", "/v1/admin/reproject", "admin"),
    ("GET", "/v1/stats", "read"),
    ("GET", "/v1/findings", "read"),
    ("GET", "/v1/operations", "read"),
    ("GET", "/v1/operations/{j}", "read"),
    ("PATCH", "/v1/operations/{j}", "operate"),
    ("POST", "/v1/operations/{j}/pause", "operate"),
    ("POST", "/v1/operations/{j}/resume", "operate"),
    ("POST", "/v1/operations/{j}/cancel", "operate"),
    ("GET", "/v1/error-groups", "read"),
    ("GET", "/v1/error-groups/{q}", "read"),
    ("PATCH", "/v1/error-groups/{q}", "operate"),
    ("POST", "/v1/error-groups/{q}/retry", "operate"),
    ("POST", "/v1/error-groups/{q}/delete", "operate"),
    ("GET", "/v1/events", "read"),
    ("GET", "/v1/workflows", "read"),
    ("POST", "/v1/workflows", "submit"),
    ("GET", "/v1/workflows/{j}", "read"),
    ("DELETE", "/v1/workflows/{j}", "operate"),
    ("GET", "/v1/workflows/{j}/members", "read"),
    ("POST", "/v1/workflows/{j}/members", "submit"),
    ("GET", "/v1/workflows/{j}/members/{q}", "read"),
    ("POST", "/v1/workflows/{j}/members/{q}/skip", "operate"),
    ("GET", "/v1/workflows/{j}/graph", "read"),
    ("GET", "/v1/workflows/{j}/why", "read"),
    ("POST", "/v1/workflows/{j}/close", "submit"),
    ("POST", "/v1/workflows/{j}/cancel", "operate"),
    ("POST", "/v1/workflows/{j}/retry", "operate"),
]
SCOPES = ("submit", "work", "read", "operate", "admin")


def new_token(*args):
    """(token, the lines for the configuration file), as `millrace token new` makes them."""
    made = harness.run("token", "new", *args)
    assert made.returncode == 0, made
    token = re.search(r"\bmlr_\w+", made.stdout)[0]
    lines = made.stdout[made.stdout.index("[[tokens]]") :].splitlines()
    block = [line for line in lines if line.startswith("[[tokens]]") or re.match(r"\s*\w+ *= ", line)]
    return token, "\n".join(block) + "\n"


class Tokens(harness.MillraceCase):
    @classmethod
    def setUpClass(cls):
        cls.tokens, blocks = {}, []
        wanted = {scope: ["--scope", scope] for scope in SCOPES}
        every = [word for scope in SCOPES for word in ("--scope", scope)]
        wanted["all"] = every
        wanted["mail"] = [*every, "--queue", "mail.*", "--queue", "sms"]
        wanted["inner"] = [*every, "--queue", "mail.eu.*"]
        wanted["other"] = [*every, "--queue", "other.*", "--queue", "sms"]
        for name, args in wanted.items():
            cls.tokens[name], block = new_token("--name", name, *args)
            blocks.append(block)
        cls.tokens["stale"], block = new_token("--name", "stale", "--scope", "read")
        blocks.append(re.sub(r"(?m)^\s*expires_at.*\n", "", block) + 'expires_at = "2020-01-01T00:00:00Z"\n')
        cls.tokens["foreign"], _ = new_token("--name", "foreign", "--scope", "read")
        cls.server = harness.Server("--log-level", "debug", config="".join(blocks), token=cls.tokens["all"])
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def as_(self, name):
        return self.new_client(token=self.tokens[name])

    def test_every_route_against_every_scope(self):
        job = self.submit(delay_ms=3_600_000)["id"]
        for method, template, needed in ROUTES:
            path = template.format(q=self.queue, j=job)
            for scope in SCOPES:
                with self.subTest(route=f"{method} {template}", scope=scope):
                    # Refused after the scope was looked at, so nothing is changed on the way.
                    body = None if method == "GET" else {"nothing": "of the kind"}
                    reply = self.as_(scope).request(method, path, body)
                    if needed in (None, scope):
                        self.assertNotIn(reply.status, (401, 403), reply)
                    else:
                        self.assert_refused(reply, 403, "forbidden")
                        self.assertEqual(self.state(job), "scheduled")
                if method == "DELETE" and reply.status == 204:
                    job = self.submit(delay_ms=3_600_000)["id"]
                    path = template.format(q=self.queue, j=job)

    def test_the_table_has_every_route(self):
        described = {(method, re.sub(r"\{\w+\}", "*", path)) for method, path, _ in self.api.contract().operations()}
        here = {(method, re.sub(r"\{\w+\}|(?<=workers/)w|(?<=nodes/)\w+", "*", path)) for method, path, _ in ROUTES}
        self.assertEqual(here, described)

    def test_the_description_says_the_same(self):
        for method, path, operation in self.api.contract().operations():
            scopes = [scope for one in operation["security"] for scope in one.get("bearer", [])]
            needed = [
                scope
                for m, template, scope in ROUTES
                if m == method
                and re.sub(r"\{\w\}|/w/", "", template) == re.sub(r"\{\w+\}", "", path).replace("workers//", "workers")
            ]
            if needed:
                self.assertEqual(scopes, [needed[0]] if needed[0] else [], (method, path))

    def test_without_a_good_token_nothing(self):
        good = self.tokens["read"]
        wrong = [
            None,
            "",
            "Bearer",
            "Bearer ",
            good,
            f"Basic {good}",
            f"Bearer {good}x",
            f"Bearer {good[:-1]}",
            f"Bearer  {good} {good}",
            f"Bearer {self.tokens['foreign']}",
            f"Bearer {self.tokens['stale']}",
            "Bearer mlr_a_b_c",
            "Bearer " + "x" * 4000,
            "Bearer caf\u00e9",
            f"Bearer {good.swapcase()}",
        ]
        details = set()
        for value in wrong:
            with self.subTest(value=value):
                headers = {"Authorization": value.encode() if value is not None else None}
                for path in ("/v1/meta", "/v1/queues/nowhere", "/metrics"):
                    reply = self.api.get(path, headers=headers)
                    self.assert_refused(reply, 401, "unauthenticated")
                    self.assertIn("bearer", reply.headers.get("www-authenticate", "").lower())
                details.add(reply.json["detail"])
                self.assertEqual(self.api.get("/livez", headers=headers).status, 200)
                self.assertEqual(self.api.get("/readyz", headers=headers).status, 200)
        self.assertLessEqual(len(details), 2, "an unknown id and a wrong secret look alike")

    def test_the_scheme_is_read_in_any_case(self):
        reply = self.api.get("/v1/meta", headers={"Authorization": f"bearer {self.tokens['read']}"})
        self.assertEqual(reply.status, 200)

    def test_a_queue_outside_the_globs_is_not_there(self):
        mail = self.as_("mail")
        self.api.put("/v1/queues/secret")
        self.api.put("/v1/queues/mail.eu")
        self.assertEqual(mail.get("/v1/queues/mail.eu").status, 200)
        for method, path, body in (
            ("GET", "/v1/queues/secret", None),
            ("PUT", "/v1/queues/secret", {}),
            ("PUT", "/v1/queues/brand-new", {}),
            ("POST", "/v1/queues/secret/pause", None),
            ("DELETE", "/v1/queues/secret", None),
            ("POST", "/v1/queues/secret/purge", None),
            ("GET", "/v1/queues/mailx", None),
            ("POST", "/v1/jobs", {"type": "t", "queue": "secret"}),
            (
                "POST",
                "/v1/claim",
                {"queues": ["mail.eu", "secret"], "limit": 1, "wait_ms": 0, "worker": {"id": "w"}},
            ),
        ):
            with self.subTest(path=path):
                self.assert_refused(mail.request(method, path, body), 404, "not_found")
        self.assertEqual(self.api.get("/v1/queues/brand-new").status, 404)
        self.assertEqual(self.counts("secret"), {})
        self.assertFalse(self.api.get("/v1/queues/secret").json["paused"])

    def test_nor_are_its_jobs(self):
        mail = self.as_("mail")
        hidden = self.submit(queue="secret2")["id"]
        self.api.post("/v1/jobs", {"type": "t", "queue": "mail.us"})
        for method, path, body in (
            ("GET", f"/v1/jobs/{hidden}", None),
            ("DELETE", f"/v1/jobs/{hidden}", None),
            ("PATCH", f"/v1/jobs/{hidden}", {"priority": 1}),
            ("POST", f"/v1/jobs/{hidden}/cancel", None),
            ("GET", f"/v1/jobs/{hidden}/events", None),
        ):
            with self.subTest(method=method, path=path):
                self.assert_refused(mail.request(method, path, body), 404, "not_found")
        listed = mail.get("/v1/jobs", fresh="true", limit=1000).json["items"]
        self.assertIn("mail.us", {job["queue"] for job in listed})
        self.assertTrue(all(re.match(r"mail\.|sms$", job["queue"]) for job in listed), listed)
        self.assertEqual(
            (
                mail.get("/v1/jobs", queue="secret2", fresh="true").json["items"]
                if mail.get("/v1/jobs", queue="secret2").status == 200
                else []
            ),
            [],
        )
        queues = mail.get("/v1/queues").json["items"]
        self.assertTrue(all(re.match(r"mail\.|sms$", queue["name"]) for queue in queues), queues)
        events = mail.get("/v1/events", limit=1000).json["items"]
        self.assertEqual([e for e in events if e["queue"] == "secret2"], [])
        bulk = mail.post("/v1/jobs/bulk", {"action": "delete", "filter": {"state": ["ready"]}})
        self.assertEqual(bulk.status, 200, bulk)
        bulk = mail.post("/v1/jobs/bulk", {"action": "delete", "ids": [hidden]}).json
        self.assertEqual(bulk["results"][0]["status"], 404)
        self.assertEqual(self.state(hidden), "ready")

    def test_a_batch_with_a_foreign_queue(self):
        mail = self.as_("mail")
        results = mail.post(
            "/v1/jobs/batch",
            {"jobs": [{"type": "t", "queue": "sms"}, {"type": "t", "queue": "secret3"}]},
        )
        if results.status == 200:
            self.assertEqual([result["status"] for result in results.json["results"]], [201, 404])
        else:
            self.assert_refused(results, 404, "not_found")
        self.assertEqual(self.api.get("/v1/queues/secret3").status, 404)

    def test_nor_can_a_worker_reach_out_of_its_queues(self):
        mail = self.as_("mail")
        self.submit(queue="secret4")
        foreign = self.claim_one(queues=["secret4"])
        item = {"id": foreign["id"], "token": foreign["lease"]["token"]}
        ack = mail.post("/v1/ack", {"items": [{**item, "outcome": "succeeded"}]}).json["results"][0]
        beat = mail.post("/v1/heartbeat", {"items": [item]}).json["results"][0]
        self.assertNotEqual(ack["status"], 200)
        self.assertNotEqual(beat["status"], 200)
        self.assertEqual(self.state(foreign["id"]), "running")
        self.api.post("/v1/jobs", {"type": "t", "queue": "mail.out"})
        own = mail.post("/v1/claim", {"queues": ["mail.out"], "limit": 1, "wait_ms": 0, "worker": {"id": "m"}}).json[
            "jobs"
        ][0]
        mail.post(
            "/v1/ack",
            {
                "items": [
                    {
                        "id": own["id"],
                        "token": own["lease"]["token"],
                        "outcome": "succeeded",
                        "enqueue": [{"type": "t", "queue": "secret5"}],
                    }
                ]
            },
        )
        self.assertEqual(self.api.get("/v1/queues/secret5").status, 404)

    def test_tokens_are_listed_without_secrets(self):
        reply = self.as_("admin").get("/v1/tokens")
        tokens = {token["name"]: token for token in reply.json["items"]}
        self.assertEqual((tokens["mail"]["queues"], tokens["all"]["queues"]), (["mail.*", "sms"], None))
        self.assertEqual(tokens["stale"]["expires_at"], "2020-01-01T00:00:00.000Z")
        self.assertNotIn(b"sha256", reply.body)
        self.assertNotIn(b"mlr_", reply.body)
        refused = self.as_("admin").request("DELETE", "/v1/tokens")
        self.assert_refused(refused, 405, "method_not_allowed")
        self.assertIn("GET", refused.headers["allow"])

    def test_a_limited_token_sees_the_tokens_within_its_reach(self):
        names = {token["name"] for token in self.as_("mail").get("/v1/tokens").json["items"]}
        self.assertEqual(names, {"mail", "inner"})
        names = {token["name"] for token in self.as_("inner").get("/v1/tokens").json["items"]}
        self.assertEqual(names, {"inner"})

    def test_an_ack_submits_with_the_scope_for_it_alone(self):
        worker, queue = self.as_("work"), f"{self.queue}-next"
        enqueue = [{"type": "t", "queue": queue}]
        for method in ("ack", "poll", "complete", "release"):
            with self.subTest(method=method):
                self.submit()
                job = self.claim_one(api=worker)
                token = {"token": job["lease"]["token"]}
                item = {**token, "id": job["id"], "outcome": "succeeded", "enqueue": enqueue}
                if method in ("ack", "poll"):
                    path, body = ("/v1/ack", {"items": [item]})
                    if method == "poll":
                        path, body = "/v1/workers/w/poll", {"acks": [item]}
                    answer = worker.post(path, body).json
                    result = answer.get("results", answer.get("acks"))[0]
                    self.assertEqual((result["status"], result["error"]["code"]), (403, "forbidden"))
                    self.assertIn("submit", result["error"]["detail"])
                else:
                    reply = worker.post(f"/v1/jobs/{job['id']}/{method}", {**token, "enqueue": enqueue})
                    self.assert_refused(reply, 403, "forbidden")
                self.assertEqual(self.state(job["id"]), "running")
                del item["enqueue"]
                done = worker.post("/v1/ack", {"items": [item]}).json["results"][0]
                self.assertEqual(done["status"], 200)
        self.assertEqual(self.api.get(f"/v1/queues/{queue}").status, 404)

    def test_no_token_is_in_the_log(self):
        self.as_("read").get("/v1/meta")
        for token in self.tokens.values():
            self.assertNotIn(token.split("_")[2], self.server.log)


class Workers(harness.MillraceCase):
    """Two tokens that are limited to queues, and one that is not, whose workers have the same id."""

    def setUp(self):
        super().setUp()
        every = [word for scope in SCOPES for word in ("--scope", scope)]
        self.tokens, blocks = {}, []
        for name, args in (
            ("all", []),
            ("north", ["--queue", "north.*", "--queue", "both"]),
            ("south", ["--queue", "south.*", "--queue", "both"]),
        ):
            self.tokens[name], block = new_token("--name", name, *every, *args)
            blocks.append(block)
        self.server = self.new_server(config="".join(blocks), token=self.tokens["all"]).start()
        self.use(self.server)
        self.clients = {name: self.new_client(token=token) for name, token in self.tokens.items()}

    def poll(self, name, **members):
        reply = self.clients[name].post("/v1/workers/w/poll", members)
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def claim_part(self, name, **members):
        return {"queues": [f"{name}.q", "both"], "worker": {"host": f"{name}-host"}, **members}

    def listed(self, name):
        return self.clients[name].get("/v1/workers").json["items"]

    def full_name(self, name):
        return "w" if name == "all" else "w~" + self.tokens[name].split("_")[1]

    def test_equal_ids_are_different_workers(self):
        jobs = {}
        for name in self.tokens:
            self.submit(queue=f"{name}.q")
            (jobs[name],) = self.poll(name, claim=self.claim_part(name))["jobs"]
        for name in self.tokens:
            self.assertEqual(self.job(jobs[name]["id"])["worker"], self.full_name(name))
        self.assertEqual(
            {worker["id"]: worker["host"] for worker in self.listed("all")},
            {self.full_name(name): f"{name}-host" for name in self.tokens},
        )
        for name in ("north", "south"):
            mine = [w for w in self.listed(name) if w["id"] != "w"]
            self.assertEqual([(w["id"], w["host"]) for w in mine], [(self.full_name(name), f"{name}-host")])

        self.api.post(f"/v1/jobs/{jobs['south']['id']}/cancel")
        cancel = {
            "type": "cancel",
            "job_id": jobs["south"]["id"],
            "token": jobs["south"]["lease"]["token"],
        }
        self.assertEqual(self.poll("north")["commands"], [])
        self.assertEqual(self.poll("all")["commands"], [])
        self.assertEqual(self.poll("south")["commands"], [cancel])

        # Only the named worker is quiet.
        north = self.full_name("north")
        self.assertEqual(self.api.post(f"/v1/workers/{north}/quiet").json["id"], north)
        self.assertEqual(self.poll("north")["commands"], [{"type": "quiet"}])
        self.assertEqual(self.poll("south")["commands"], [])
        self.assertEqual(self.poll("all")["commands"], [])
        states = {worker["id"]: worker["state"] for worker in self.listed("all")}
        self.assertEqual(states, {self.full_name(n): "quiet" if n == "north" else "active" for n in self.tokens})
        # No worker can take another's name.
        for name in ("all", "south"):
            reply = self.clients[name].post(f"/v1/workers/{north}/poll", {})
            self.assert_refused(reply, 404, "not_found")
        body = {"queues": ["both"], "worker": {"id": north}}
        self.assert_refused(self.api.post("/v1/claim", body), 422, "validation_failed")

    def test_they_are_after_a_restart(self):
        jobs = {}
        for name in ("north", "south"):
            self.submit(queue=f"{name}.q")
            (jobs[name],) = self.poll(name, claim=self.claim_part(name))["jobs"]
        self.server.restart(kill=True)
        self.use(self.server)
        self.clients = {name: self.new_client(token=token) for name, token in self.tokens.items()}
        # Known by their leases and by their requests.
        self.assertEqual(
            sorted(worker["id"] for worker in self.listed("all")),
            sorted(self.full_name(name) for name in jobs),
        )
        self.poll("north")
        self.poll("south")
        self.api.post(f"/v1/jobs/{jobs['south']['id']}/cancel")
        self.assertEqual(self.poll("north")["commands"], [])
        self.assertEqual([c["job_id"] for c in self.poll("south")["commands"]], [jobs["south"]["id"]])

    def test_a_waiting_claim_is_its_own(self):
        took = []

        def wait():
            started = time.monotonic()
            self.poll("north", claim=self.claim_part("north", wait_ms=3000))
            took.append(time.monotonic() - started)

        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(0.2)
        self.poll("south", claim=self.claim_part("south"))
        self.api.post(f"/v1/workers/{self.full_name('south')}/stop")
        self.assertEqual(self.poll("south")["commands"], [{"type": "stop"}])
        waiting.join()
        self.assertGreater(took[0], 2)


class WithoutTokens(harness.MillraceCase):
    def test_loopback_is_served_and_the_log_says_so(self):
        server = self.new_server().start()
        self.use(server)
        self.assertEqual(self.api.get("/v1/meta").status, 200)
        self.assertRegex(server.log.lower(), "token|loopback")

    def test_a_token_is_not_taken_for_a_good_one(self):
        self.use(self.new_server().start())
        token, _ = new_token("--name", "any", "--scope", "read")
        client = self.new_client(token=token)
        for path in ("/v1/meta", "/v1/queues", "/metrics", "/v1/nothing"):
            reply = client.get(path)
            self.assert_refused(reply, 401, "unauthenticated")
            self.assertIn("no tokens are configured", reply.json["detail"])
        reply = client.post("/v1/jobs", {"type": "t"})
        self.assert_refused(reply, 401, "unauthenticated")
        for path in ("/livez", "/readyz"):
            self.assertEqual(client.get(path).status, 200)
        # A proxy's header about its own users is ignored.
        headers = {"Authorization": b"Basic YTpi"}
        self.assertEqual(self.api.get("/v1/meta", headers=headers).status, 200)

    def test_another_address_is_refused(self):
        server = self.new_server()
        for address in ("0.0.0.0", "[::]"):
            refused = harness.run("serve", "--listen", f"{address}:{server.port}", "--data", server.data)
            self.assertEqual(refused.returncode, 78, refused)
            self.assertIn("token", refused.stderr.lower())


if __name__ == "__main__":
    harness.main()
