"""Lists of jobs: filters, pages, order, freshness."""

import time

import harness


class Lists(harness.ServerCase):
    def names(self, **query):
        return [job["type"] for job in self.list_jobs(**query)]

    def test_newest_first_also_within_a_millisecond(self):
        ids = self.submit_many(500)
        self.assertEqual([job["id"] for job in self.list_jobs()], ids[::-1])

    def test_pages_make_up_the_whole(self):
        ids = self.submit_many(25)
        found, sizes = [], []
        query = {"queue": self.queue, "limit": 10, "fresh": "true"}
        while True:
            page = self.api.get("/v1/jobs", **query).json
            found += [job["id"] for job in page["items"]]
            sizes.append(len(page["items"]))
            if page["next_cursor"] is None:
                break
            query["cursor"] = page["next_cursor"]
            self.submit_many(1)  # newer jobs do not move the pages after
        self.assertEqual(found, ids[::-1])
        self.assertEqual(sizes, [10, 10, 5])

    def test_a_page_that_fits_exactly_is_the_last(self):
        self.submit_many(10)
        query = {"queue": self.queue, "limit": 10, "fresh": "true"}
        page = self.api.get("/v1/jobs", **query).json
        if page["next_cursor"] is not None:
            page = self.api.get("/v1/jobs", **query, cursor=page["next_cursor"]).json
            self.assertEqual(page, {"items": [], "next_cursor": None})

    def test_the_default_page_is_fifty(self):
        self.submit_many(60)
        page = self.api.get("/v1/jobs", queue=self.queue, fresh="true").json
        self.assertEqual(len(page["items"]), 50)

    def test_by_state(self):
        self.submit("ready")
        self.submit("scheduled", delay_ms=60000)
        self.submit("done", priority=-1)
        self.finish(self.claim_one())
        self.submit("running", priority=-1)
        self.claim_one()
        self.assertEqual(self.names(state="ready"), ["ready"])
        self.assertEqual(self.names(state="scheduled,succeeded"), ["done", "scheduled"])
        self.assertEqual(self.names(state="running"), ["running"])
        self.assertEqual(self.names(state="dead"), [])

    def test_by_queue_type_and_tag(self):
        self.submit("a", tags=["red", "big"])
        self.submit("b", tags=["red"])
        self.submit("a", queue=self.queue + "x", tags=["red"])
        self.assertEqual(self.names(type="a"), ["a"])
        self.assertEqual(self.names(tag="red"), ["b", "a"])
        self.assertEqual(self.names(tag="big"), ["a"])
        self.assertEqual(self.names(tag="big", type="b"), [])
        self.assertEqual(self.names(queue=self.queue + "x"), ["a"])

    def test_by_time_of_creation(self):
        early = self.submit("early")
        time.sleep(0.02)  # the shard's time may be a few milliseconds behind the server's
        late = self.submit("late")
        self.assertGreater(late["created_at"], early["created_at"])
        self.assertEqual(self.names(created_before=late["created_at"]), ["early"])
        self.assertEqual(self.names(created_after=late["created_at"]), ["late"])
        self.assertEqual(self.names(created_after="2020-01-01T00:00:00+01:00"), ["late", "early"])
        self.assertEqual(self.names(created_before="2020-01-01T00:00:00Z"), [])

    def test_fresh_holds_everything_answered_before(self):
        for number in range(1, 30):
            self.submit()
            self.assertEqual(len(self.list_jobs()), number)

    def test_without_fresh_it_is_there_soon(self):
        job = self.submit()
        harness.eventually(lambda: [j["id"] for j in self.list_jobs(fresh="false")] == [job["id"]])

    def test_a_job_looks_in_a_list_as_it_looks_alone(self):
        self.submit(
            payload={"n": 1},
            tags=["t"],
            meta={"k": "v"},
            delay_ms=60000,
            unique={"key": "u"},
            retry={"strategy": "list", "delays_ms": [1]},
        )
        self.submit(priority=-5)
        self.fail_attempt(self.claim_one(), delay_ms=60000)
        self.submit(priority=-9)
        self.finish(self.claim_one(), result=[1])
        for listed in self.list_jobs(include="payload,result"):
            self.assertEqual(listed, self.job(listed["id"], include="payload,result"))

    def test_what_a_list_refuses(self):
        for query, name in (
            ({"state": "finished"}, "state"),
            ({"limit": 0}, "limit"),
            ({"limit": 1001}, "limit"),
            ({"limit": "ten"}, "limit"),
            ({"cursor": "!!"}, "cursor"),
            ({"cursor": "~~~~"}, "cursor"),
            ({"created_after": "yesterday"}, "created_after"),
            ({"fresh": "maybe"}, "fresh"),
            ({"include": "attempts"}, "include"),
            ({"colour": "red"}, "colour"),
            ({"queue": "no spaces"}, "queue"),
        ):
            with self.subTest(query=query):
                self.assert_refused(self.api.get("/v1/jobs", **query), 422, "validation_failed", name)


if __name__ == "__main__":
    harness.main()
