"""Submitting many jobs in one call."""

import harness


class Batches(harness.ServerCase):
    def batch(self, jobs, **members):
        return self.api.post("/v1/jobs/batch", {"jobs": jobs, **members})

    def test_results_stand_in_the_order_of_the_request(self):
        ids = [harness.uuid7() for _ in range(50)]
        reply = self.batch(
            [
                {"type": "t", "queue": self.queue, "id": job_id, "delay_ms": 60000 * (n % 2)}
                for n, job_id in enumerate(ids)
            ]
        )
        self.assertEqual(reply.status, 200)
        self.assertEqual(
            reply.json["results"],
            [{"status": 201, "id": job_id, "state": ("ready", "scheduled")[n % 2]} for n, job_id in enumerate(ids)],
        )
        again = self.batch([{"type": "t", "queue": self.queue, "id": job_id} for job_id in ids]).json["results"]
        self.assertEqual({result["status"] for result in again}, {200})
        self.assertEqual(self.counts(), {"ready": 25, "scheduled": 25})

    def test_a_thousand_at_once(self):
        results = self.batch([{"type": "t", "queue": self.queue}] * 1000).json["results"]
        self.assertEqual(len({result["id"] for result in results}), 1000)
        self.assertEqual(self.counts(), {"ready": 1000})

    def test_several_queues_at_once(self):
        other = self.queue + "-b"
        self.batch(
            [
                {"type": "t", "queue": self.queue},
                {"type": "t", "queue": other},
                {"type": "t", "queue": self.queue},
            ]
        )
        self.assertEqual((self.counts(), self.counts(other)), ({"ready": 2}, {"ready": 1}))

    def test_defaults_fill_in_what_a_job_leaves_out(self):
        reply = self.batch(
            [{}, {"type": "own", "priority": 0, "tags": []}],
            defaults={
                "type": "common",
                "queue": self.queue,
                "priority": 5,
                "tags": ["d"],
                "payload": {"from": "defaults"},
                "max_attempts": 2,
            },
        )
        first, second = [self.job(result["id"], include="payload") for result in reply.json["results"]]
        self.assertEqual((first["type"], first["priority"], first["tags"]), ("common", 5, ["d"]))
        self.assertEqual((second["type"], second["priority"], second["tags"]), ("own", 0, []))
        self.assertEqual((first["payload"], second["max_attempts"]), ({"from": "defaults"}, 2))

    def test_a_bad_job_is_refused_and_the_others_stand(self):
        results = self.batch(
            [
                {"type": "good", "queue": self.queue},
                {"type": "bad", "queue": self.queue, "priority": 40000, "colour": "red"},
                {"queue": self.queue},
                {"type": "good", "queue": self.queue},
            ]
        ).json["results"]
        self.assertEqual([result["status"] for result in results], [201, 422, 422, 201])
        error = results[1]["error"]
        self.assertEqual((error["status"], error["code"]), (422, "validation_failed"))
        self.assertEqual(sorted(fault["pointer"] for fault in error["errors"]), ["/colour", "/priority"])
        self.assertEqual([fault["pointer"] for fault in results[2]["error"]["errors"]], ["/type"])
        self.assertEqual(self.counts(), {"ready": 2})

    def test_a_conflict_is_refused_and_the_others_stand(self):
        taken = self.submit(queue=harness.neighbour(self.queue), id=harness.uuid7())["id"]
        self.submit(unique={"key": "k"})
        results = self.batch(
            [
                {"type": "t", "queue": self.queue, "id": taken},
                {"type": "t", "queue": self.queue, "unique": {"key": "k", "on_conflict": "reject"}},
                {"type": "t", "queue": self.queue, "unique": {"key": "k"}},
                {"type": "t", "queue": self.queue},
            ]
        ).json["results"]
        self.assertEqual([result["status"] for result in results], [409, 409, 200, 201])
        self.assertEqual([result["error"]["code"] for result in results[:2]], ["duplicate_job"] * 2)

    def test_atomic_stores_all(self):
        reply = self.batch([{"type": "t", "queue": self.queue}] * 3, atomic=True)
        self.assertEqual([result["status"] for result in reply.json["results"]], [201] * 3)
        self.assertEqual(self.counts(), {"ready": 3})

    def test_atomic_with_a_fault_stores_nothing(self):
        reply = self.batch(
            [
                {"type": "t", "queue": self.queue},
                {"type": "t", "queue": self.queue, "priority": "high"},
                {"queue": self.queue},
            ],
            atomic=True,
        )
        self.assert_refused(reply, 422, "validation_failed", "/jobs/1/priority", "/jobs/2/type")
        self.assertEqual(self.api.get(f"/v1/queues/{self.queue}").status, 404)

    def test_atomic_with_a_conflict_stores_nothing(self):
        self.submit(unique={"key": "held"})
        conflict = {
            "type": "t",
            "queue": self.queue,
            "unique": {"key": "held", "on_conflict": "reject"},
        }
        reply = self.batch([{"type": "t", "queue": self.queue}, conflict], atomic=True)
        self.assertEqual((reply.status, reply.code), (409, "duplicate_job"), reply)
        self.assertEqual(self.counts(), {"ready": 1})
        both = self.batch([conflict, {"type": "t", "queue": self.queue, "lease_ms": 1}], atomic=True)
        self.assertEqual(both.status, 422)
        self.assertIn("/jobs/1/lease_ms", both.places)
        self.assertEqual(self.counts(), {"ready": 1})

    def test_twins_within_a_batch(self):
        job_id = harness.uuid7()
        twin = {"type": "t", "queue": self.queue, "id": job_id}
        results = self.batch([twin, twin]).json["results"]
        self.assertEqual([(result["status"], result["id"]) for result in results], [(201, job_id), (200, job_id)])
        unique = {"type": "t", "queue": self.queue, "unique": {"key": "u"}}
        first, second = self.batch([unique, unique]).json["results"]
        self.assertEqual((first["status"], second["status"], first["id"]), (201, 200, second["id"]))

    def test_what_a_batch_refuses(self):
        self.assert_refused(self.batch([]), 422, "validation_failed", "/jobs")
        self.assert_refused(
            self.batch([{"type": "t", "queue": self.queue}] * 1001),
            422,
            "validation_failed",
            "/jobs",
        )
        self.assert_refused(self.api.post("/v1/jobs/batch", {}), 422, "validation_failed", "/jobs")
        self.assert_refused(self.batch({"type": "t"}), 422, "validation_failed", "/jobs")
        self.assert_refused(self.batch([{"type": "t"}], nuclear=True), 422, "validation_failed", "/nuclear")
        self.assert_refused(
            self.batch([{"type": "t"}], defaults={"id": harness.uuid7()}),
            422,
            "validation_failed",
            "/defaults/id",
        )
        reply = self.api.post(
            "/v1/jobs/batch",
            {"jobs": [{"type": "t", "queue": self.queue}]},
            headers={"Idempotency-Key": "k"},
        )
        self.assert_refused(reply, 422, "validation_failed", "Idempotency-Key")
        self.assertEqual(self.api.get(f"/v1/queues/{self.queue}").status, 404)


if __name__ == "__main__":
    harness.main()
