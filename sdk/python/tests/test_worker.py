"""Tests of workers on a real server: handlers of both kinds, signals, logs, stops."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest
import unittest.mock

from support import PATIENCE, eventually, listed_worker, own_server, server

import millrace
from millrace import (
    AsyncMillrace,
    Interrupted,
    Millrace,
    MillraceError,
    NonRetryable,
    RetryAfter,
    Snooze,
)

SOON = {"strategy": "fixed", "base_ms": 50, "jitter": 0}


class WorkerTest(unittest.TestCase):
    def setUp(self):
        self.queue = self.id().rpartition(".")[2]
        self.app = Millrace(server().url)
        self.addCleanup(self.app.close)

    def work(self, **options):
        return self.app.worker(**{"poll_wait": 1, "grace": 5, **options})

    def test_runs_both_kinds_of_handlers(self):
        @self.app.job("sync", queue=self.queue)
        def in_thread(a, b=2):
            return [a, b, threading.current_thread().name]

        @self.app.job("async", queue=self.queue)
        async def on_loop(payload, /):
            await asyncio.sleep(0)
            return payload

        jobs = [in_thread.submit(1), in_thread.submit(a=3, b=4), on_loop.submit([5])]
        with self.work():
            results = [self.app.wait(job.id, PATIENCE).result for job in jobs]
        self.assertEqual([result[:2] for result in results[:2]], [[1, 2], [3, 4]])
        self.assertEqual(results[0][2], "millrace-handler")
        self.assertEqual(results[2], [5])
        self.assertEqual(in_thread(7)[0], 7)  # still a function

    def test_tells_the_version_of_the_program(self):
        @self.app.job("t", queue=self.queue)
        def handle():
            pass

        def told(**options):
            with self.work(**options) as worker:
                return eventually(lambda: listed_worker(worker.id))["version"]

        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("MILLRACE_WORKER_VERSION", None)
            self.assertIsNone(told())
            os.environ["MILLRACE_WORKER_VERSION"] = "2.4.0"
            self.assertEqual(told(), "2.4.0")
            self.assertEqual(told(version="2.4.1"), "2.4.1")

    def test_says_how_an_attempt_ended(self):
        @self.app.job("t", queue=self.queue, retry=SOON)
        def handle(how):
            context = millrace.current()
            if how == "fails once" and context.job.attempt == 1:
                raise KeyError("no luck")
            if how == "no retry":
                raise NonRetryable("never")
            if how == "snooze" and not context.job.checkpoint:
                context.progress(50, "half", checkpoint={"page": 3})
                raise Snooze(0.05)
            if how == "no json":
                return {1, 2}
            return context.job.checkpoint

        jobs = {how: handle.submit(how) for how in ("fails once", "no retry", "snooze")}
        jobs["no json"] = handle.options(max_attempts=1).submit("no json")
        with self.work():
            ended = {how: self.app.wait(job.id, PATIENCE) for how, job in jobs.items()}
        states = {how: (job.state, job.attempt) for how, job in ended.items()}
        self.assertEqual(
            states,
            {
                "fails once": ("succeeded", 2),
                "no retry": ("dead", 1),
                "snooze": ("succeeded", 1),
                "no json": ("dead", 1),
            },
        )
        self.assertEqual(ended["snooze"].result, {"page": 3})
        error = ended["fails once"].last_error
        self.assertEqual((error["type"], error["message"]), ("KeyError", "'no luck'"))
        self.assertIn("test_worker.py", error["stack"])
        self.assertEqual(ended["no json"].last_error["type"], "outcome_refused")

    def test_progress_leaves_what_it_does_not_name(self):
        @self.app.job("t", queue=self.queue)
        def handle():
            context = millrace.current()
            context.progress(10, "first", checkpoint=[1])
            context.progress(20)
            with self.assertRaises((TypeError, ValueError)):
                context.progress(checkpoint=float("nan"))
            with self.assertRaises(ValueError):
                context.progress(checkpoint="x" * 70_000)

        job = handle.submit()
        with self.work():
            progress = self.app.wait(job.id, PATIENCE).progress
        self.assertEqual(progress, {"percent": 20, "message": "first", "checkpoint": [1]})

    def test_cancellation_reaches_both_kinds(self):
        begun, told = [], []

        @self.app.job("sync", queue=self.queue)
        def in_thread():
            begun.append("sync")
            try:
                millrace.current().wait(20)
            except Interrupted as interrupted:
                told.append(interrupted.reason)
                raise

        @self.app.job("async", queue=self.queue)
        async def on_loop():
            begun.append("async")
            try:
                await asyncio.sleep(20)
            except asyncio.CancelledError:
                told.append(millrace.current().stop_reason)
                raise

        jobs = [in_thread.submit(), on_loop.submit()]
        with self.work():
            eventually(lambda: len(begun) == 2)
            for job in jobs:
                self.app.cancel(job.id)
            states = [self.app.wait(job.id, PATIENCE).state for job in jobs]
        self.assertEqual((states, told), (["cancelled"] * 2, ["cancelled"] * 2))

    def test_keeps_leases_of_handlers_that_block_the_loop(self):
        @self.app.job("t", queue=self.queue, lease=5)
        async def block():
            time.sleep(6.5)
            return millrace.current().stop_reason

        job = block.submit()
        with self.work():
            ended = self.app.wait(job.id, PATIENCE)
        self.assertEqual((ended.state, ended.attempt, ended.result), ("succeeded", 1, None))

    def test_logs_are_kept_with_the_job(self):
        logger = logging.getLogger(self.queue)
        logger.setLevel(logging.DEBUG)

        @self.app.job("t", queue=self.queue)
        def handle():
            logger.debug("looking at %s", "it")
            logger.error("oh")
            millrace.current().log("by hand", "warn")

        job = handle.submit()
        before = list(logging.getLogger().handlers)
        with self.work():
            self.app.wait(job.id, PATIENCE)
        lines = [(line.level, line.message) for line in self.app.logs(job.id).items]
        self.assertEqual(lines, [("debug", "looking at it"), ("error", "oh"), ("warn", "by hand")])
        self.assertEqual(logging.getLogger().handlers, before)

    def test_follow_ups_and_trace_context(self):
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

        @self.app.job("first", queue=self.queue)
        def first():
            millrace.current().enqueue(second.new(n=1))
            return second.submit(n=2).id

        @self.app.job("second", queue=self.queue)
        def second(n):
            return n

        job = first.options(traceparent=parent).submit()
        with self.work():
            other = self.app.wait(job.id, PATIENCE).result
            self.app.wait(other, PATIENCE)
            eventually(lambda: self.app.queue(self.queue).counts["succeeded"] == 3)
        jobs = list(self.app.list_all(queue=self.queue, type="second", fresh=True))
        self.assertEqual([one.traceparent for one in jobs], [parent] * 2)

    def test_the_application_gives_the_trace(self):
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        app = Millrace(server().url, current_trace=lambda: (parent, "a=b"))
        self.assertEqual(app.submit("t", queue=self.queue).job.traceparent, parent)

    def test_stop_lets_handlers_finish_and_releases_the_rest(self):
        release = threading.Event()
        self.addCleanup(release.set)
        begun = []

        @self.app.job("quick", queue=self.queue)
        async def quick():
            begun.append("quick")
            while not millrace.current().stopping:
                await asyncio.sleep(0.01)
            return "seen"

        @self.app.job("stubborn", queue=self.queue)
        def stubborn():
            begun.append("stubborn")
            release.wait(PATIENCE)

        jobs = [quick.submit(), stubborn.submit()]
        worker = self.work(grace=3)
        worker.start()
        eventually(lambda: len(begun) == 2)
        began = time.monotonic()
        worker.stop()
        self.assertTrue(worker.join(PATIENCE))
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(self.app.get(jobs[0].id, include=["result"]).result, "seen")
        left = self.app.get(jobs[1].id)
        self.assertEqual((left.state, left.attempt), ("ready", 0))

    def test_a_worker_runs_once_and_wants_handlers(self):
        with self.assertRaises(ValueError):
            self.app.worker()
        self.app.job("t", queue=self.queue)(lambda: 0)
        for wrong in ({"concurrency": 0}, {"queues": []}):
            with self.assertRaises(ValueError):
                self.app.worker(**wrong)
        with self.assertRaises(TypeError):
            self.app.worker(queues="mail")
        worker = self.work()
        worker.stop()  # even before its start
        worker.run()
        with self.assertRaises(RuntimeError):
            worker.start()

    def test_a_refusal_ends_it(self):
        self.app.job("t", queue="no such name!")(lambda: 0)
        with (
            self.assertLogs("millrace.worker", "ERROR"),
            self.assertRaises(MillraceError) as caught,
        ):
            self.work().run()
        self.assertEqual(caught.exception.status, 422)

    def test_survives_what_fails_in_its_own_thread(self):
        @self.app.job("t", queue=self.queue)
        def handle():
            context = millrace.current()
            context.on_told(lambda reason: 1 / 0)
            context.wait(PATIENCE)

        with self.assertLogs("millrace.worker", "ERROR") as logs, self.work():
            job = handle.submit()
            eventually(lambda: self.app.get(job.id).state == "running")
            self.app.cancel(job.id)
            self.assertEqual(self.app.wait(job.id, PATIENCE).state, "cancelled")
        self.assertIn("an observer of on_told failed", logs.records[0].getMessage())

    def test_logs_each_failed_attempt(self):
        @self.app.job("sync", queue=self.queue, retry=SOON, max_attempts=2)
        def in_thread():
            raise KeyError("no luck")

        @self.app.job("async", queue=self.queue, retry=SOON)
        async def on_loop():
            raise NonRetryable("never")

        with self.assertLogs("millrace.worker", "WARNING") as logs, self.work():
            jobs = [in_thread.submit(), on_loop.submit()]
            for job in jobs:
                self.app.wait(job.id, PATIENCE)
        said = sorted(record.getMessage() for record in logs.records)
        head = f"job {jobs[0].id} (sync): attempt"
        wanted = [
            f"{head} 1 of 2 failed: KeyError: 'no luck'; the server tries it again",
            f"{head} 2 of 2 failed: KeyError: 'no luck'; the job is dead",
            f"job {jobs[1].id} (async): "
            "attempt 1 of 5 failed: NonRetryable: never; the job is dead",
        ]
        self.assertEqual(said, sorted(wanted))
        self.assertTrue(all(record.exc_info for record in logs.records))

    def test_logs_a_retry_that_the_handler_meant_without_a_traceback(self):
        @self.app.job("t", queue=self.queue, max_attempts=2)
        def wait():
            raise RetryAfter(0.05, "the partner is closed")

        with self.assertLogs("millrace.worker", "INFO") as logs, self.work():
            job = wait.submit()
            self.app.wait(job.id, PATIENCE)
        levels = [record.levelname for record in logs.records if job.id in record.getMessage()]
        self.assertEqual(levels, ["INFO", "WARNING"])  # the second attempt leaves the job dead
        self.assertFalse(any(record.exc_info for record in logs.records))

    def test_survives_a_restart_of_the_server(self):
        with own_server() as other:
            app = Millrace(other.url)
            begun = threading.Event()

            @app.job("t")
            def handle():
                begun.set()
                time.sleep(1)
                return "done"

            job = handle.submit()
            with self.assertLogs("millrace.worker", "INFO") as logs, app.worker(poll_wait=1):
                self.assertTrue(begun.wait(PATIENCE))
                other.stop()
                time.sleep(1.5)
                other.start()
                self.assertEqual(app.wait(job.id, PATIENCE).result, "done")
                after = handle.submit()
                self.assertEqual(app.wait(after.id, PATIENCE).state, "succeeded")
        lost, again = [record.getMessage() for record in logs.records]
        self.assertRegex(lost, rf"^the server at {other.url} does not answer \(.+\); trying again$")
        self.assertNotIn("expected bytes", lost)
        self.assertEqual(again, f"connected to the server at {other.url} again")

    def test_idle_it_uses_no_processor(self):
        self.app.job("t", queue=self.queue)(lambda: 0)
        with self.work(poll_wait=10):
            # It has become idle some time later.
            for _ in range(10):
                time.sleep(0.5)
                before = time.process_time()
                time.sleep(2)
                used = time.process_time() - before
                if used < 0.02:
                    break
            self.assertLess(used, 0.02)


class AsyncWorkerTest(unittest.TestCase):
    def test_runs_on_the_callers_loop(self):
        async def story() -> None:
            app = AsyncMillrace(server().url)
            loops = set()

            @app.job("t", queue="async-worker")
            async def handle(n: int) -> int:
                loops.add(asyncio.get_running_loop())
                await asyncio.sleep(0.01)
                return n

            @app.job("s", queue="async-worker")
            def in_thread() -> str:
                return threading.current_thread().name

            jobs = [await handle.submit(n=n) for n in range(20)]
            last = await in_thread.submit()
            worker = app.worker(concurrency=8, poll_wait=1)
            running = asyncio.create_task(worker.run())
            results = [(await app.wait(job.id, PATIENCE)).result for job in jobs]
            self.assertEqual(results, list(range(20)))
            self.assertEqual((await app.wait(last.id, PATIENCE)).result, "millrace-handler")
            self.assertEqual(loops, {asyncio.get_running_loop()})
            worker.stop()
            await asyncio.wait_for(running, PATIENCE)
            await app.close()

        asyncio.run(story())

    def test_cancellation_stops_it(self):
        async def story() -> None:
            app = AsyncMillrace(server().url)
            ended = []
            has_begun = asyncio.Event()

            @app.job("t", queue="async-cancelled")
            async def handle() -> None:
                has_begun.set()
                await asyncio.sleep(0.5)
                ended.append(1)

            job = await handle.submit()
            running = asyncio.create_task(app.worker(poll_wait=1).run())
            await asyncio.wait_for(has_begun.wait(), PATIENCE)
            running.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await running
            self.assertEqual(ended, [1])
            self.assertEqual((await app.get(job.id)).state, "succeeded")
            await app.close()

        asyncio.run(story())

    def test_leaves_signals_to_its_host(self):
        async def story() -> None:
            app = AsyncMillrace(server().url)

            @app.job("t", queue="async-host")
            async def handle() -> str:
                return "done"

            before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
            async with app.worker(poll_wait=1) as worker:
                now = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
                self.assertEqual(now, before)
                job = await handle.submit()
                self.assertEqual((await app.wait(job.id, PATIENCE)).result, "done")
                self.assertTrue(worker.is_running)
            self.assertFalse(worker.is_running)
            await app.close()

        asyncio.run(story())

    def test_a_join_that_is_cancelled_leaves_it_running(self):
        async def story() -> None:
            app = AsyncMillrace(server().url)
            app.job("t", queue="async-join")(lambda: 0)
            worker = app.worker(poll_wait=1)
            worker.start()
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(worker.join(), 0.01)
            self.assertTrue(worker.is_running)
            worker.stop()
            await worker.join()
            await app.close()

        asyncio.run(story())

    def test_ends_when_its_host_has_closed_the_loop(self):
        app = AsyncMillrace(server().url)

        @app.job("t", queue="async-closed")
        async def handle() -> None: ...

        worker = app.worker(poll_wait=1)

        async def start() -> None:
            worker.start()

        asyncio.run(start())
        with Millrace(server().url) as client, self.assertLogs("millrace.worker", "ERROR"):
            job = client.submit("t", queue="async-closed")
            eventually(lambda: not worker.is_running)
            self.assertEqual(client.get(job.id).state, "ready")

    def test_a_synchronous_application_submits_from_coroutines(self):
        app = Millrace(server().url)

        @app.job("t", queue="submit-async")
        async def handle() -> None: ...

        self.assertTrue(asyncio.run(handle.submit_async()).is_new)


PROGRAMS = {
    "sync": """
        @app.job("t", queue=sys.argv[1])
        def handle():
            print("running", flush=True)
            time.sleep(0.7)
            print("finished", flush=True)
        app.work(poll_wait=1)
        """,
    "async": """
        @app.job("t", queue=sys.argv[1])
        async def handle():
            print("running", flush=True)
            await asyncio.sleep(0.7)
            print("finished", flush=True)
        asyncio.run(app.work(poll_wait=1))
        """,
    "two": """
        others = millrace.AsyncMillrace()
        @app.job("t", queue=sys.argv[1])
        async def handle():
            print("running", flush=True)
            await asyncio.sleep(0.7)
            print("finished", flush=True)
        @others.job("other", queue=sys.argv[1] + "-other")
        async def other(): ...
        async def main():
            await asyncio.gather(app.work(poll_wait=1), others.work(poll_wait=1))
        asyncio.run(main())
        """,
}


@unittest.skipIf(os.name == "nt", "signals")
class ProgramTest(unittest.TestCase):
    def test_signals_stop_a_program_gracefully(self):
        for kind, body in PROGRAMS.items():
            for number in (signal.SIGTERM, signal.SIGINT)[: 1 if kind == "two" else 2]:
                with self.subTest(kind, signal=number):
                    name = "Millrace" if kind == "sync" else "AsyncMillrace"
                    head = f"import asyncio, sys, time, millrace\napp = millrace.{name}()\n"
                    queue = f"program-{kind}-{number}"
                    with Millrace(server().url) as client:
                        job = client.submit("t", queue=queue)
                        program = subprocess.Popen(
                            [sys.executable, "-c", head + textwrap.dedent(body), queue],
                            env={**os.environ, "MILLRACE_URL": server().url},
                            stdout=subprocess.PIPE,
                            text=True,
                        )
                        self.addCleanup(program.kill)
                        assert program.stdout is not None
                        self.assertEqual(program.stdout.readline(), "running\n")
                        program.send_signal(number)
                        self.assertEqual(program.communicate(timeout=PATIENCE)[0], "finished\n")
                        self.assertEqual(program.returncode, 0)
                        self.assertEqual(client.get(job.id).state, "succeeded")


if __name__ == "__main__":
    unittest.main()
