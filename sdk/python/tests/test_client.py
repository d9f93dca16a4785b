"""Both clients on a real server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

from support import free_port, server

from millrace import (
    AsyncMillrace,
    BulkAnswer,
    InvalidState,
    Millrace,
    NewJob,
    NotFound,
    Operation,
    Unreachable,
    ValidationFailed,
    VersionConflict,
    WaitTimeout,
    make_id,
)


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.queue = self.id().rpartition(".")[2]
        self.client = Millrace(server().url)
        self.addCleanup(self.client.close)

    def test_submits_and_reads(self):
        made = self.client.submit("t", {"n": 2**70}, queue=self.queue, tags=["a"], delay=60)
        self.assertTrue(made.is_new)
        job = self.client.get(made.id, include=["payload"])
        self.assertEqual((job.state, job.payload, job.tags), ("scheduled", {"n": 2**70}, ["a"]))
        self.assertIsNone(job.result)

    def test_a_key_names_one_job(self):
        first = self.client.submit("t", queue=self.queue, idempotency_key="k")
        again = self.client.submit("t", queue=self.queue, idempotency_key="k")
        self.assertEqual((again.id, again.is_new), (first.id, False))

    def test_batches(self):
        jobs = [
            NewJob("t", queue=self.queue),
            {"type": "t", "queue": self.queue, "priority": 1 << 20},
        ]
        items = self.client.submit_batch(jobs)
        self.assertEqual([item.status for item in items], [201, 422])
        self.assertTrue(items[0].is_new)
        self.assertEqual(items[1].error["code"], "validation_failed")
        with self.assertRaises(ValidationFailed) as caught:
            self.client.submit_batch(jobs, atomic=True)
        self.assertEqual(caught.exception.errors[0]["where"], "/jobs/1/priority")
        self.assertIn("/jobs/1/priority", str(caught.exception))

    def test_waits(self):
        job = self.client.submit("t", queue=self.queue)
        with self.assertRaises(WaitTimeout):
            self.client.wait(job.id, 0.1)
        threading.Timer(0.2, self.client.cancel, (job.id, "enough")).start()
        self.assertEqual(self.client.wait(job.id).state, "cancelled")
        with self.assertRaises(InvalidState):
            self.client.cancel(job.id)

    def test_lists_all(self):
        ids = [self.client.submit("t", queue=self.queue).id for _ in range(7)]
        found = [job.id for job in self.client.list_all(limit=3, queue=self.queue, fresh=True)]
        self.assertEqual(found, ids[::-1])
        page = self.client.list(limit=2, queue=self.queue, state=["ready", "dead"], fresh=True)
        self.assertEqual(len(page.items), 2)

    def test_retry_and_delete(self):
        job = self.client.submit("t", queue=self.queue)
        self.client.cancel(job.id)
        self.assertEqual(self.client.retry(job.id).state, "ready")
        self.client.delete(job.id)
        with self.assertRaises(NotFound):
            self.client.get(job.id)

    def test_queues(self):
        queue = self.client.put_queue(self.queue, {"max_attempts": 3})
        self.assertEqual(queue.settings["max_attempts"], 3)
        with self.assertRaises(VersionConflict):
            self.client.patch_queue(self.queue, {"max_attempts": 4}, if_match=queue.version + 7)
        self.client.patch_queue(self.queue, {"lease_ms": 5000}, if_match=queue.version)
        self.assertTrue(self.client.pause_queue(self.queue, "later").paused)
        self.assertFalse(self.client.resume_queue(self.queue).paused)
        self.assertEqual(self.client.queue(self.queue).settings["lease_ms"], 5000)
        self.assertIn(self.queue, [one.name for one in self.client.queues().items])
        self.client.delete_queue(self.queue)
        with self.assertRaises(NotFound):
            self.client.patch_queue(self.queue, {})
        self.client.patch_queue(self.queue, {}, create=True)

    def test_schedules(self):
        spec = {"every_ms": 3_600_000, "job": {"type": "t", "queue": self.queue}}
        made = self.client.put_schedule(self.queue, spec)
        self.assertEqual((made.state, len(made.next)), ("active", 5))
        self.assertEqual(self.client.pause_schedule(self.queue).state, "paused")
        self.assertEqual(self.client.resume_schedule(self.queue).state, "active")
        job = self.client.trigger_schedule(self.queue)
        self.assertEqual(self.client.schedule_runs(self.queue)[0].raw["job_id"], job.id)
        self.assertIn("Every", self.client.preview_schedule({"every_ms": 1000})["description"])
        applied = self.client.apply_schedules(
            {"managed_by": self.queue, "schedules": {f"{self.queue}/2": spec}}
        )
        self.assertEqual(applied["created"], [f"{self.queue}/2"])
        owned = self.client.schedules(managed_by=self.queue)
        self.assertEqual([one.name for one in owned.items], [f"{self.queue}/2"])
        new = NewJob("t", {"n": 1}, queue=self.queue, timeout=5)
        made = self.client.put_schedule(self.queue, {"every_ms": 3_600_000, "job": new})
        self.assertEqual((made.job["payload"], made.job["timeout_ms"]), ({"n": 1}, 5000))
        late = NewJob("t", delay=5)
        with self.assertRaises(ValidationFailed) as caught:
            self.client.put_schedule(self.queue, {"every_ms": 3_600_000, "job": late})
        self.assertEqual([one["where"] for one in caught.exception.errors], ["/job/delay_ms"])
        self.client.delete_schedule(self.queue)
        with self.assertRaises(NotFound):
            self.client.schedule(self.queue)

    def test_many_threads_use_one_client(self):
        with ThreadPoolExecutor(16) as pool:
            made = list(
                pool.map(lambda n: self.client.submit("t", n, queue=self.queue), range(200))
            )
        self.assertEqual(len({one.id for one in made}), 200)
        self.assertEqual(self.client.queue(self.queue).counts["ready"], 200)

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_a_child_makes_connections_of_its_own(self):
        job = self.client.submit("t", queue=self.queue)
        child = os.fork()
        if child == 0:
            status = 1
            with contextlib.suppress(Exception):
                status = 0 if self.client.get(job.id).id == job.id else 1
            os._exit(status)
        self.assertEqual(self.client.get(job.id).id, job.id)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_an_address_without_a_server(self):
        with self.assertRaises(Unreachable):
            Millrace(f"http://127.0.0.1:{free_port()}", timeout=0.3).get(make_id())
        for url in ("ftp://x", "127.0.0.1:7600", ""):
            if url:
                with self.assertRaises(ValueError):
                    Millrace(url)

    def test_what_is_not_a_submission(self):
        with self.assertRaises(TypeError):
            self.client.submit("t", prioritty=1)
        with self.assertRaises(TypeError):
            self.client.submit(NewJob("t"), priority=1)
        with self.assertRaises(ValueError):
            self.client.submit("t", float("nan"))


class AsyncClientTest(unittest.TestCase):
    def test_the_same_calls(self):
        async def story() -> None:
            queue = "async-client"
            async with AsyncMillrace(server().url) as client:
                made = await asyncio.gather(
                    *(client.submit("t", n, queue=queue) for n in range(50))
                )
                self.assertEqual(len({one.id for one in made}), 50)
                items = await client.submit_batch([NewJob("t", queue=queue)])
                self.assertTrue(items[0].is_new)
                found = [job.id async for job in client.list_all(limit=20, queue=queue, fresh=True)]
                self.assertEqual(len(found), 51)
                job = made[0]
                with self.assertRaises(WaitTimeout):
                    await client.wait(job.id, 0.1)
                waiting = asyncio.create_task(client.wait(job.id))
                await asyncio.sleep(0.1)
                await client.cancel(job.id)
                self.assertEqual((await waiting).state, "cancelled")
                with self.assertRaises(InvalidState):
                    await client.cancel(job.id)
                await client.delete(job.id)
                with self.assertRaises(NotFound):
                    await client.get(job.id)
                self.assertEqual((await client.queue(queue)).counts["ready"], 50)

        asyncio.run(story())

    def test_another_loop_makes_other_connections(self):
        client = AsyncMillrace(server().url)
        for _ in range(2):
            asyncio.run(client.queues())

    def test_limits_operations_and_what_the_server_tells(self):
        async def story() -> None:
            async with AsyncMillrace(server().url) as client:
                name = queue = "async-operating"
                limit = await client.put_limit(name, {"concurrency": 2})
                limit = await client.patch_limit(
                    name, {"rate": {"limit": 5, "per_ms": 1000}}, if_match=limit.version
                )
                self.assertEqual((limit.concurrency, limit.rate["limit"]), (2, 5))
                limit = await client.pause_limit(name, "a test", duration=60)
                self.assertEqual((limit.paused, limit.pause_reason), (True, "a test"))
                self.assertIn("T", limit.paused_until)
                self.assertFalse((await client.resume_limit(name)).paused)
                self.assertIn(name, [one.name for one in (await client.limits()).items])
                self.assertEqual((await client.limit(name)).in_use, 0)
                await client.delete_limit(name)

                job = await client.submit("t", queue=queue, delay=3600)
                why = await client.why(job.id)
                self.assertEqual((why.state, len(why.blocking)), ("scheduled", 1))
                done = await client.bulk({"action": "cancel", "ids": [job.id]})
                self.assertIsInstance(done, BulkAnswer)
                self.assertEqual(done.changed, 1)
                begun = await client.bulk(
                    {"action": "delete", "filter": {"queue": queue}, "operation": True}
                )
                self.assertIsInstance(begun, Operation)
                while (await client.operation(begun.id)).state == "running":
                    await asyncio.sleep(0.02)
                for action in ("pause", "resume", "cancel"):
                    with self.assertRaises(InvalidState):  # it has ended
                        await getattr(client, f"{action}_operation")(begun.id)
                listed = await client.operations(state="completed")
                self.assertIn(begun.id, [one.id for one in listed.items])
                page = await client.events(job=job.id, types=["job.submitted"], limit=5)
                self.assertEqual([event.type for event in page.items], ["job.submitted"])
                end = await client.events(cursor="end")
                waiting = client.events(cursor=end.next_cursor, queues=[queue], wait=60)
                task = asyncio.create_task(waiting)
                await client.submit("t", queue=queue)
                self.assertEqual((await task).items[0].queue, queue)
                stats = await client.stats(window=3600, step=60, by="queue", name=queue)
                self.assertEqual(stats.step_ms, 60_000)
                self.assertIsInstance((await client.workers()).items, list)
                purged = await client.call("POST", f"/v1/queues/{queue}/purge", body={})
                self.assertEqual(purged, {"deleted": 1})
                with self.assertRaisesRegex(ValueError, "must begin with a slash"):
                    await client.call("GET", "v1/queues")

        asyncio.run(story())

    def test_a_cancelled_call_spoils_no_connection(self):
        async def story() -> None:
            async with AsyncMillrace(server().url) as client:
                job = await client.submit("t", queue="async-cancel")
                waiting = asyncio.create_task(client.wait(job.id))
                await asyncio.sleep(0.1)
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting
                self.assertEqual((await client.get(job.id)).id, job.id)

        asyncio.run(story())


if __name__ == "__main__":
    unittest.main()
