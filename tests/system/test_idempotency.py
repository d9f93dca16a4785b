"""Submitting the same thing twice: idempotency keys, unique jobs."""

import threading
import time

import harness


class IdempotencyKeys(harness.ServerCase):
    def keyed(self, key, api=None, **members):
        members.setdefault("queue", self.queue)
        return (api or self.api).post("/v1/jobs", {"type": "t", **members}, headers={"Idempotency-Key": key})

    def test_a_repetition_gets_the_same_job(self):
        first = self.keyed("k", payload=1)
        again = self.keyed("k", payload=1)
        self.assertEqual((first.status, again.status), (201, 200))
        self.assertEqual(first.json["id"], again.json["id"])
        self.assertNotIn("idempotent-replayed", first.headers)
        self.assertEqual(again.headers["idempotent-replayed"], "true")
        self.assertEqual(self.counts(), {"ready": 1})

    def test_another_body_is_a_mismatch(self):
        self.keyed("k", payload=1)
        self.assert_refused(self.keyed("k", payload=2), 422, "idempotency_mismatch")
        self.assertEqual(self.counts(), {"ready": 1})

    def test_a_key_belongs_to_its_queue(self):
        first = self.keyed("k")
        other = self.keyed("k", queue=self.queue + "b")
        self.assertEqual((first.status, other.status), (201, 201))
        self.assertNotEqual(first.json["id"], other.json["id"])

    def test_a_repetition_shows_the_job_as_it_is_now(self):
        self.keyed("k")
        self.finish(self.claim_one())
        self.assertEqual(self.keyed("k").json["state"], "succeeded")

    def test_a_key_outlives_its_job(self):
        self.api.put(f"/v1/queues/{self.queue}", {"retention": {"succeeded_ms": 0}})
        job_id = self.keyed("k").json["id"]
        self.finish(self.claim_one())
        harness.eventually(lambda: self.api.get(f"/v1/jobs/{job_id}").status == 404)
        again = self.keyed("k")
        self.assertEqual((again.status, again.json), (200, {"id": job_id, "state": "pruned"}))
        self.assertEqual(again.headers["idempotent-replayed"], "true")

    def test_twins_at_the_same_instant_give_one_job(self):
        for round_number in range(10):
            replies, barrier = [], threading.Barrier(8)

            def twin(key=f"k{round_number}", replies=replies, barrier=barrier, api=None):
                api = self.new_client()
                barrier.wait()
                replies.append(self.keyed(key, api))

            threads = [threading.Thread(target=twin) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(reply.status for reply in replies), [200] * 7 + [201])
            self.assertEqual(len({reply.json["id"] for reply in replies}), 1)
        self.assertEqual(self.counts(), {"ready": 10})

    def test_keys_that_are_none(self):
        for key in ("", "k" * 256, "two words", "caf\u00e9"):
            with self.subTest(key=key):
                self.assert_refused(self.keyed(key.encode("utf-8")), 422, "validation_failed", "Idempotency-Key")
        self.assertEqual(self.keyed("k" * 255).status, 201)
        self.assertEqual(self.keyed('"!~').status, 201)

    def test_a_refused_submission_does_not_use_up_the_key(self):
        self.assertEqual(self.keyed("k", priority=99999).status, 422)
        self.assertEqual(self.keyed("k").status, 201)


class AfterTheWindow(harness.ServerCase):
    serve_config = '[limits]\nidempotency_window = "2s"\n'

    def test_the_key_is_new(self):
        def keyed(**members):
            job = {"type": "t", "queue": self.queue, **members}
            return self.api.post("/v1/jobs", job, headers={"Idempotency-Key": "k"})

        first = keyed()
        time.sleep(2.1)
        second = keyed(payload="different")
        self.assertEqual(second.status, 201, second)
        self.assertNotEqual(first.json["id"], second.json["id"])

    def test_the_key_of_an_item_is_new(self):
        def batch(**members):
            job = {"type": "t", "queue": self.queue, "idempotency_key": "k", **members}
            return self.api.post("/v1/jobs/batch", {"jobs": [job]}).json["results"][0]

        batch()
        time.sleep(2.1)
        self.assertEqual(batch(payload=1)["status"], 201)


class AfterARestart(harness.MillraceCase):
    def test_keys_ids_and_unique_holders_are_known(self):
        server = self.new_server().start()
        self.use(server)

        def submit_again():
            keyed = self.api.post("/v1/jobs", {"type": "t", "queue": "q"}, headers={"Idempotency-Key": "k"})
            unique = self.api.post("/v1/jobs", {"type": "t", "queue": "q", "unique": {"key": "u"}})
            return [(reply.status, reply.json["id"]) for reply in (keyed, unique)]

        first = submit_again()
        for kill in (True, False):
            server.restart(kill=kill)
            self.use(server)
            self.assertEqual(submit_again(), [(200, job_id) for _, job_id in first])
        self.assertEqual(self.counts("q"), {"ready": 2})


class ClientIds(harness.ServerCase):
    def submit_as(self, job_id, **members):
        return self.api.post("/v1/jobs", {"type": "t", "queue": self.queue, "id": job_id, **members})

    def test_the_same_id_with_another_body_is_a_mismatch(self):
        job_id = harness.uuid7()
        same = {"payload": {"a": 1}, "tags": ["x"], "meta": {"m": "1"}, "timeout_ms": 5000}
        self.assertEqual(self.submit_as(job_id, **same).status, 201)

        def check():
            self.assertEqual(self.submit_as(job_id, **same).status, 200)
            later = self.submit_as(job_id, **same, delay_ms=1000, max_attempts=2, lease_ms=9000)
            self.assertEqual(later.status, 200)
            for change in (
                {"payload": {"a": 2}},
                {"type": "other"},
                {"priority": 1},
                {"tags": []},
                {"meta": {"m": "2"}},
                {"timeout_ms": 6000},
                {"unique": {"key": "k"}},
            ):
                with self.subTest(change=change):
                    reply = self.submit_as(job_id, **{**same, **change})
                    self.assert_refused(reply, 409, "id_mismatch")

        check()
        self.finish(self.claim_one())
        check()
        harness.eventually(lambda: len(self.list_jobs(state="succeeded")) == 1)
        time.sleep(0.5)
        check()
        self.assertEqual(self.counts(), {"succeeded": 1})

    def test_it_is_compared_with_the_job_as_it_is_now(self):
        job_id = harness.uuid7()
        self.submit_as(job_id, payload=1)
        self.api.patch(f"/v1/jobs/{job_id}", {"payload": 2})
        self.assert_refused(self.submit_as(job_id, payload=1), 409, "id_mismatch")
        self.assertEqual(self.submit_as(job_id, payload=2).status, 200)

    def test_in_batches_too(self):
        ids = [harness.uuid7() for _ in range(2)]

        def batch(jobs, **members):
            return self.api.post("/v1/jobs/batch", {"jobs": jobs, "defaults": {"queue": self.queue}, **members})

        jobs = [{"type": "t", "id": job_id, "payload": 1} for job_id in ids]
        batch(jobs)
        other = [jobs[0], {**jobs[1], "payload": 2}, {"type": "t"}]
        results = batch(other).json["results"]
        self.assertEqual([result["status"] for result in results], [200, 409, 201])
        self.assertEqual(results[1]["error"]["code"], "id_mismatch")
        self.assert_refused(batch(other, atomic=True), 409, "id_mismatch")
        twin = {"type": "t", "id": harness.uuid7(), "payload": 1}
        results = batch([twin, {**twin, "payload": 2}]).json["results"]
        self.assertEqual([result["status"] for result in results], [201, 409])


class KeysOfABatch(harness.ServerCase):
    def batch(self, *jobs, **members):
        return self.api.post("/v1/jobs/batch", {"jobs": jobs, **members})

    def item(self, key, **members):
        return {"type": "t", "queue": self.queue, "idempotency_key": key, **members}

    def test_each_item_has_its_own(self):
        first = self.batch(self.item("a"), self.item("b"), self.item("a")).json["results"]
        self.assertEqual([result["status"] for result in first], [201, 201, 200])
        self.assertEqual(first[0]["id"], first[2]["id"])
        again = self.batch(self.item("b"), self.item("a", payload=1), self.item("c")).json["results"]
        self.assertEqual([result["status"] for result in again], [200, 422, 201])
        self.assertEqual(again[0]["id"], first[1]["id"])
        self.assertEqual(again[1]["error"]["code"], "idempotency_mismatch")
        self.assertEqual(self.counts(), {"ready": 3})

    def test_the_defaults_are_part_of_what_is_sent(self):
        job = {"type": "t", "idempotency_key": "k"}
        first = self.batch(job, defaults={"queue": self.queue})
        again = self.batch(job, defaults={"queue": self.queue})
        self.assertEqual(first.json["results"][0]["id"], again.json["results"][0]["id"])
        other = self.batch(job, defaults={"queue": self.queue, "priority": 1}).json["results"][0]
        self.assertEqual(other["status"], 422)

    def test_an_atomic_one_has_them_too(self):
        jobs = (self.item("a"), self.item("b"))
        first = self.batch(*jobs, atomic=True).json["results"]
        again = self.batch(*jobs, atomic=True).json["results"]
        self.assertEqual([result["id"] for result in first], [result["id"] for result in again])
        self.assertEqual([result["status"] for result in again], [200, 200])
        self.assertEqual(self.counts(), {"ready": 2})

    def test_only_there(self):
        self.assert_refused(self.api.post("/v1/jobs", self.item("k")), 422, "validation_failed", "/idempotency_key")
        reply = self.batch({"type": "t"}, defaults={"idempotency_key": "k"})
        self.assert_refused(reply, 422, "validation_failed", "/defaults/idempotency_key")
        for key in ("", "x" * 256, "a b", "\u00e4"):
            result = self.batch(self.item(key)).json["results"][0]
            self.assertEqual(result["error"]["errors"][0]["pointer"], "/idempotency_key", key)
        self.assertEqual(self.batch(self.item("x" * 255)).json["results"][0]["status"], 201)


class UniqueJobs(harness.ServerCase):
    def unique(self, **unique):
        return self.api.post("/v1/jobs", {"type": "t", "queue": self.queue, "unique": {"key": "k", **unique}})

    def test_the_holder_is_returned(self):
        first, second = self.unique(), self.unique()
        self.assertEqual((first.status, second.status), (201, 200))
        self.assertEqual(first.json["id"], second.json["id"])
        self.assertNotIn("idempotent-replayed", second.headers)

    def test_or_the_newcomer_rejected(self):
        self.unique()
        self.assert_refused(self.unique(on_conflict="reject"), 409, "duplicate_job")

    def test_or_the_holder_replaced(self):
        first = self.unique().json
        second = self.unique(on_conflict="replace")
        self.assertEqual(second.status, 201)
        self.assertEqual(self.state(first["id"]), "cancelled")
        self.assertEqual(self.claim_one()["id"], second.json["id"])
        self.assert_refused(self.unique(on_conflict="replace"), 409, "duplicate_job")

    def test_a_running_holder_holds(self):
        self.unique()
        claimed = self.claim_one()
        self.assertEqual(self.unique().json["id"], claimed["id"])
        self.finish(claimed)
        self.assertEqual(self.unique().status, 201)

    def test_a_retrying_holder_holds(self):
        self.unique()
        self.fail_attempt(self.claim_one(), delay_ms=60000)
        self.assertEqual(self.unique().status, 200)

    def test_for_a_time_it_holds_beyond_the_end(self):
        first = self.unique(for_ms=5000)
        self.finish(self.claim_one())
        self.assertEqual(self.unique().json["id"], first.json["id"])
        harness.eventually(lambda: self.unique().status == 201)

    def test_a_shorter_time_does_not_free_a_live_holder(self):
        self.unique(for_ms=1)
        time.sleep(0.05)
        self.assertEqual(self.unique().status, 200)

    def test_keys_are_per_queue(self):
        self.unique()
        other = self.api.post("/v1/jobs", {"type": "t", "queue": self.queue + "b", "unique": {"key": "k"}})
        self.assertEqual(other.status, 201)


if __name__ == "__main__":
    harness.main()
