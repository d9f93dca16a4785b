"""The query language of `q`, on lists and in bulk."""

import time

import harness


class Search(harness.ServerCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        filler = cls("test_names")  # a case only for its words
        filler.fill()
        filler.doCleanups()

    def fill(self):
        """Three queues of jobs; each job's `meta.name` says what it is."""
        self.use(self.server)
        self.queue = "mail"
        self.named(
            "welcome",
            type="email.welcome",
            tags=["vip"],
            payload={"user": {"id": 42, "name": "Ann"}},
        )
        self.named("receipt", type="email.receipt", payload={"user": {"id": 7}, "lines": [{"sku": "x1"}]})
        self.named(
            "sms",
            type="sms",
            tags=["vip", "eu"],
            priority=-5,
            payload={"big": 123456789012345678901234567890},
        )
        self.named(
            "later",
            type="email.later",
            delay_ms=3_600_000,
            payload={"flag": True, "none": None, "pi": 3.5},
        )
        self.queue = "batch"
        self.named("dead", type="report", max_attempts=1)
        self.finish(
            self.claim_one(worker="box7-1"),
            "failed",
            error={"type": "CardError", "message": 'Card declined: 50%_off "limit"'},
        )
        self.named("retrying", type="report")
        self.finish(
            self.claim_one(worker="box7-2"),
            "failed",
            delay_ms=3_600_000,
            error={"type": "Net", "message": "connection timeout"},
        )
        self.named("done", type="report")
        self.finish(self.claim_one(), result={"bytes": 2048})
        self.named("running", type="render")
        self.claim_one(worker="box9", lease_ms=600_000)

    def named(self, name, **members):
        return self.submit(meta={"name": name, "a.b": "dotted"}, **members)

    def assert_finds(self, q, *names):
        found = [job["meta"]["name"] for job in self.search(q)]
        self.assertEqual(sorted(found), sorted(names), q)

    def test_names(self):
        self.assert_finds("queue:mail", "welcome", "receipt", "sms", "later")
        self.assert_finds("queue:mail,batch type:sms,report", "sms", "dead", "retrying", "done")
        self.assert_finds("type:email.*", "welcome", "receipt", "later")
        self.assert_finds("type=email.*")
        self.assert_finds("type:email")
        self.assert_finds("tag:vip", "welcome", "sms")
        self.assert_finds("tag:vip tag:eu", "sms")
        self.assert_finds("tag:v*", "welcome", "sms")
        self.assert_finds("queue:nowhere")

    def test_states(self):
        self.assert_finds("state:dead,retrying", "dead", "retrying")
        self.assert_finds("state:running", "running")
        self.assert_finds("queue:batch -state:dead", "retrying", "done", "running")

    def test_errors(self):
        self.assert_finds("error~timeout", "retrying")
        self.assert_finds("error~TIMEOUT", "retrying")
        self.assert_finds('error~"card declined"', "dead")
        self.assert_finds("error:CardError", "dead")
        self.assert_finds("error~50%_off", "dead")
        self.assert_finds("error~5_%")
        self.assert_finds(r'error~"\"limit\""', "dead")

    def test_numbers(self):
        self.assert_finds("attempt>=1", "dead", "retrying", "done", "running")
        self.assert_finds("attempt<1 queue:mail -priority<0", "welcome", "receipt", "later")
        self.assert_finds("priority:-5", "sms")
        self.assert_finds("priority>-5 tag:vip", "welcome")

    def test_times(self):
        self.assert_finds("created<2020-01-01T00:00:00Z")
        self.assert_finds("created>2020-01-01T00:00:00Z type:sms", "sms")
        self.assert_finds("finished>2020-01-01T00:00:00Z", "dead", "done")
        soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 600))
        self.assert_finds(f"run_at>{soon}", "later", "retrying")

    def test_payload_result_and_meta(self):
        self.assert_finds("payload.user.id:42", "welcome")
        self.assert_finds("payload.user.name:Ann", "welcome")
        self.assert_finds("payload.user.id>=7", "welcome", "receipt")
        self.assert_finds("payload.user.id<42", "receipt")
        self.assert_finds("payload.lines.0.sku:x1", "receipt")
        self.assert_finds("payload.big:123456789012345678901234567890", "sms")
        self.assert_finds("payload.big:123456789012345678901234567891")
        self.assert_finds("payload.flag:true", "later")
        self.assert_finds("payload.pi:3.5", "later")
        self.assert_finds("payload.user.name~an", "welcome")
        self.assert_finds("result.bytes>1000", "done")
        self.assert_finds("meta.name:sms", "sms")
        self.assert_finds("meta.a.b:dotted queue:mail type:sms", "sms")

    def test_workers_and_ids(self):
        self.assert_finds("worker:box9", "running")
        job = self.api.get("/v1/jobs", q="type:sms", fresh="true").json["items"][0]
        self.assert_finds(f"id:{job['id']}", "sms")

    def test_everything_together_with_the_filters(self):
        reply = self.api.get("/v1/jobs", q="tag:vip", queue="mail", type="sms", state="ready", fresh="true")
        self.assertEqual([job["meta"]["name"] for job in reply.json["items"]], ["sms"])
        self.assert_finds("", "welcome", "receipt", "sms", "later", "dead", "retrying", "done", "running")
        self.assert_finds("   ", "welcome", "receipt", "sms", "later", "dead", "retrying", "done", "running")

    def test_quoting_is_not_sql(self):
        for hostile in (
            'queue:"mail\'; DROP TABLE jobs; --"',
            "error~\"' OR '1'='1\"",
            'meta.name:"sms\' --"',
            'payload.user.id:"42) OR (1=1"',
            'payload."user\') --":1',
        ):
            reply = self.api.get("/v1/jobs", q=hostile, fresh="true")
            self.assertIn(reply.status, (200, 422), reply)
            if reply.status == 200:
                self.assertEqual(reply.json["items"], [], hostile)
        self.assert_finds("type:sms", "sms")

    def test_what_it_does_not_know_is_refused(self):
        for q in (
            "colour:red",
            "queue>mail",
            "state:finished",
            "attempt:many",
            "attempt~1",
            "queue:",
            ":mail",
            'error~"open',
            "created>yesterday",
            "queue",
            "mail",
            "payload:",
            "attempt>=1,2",
            "x" * 1025,
            " ".join(["tag:a"] * 30),
            "tag:" + ",".join("abcdefghijklmnopqrstuvwxyz"),
        ):
            with self.subTest(q=q[:60]):
                self.assert_refused(self.api.get("/v1/jobs", q=q), 422, "validation_failed", "q")


class LongHistory(harness.ServerCase):
    def test_a_search_takes_its_time_in_pages(self):
        """A page ends when its time is up, and its cursor goes on from there."""
        for start in range(0, 20_000, 1000):
            payloads = [{"n": start + n, "filler": "x" * 50} for n in range(1000)]
            jobs = [{"type": "t", "queue": self.queue, "payload": payload} for payload in payloads]
            self.api.post("/v1/jobs/batch", {"jobs": jobs})
        self.api.get("/v1/jobs", fresh="true", limit=1)
        query = {"q": f"queue:{self.queue} payload.n:777", "include": "payload"}
        found = []
        while query.get("cursor", "") is not None:
            started = time.monotonic()
            page = self.api.get("/v1/jobs", **query)
            self.assertLess(time.monotonic() - started, 20)
            found += page.json["items"]
            query["cursor"] = page.json["next_cursor"]
        self.assertEqual([job["payload"]["n"] for job in found], [777])


if __name__ == "__main__":
    harness.main()
