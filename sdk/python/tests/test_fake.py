"""Tests of the fake, used as by the tests of an application."""

from __future__ import annotations

import asyncio
import datetime
import logging
import time
import unittest

import millrace
from millrace import AsyncMillrace, InvalidState, Millrace, NotFound, WaitTimeout
from millrace.testing import Fake


class FakeTest(unittest.TestCase):
    def setUp(self):
        self.app = Millrace("http://127.0.0.1:1")  # no server listens there
        self.seen: list[str] = []

        @self.app.job("sync", queue="q", retry={"strategy": "linear", "base_ms": 1000})
        def in_thread(text):
            self.seen.append(text)
            if text == "fail":
                raise ConnectionError("no luck")
            return text

        @self.app.job("async")
        async def on_loop(text):
            await asyncio.sleep(0)
            millrace.current().enqueue(in_thread.new(text))
            logging.getLogger("app").info("about %s", text)
            return in_thread.submit(text + "!").id

        self.in_thread, self.on_loop = in_thread, on_loop

    def test_keeps_what_a_job_must_pass_and_refuses_what_is_none(self):
        with Fake(self.app):
            said = {"limits": [{"name": "api", "cost": 2}], "order_key": "o", "fair_key": "acme"}
            with self.assertRaises(millrace.MillraceError) as caught:
                self.in_thread.options(**said).submit("a")
            self.assertEqual(
                (caught.exception.status, caught.exception.code), (422, "unknown_limit")
            )
            self.app.put_limit("api", {"concurrency": 2})
            job = self.app.get(self.app.submit("sync", "a", queue="q", **said).id)
            self.assertEqual({name: getattr(job, name) for name in said}, said)
            for wrong in (
                {"limits": [{"name": ""}]},
                {"limits": [{"name": "api"}] * 9},
                {"order_key": ""},
                {"fair_key": "k" * 129},
                {"order_key": "o", "order_on_failure": "wait"},
            ):
                with self.assertRaises(millrace.ValidationFailed, msg=wrong):
                    self.app.submit("sync", "a", **wrong)

    def test_takes_the_calls_of_the_application_and_gives_them_back(self):
        with Fake(self.app) as fake:
            job = self.in_thread.submit(text="a")
            self.assertEqual(self.app.get(job.id).created_at, "2030-01-01T00:00:00.000Z")
            self.assertEqual([one.payload for one in fake.enqueued("sync")], [{"text": "a"}])
        with self.assertRaises(millrace.Unreachable):
            Millrace("http://127.0.0.1:1", timeout=0.2).get(job.id)
        self.assertIsInstance(self.app._transport, millrace._http.Transport)

    def test_takes_settings_and_schedules(self):
        with Fake(self.app) as fake:
            self.assertEqual(
                self.app.put_queue("q", {"max_attempts": 1}).settings["max_attempts"], 1
            )
            job = self.in_thread.submit("fail")
            fake.drain()
            self.assertEqual(self.app.get(job.id).state, "dead")
            self.app.patch_queue("q", {"max_ready": 1})
            self.app.pause_queue("q", "a test")
            waiting = self.in_thread.submit("a")
            self.assertEqual(fake.drain(), 0)
            began = time.monotonic()
            with self.assertRaises(millrace.QueueFull):
                self.in_thread.submit("b")
            self.assertLess(time.monotonic() - began, 1)
            queue = self.app.queue("q")
            self.assertEqual((queue.paused, queue.pause_reason), (True, "a test"))
            self.assertEqual(queue.counts, {"dead": 1, "ready": 1})
            self.app.resume_queue("q")
            self.assertEqual(fake.drain(), 1)
            self.assertEqual(self.app.get(waiting.id).state, "succeeded")

            spec = {"cron": "0 3 * * *", "job": {"type": "sync", "payload": {"text": "n"}}}
            told = self.app.apply_schedules({"managed_by": "me", "schedules": {"nightly": spec}})
            self.assertEqual(told["created"], ["nightly"])
            told = self.app.apply_schedules(
                {"managed_by": "me", "schedules": {"other": spec}, "prune": True}
            )
            self.assertEqual((told["created"], told["deleted"]), (["other"], ["nightly"]))
            with self.assertRaises(NotFound):
                self.app.schedule("nightly")
            self.assertEqual(
                [one.name for one in self.app.schedules(managed_by="me").items], ["other"]
            )
            self.app.trigger_schedule("other")
            self.assertEqual(fake.drain(), 1)
            self.assertEqual(self.seen, ["fail", "a", "n"])

            typed = {"cron": "0 3 * * *", "job": self.in_thread.new("typed")}
            self.app.put_schedule("typed", typed)
            told = self.app.apply_schedules({"managed_by": "me", "schedules": {"typed/2": typed}})
            self.assertEqual(told["created"], ["typed/2"])
            for name in ("typed", "typed/2"):
                self.assertEqual(self.app.schedule(name).job["payload"], {"text": "typed"})
            with self.assertRaises(millrace.ValidationFailed) as caught:
                late = self.in_thread.options(delay=5).new("late")
                self.app.put_schedule("late", {"cron": "0 3 * * *", "job": late})
            self.assertEqual([one["where"] for one in caught.exception.errors], ["/job/delay_ms"])

            self.app.put_limit("api", {"concurrency": 1})
            self.assertEqual(self.app.limit("api").concurrency, 1)
            self.app.delete_limit("api")
            for wrong in (
                lambda: self.app.put_queue("q", {"max_raedy": 1}),
                lambda: self.app.put_limit("l", {"concurency": 1}),
                lambda: self.app.put_schedule("s", {"cron": "* * * * *"}),
            ):
                with self.assertRaises(millrace.ValidationFailed):
                    wrong()

    def test_never_starts_a_real_worker(self):
        other = AsyncMillrace("http://127.0.0.1:1")
        other.job("t")(lambda: 0)
        with Fake(self.app) as fake, Fake(other):
            for app in (self.app, fake, other):
                with self.assertRaisesRegex(NotImplementedError, "call drain"):
                    app.worker()
        self.app.worker()

    def test_drains_what_handlers_submit(self):
        with Fake(self.app) as fake:
            job = self.on_loop.submit(text="a")
            logging.getLogger("app").setLevel(logging.INFO)
            self.assertEqual(fake.drain(), 3)
            self.assertEqual(sorted(self.seen), ["a", "a!"])
            other = self.app.wait(job.id).result
            self.assertEqual(self.app.get(other, include=["result"]).result, "a!")
            self.assertEqual([line.message for line in self.app.logs(job.id).items], ["about a"])

    def test_inline(self):
        with Fake(self.app, mode="inline") as fake:
            self.on_loop.submit(text="a")
            self.assertEqual(len(self.seen), 2)
            self.in_thread.options(delay=10).submit(text="late")
            self.assertEqual(len(self.seen), 2)
            fake.advance(datetime.timedelta(seconds=10))
            self.assertEqual((fake.drain(), self.seen[-1]), (1, "late"))

    def test_retries_by_the_clock(self):
        with Fake(self.app) as fake:
            job = self.in_thread.options(max_attempts=3).submit(text="fail")
            for pause, state in ((1, "retrying"), (2, "retrying"), (0, "dead")):
                self.assertEqual(fake.drain(), 1)
                self.assertEqual(self.app.get(job.id).state, state)
                fake.advance(pause - 0.001 if pause else 0)
                self.assertEqual(fake.drain(), 0)
                fake.advance(0.001)
            self.assertEqual(self.app.get(job.id).last_error["message"], "no luck")
            with self.assertRaises(InvalidState):
                self.app.cancel(job.id)
            self.assertEqual(self.app.retry(job.id).state, "ready")

    def test_expires_what_did_not_start(self):
        with Fake(self.app) as fake:
            job = self.in_thread.options(expires_in=5).submit(text="a")
            fake.advance(5)
            self.assertEqual(fake.drain(), 0)
            self.assertEqual(self.app.wait(job.id).state, "expired")

    def test_nothing_ends_by_waiting(self):
        with Fake(self.app):
            with self.assertRaises(WaitTimeout):
                self.app.wait(self.in_thread.submit(text="a").id)
            with self.assertRaises(NotImplementedError):
                self.app.stats()

    def test_an_atomic_batch_leaves_nothing_behind(self):
        with Fake(self.app) as fake:
            bad = self.in_thread.options(priority=1 << 20).new("b")
            with self.assertRaises(millrace.ValidationFailed):
                self.app.submit_batch([self.in_thread.new("a"), bad], atomic=True)
            self.assertEqual(fake.enqueued(), [])
            items = self.app.submit_batch([self.in_thread.new("a"), bad])
            self.assertEqual([item.status for item in items], [201, 422])
            self.app.delete(items[0].id)
            with self.assertRaises(NotFound):
                self.app.get(items[0].id)

    def test_a_handler_may_cancel_its_own_job(self):
        app = Millrace()

        @app.job("t")
        async def handle():
            app.cancel(millrace.current().job.id)
            await asyncio.sleep(10)

        with Fake(app) as fake:
            job = handle.submit()
            self.assertEqual(fake.drain(), 1)
            self.assertEqual(app.get(job.id).state, "cancelled")

    def test_a_fake_of_its_own(self):
        fake = Fake()
        fake.job("t")(lambda: 7)
        job = fake.submit("t")
        fake.submit("other")  # a type without a handler
        self.assertEqual(fake.drain(), 1)
        self.assertEqual(fake.get(job.id, include=["result"]).result, 7)


class AsyncFakeTest(unittest.IsolatedAsyncioTestCase):
    async def test_an_asynchronous_application(self):
        app = AsyncMillrace()

        @app.job("t")
        async def handle(n: int) -> int:
            if n > 0:
                await handle.submit(n - 1)
            return n

        with Fake(app) as fake:
            job = await handle.submit(3)
            self.assertEqual(await fake.drain_async(), 4)
            self.assertEqual((await app.wait(job.id)).result, 3)
        with Fake(app, mode="inline") as fake:
            await handle.submit(2)
            self.assertEqual([one.result for one in fake.enqueued("t")], [2, 1, 0])


if __name__ == "__main__":
    unittest.main()
