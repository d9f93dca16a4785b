"""Tests of the conversion of payloads to arguments, and of middleware."""

from __future__ import annotations

import asyncio
import json
import unittest

from millrace import Millrace, PayloadError, Snooze
from millrace._handlers import Handler, run_async, run_sync
from millrace._outcome import outcome_of
from millrace.context import ClaimedJob, Context
from millrace.models import UNSET


def context(payload: object = None) -> Context:
    return Context(ClaimedJob({"type": "t", "payload": payload}), 1)


class SlowDownTest(unittest.TestCase):
    def test_it_goes_with_the_outcome(self):
        attempt = context()
        for bad in (0.05, 3601):
            with self.assertRaises(ValueError):
                attempt.slow_down("api", bad)
        attempt.slow_down("api", 60)
        attempt.slow_down("acct", 1, key="k")
        attempt.slow_down("api", 30)
        outcome = outcome_of(attempt, None, Snooze(30))
        sent = json.loads(outcome.to_ack("id", 7, [], attempt._slow_down()))
        self.assertEqual(sent["outcome"], "snoozed")
        self.assertEqual(
            sent["slow_down"],
            [{"limit": "api", "for_ms": 30_000}, {"limit": "acct", "for_ms": 1000, "key": "k"}],
        )


class BindingTest(unittest.TestCase):
    def test_parameters_are_members(self):
        def handle(to, copies=1, **more):
            return to, copies, more

        handler = Handler("t", handle, None)
        self.assertEqual(handler.payload_of(("a",), {"x": 1}), {"to": "a", "x": 1})
        self.assertEqual(handler.call({"to": "a", "y": 2}), ("a", 1, {"y": 2}))
        with self.assertRaises(TypeError):
            handler.payload_of((), {})
        with self.assertRaisesRegex(PayloadError, "^payload.to: is missing$"):
            handler.call({})
        with self.assertRaisesRegex(PayloadError, r"^payload: must be an object, .*, not \[1\]$"):
            handler.call([1])

    def test_a_positional_only_parameter_is_the_payload(self):
        handler = Handler("t", lambda payload, /: payload, None)
        self.assertEqual(handler.payload_of(([1, 2],), {}), [1, 2])
        self.assertEqual(handler.call(None), None)
        self.assertEqual(handler.call([1, 2]), [1, 2])

    def test_without_parameters_there_is_no_payload(self):
        handler = Handler("t", lambda: 7, None)
        self.assertIs(handler.payload_of((), {}), UNSET)
        self.assertEqual((handler.call(None), handler.call({})), (7, 7))

    def test_parameters_must_have_names(self):
        for function in (lambda a, b, /: 0, lambda *a: 0, lambda a, /, b: 0):
            with self.assertRaises(TypeError):
                Handler("t", function, None)

    def test_a_type_has_one_handler(self):
        app = Millrace()
        app.job("t")(lambda: 0)
        with self.assertRaises(ValueError):
            app.job("t")(lambda: 0)

    def test_options_are_those_of_a_submission(self):
        app = Millrace()
        with self.assertRaises(TypeError):
            app.job("t", prioritty=1)(lambda: 0)
        made = app.job("t", queue="q", max_attempts=8)(lambda: 0)
        new = made.options(delay=2, max_attempts=3).new()
        self.assertEqual((new.queue, new.delay, new.max_attempts), ("q", 2, 3))
        self.assertIsNone(made.new().delay)


class MiddlewareTest(unittest.TestCase):
    def setUp(self):
        self.calls: list[str] = []

    def note(self, name):
        def wrap(ctx):
            self.calls.append(f"{name} before")
            try:
                result = yield
            finally:
                self.calls.append(f"{name} after")
            return [*result, name]

        return wrap

    def run_both(self, middleware, sync, coroutine):
        """Run the same test with a synchronous and an asynchronous handler."""
        results = []
        for function in (sync, coroutine):
            handler = Handler("t", function, None)
            try:
                if handler.is_async:
                    results.append(asyncio.run(run_async(handler, middleware, context())))
                else:
                    results.append(run_sync(handler, middleware, context()))
            except Exception as error:
                results.append(type(error))
        self.assertEqual(results[0], results[1])
        return results[0]

    def test_the_first_is_the_outermost(self):
        async def coroutine():
            return ["result"]

        result = self.run_both([self.note("a"), self.note("b")], lambda: ["result"], coroutine)
        self.assertEqual(result, ["result", "b", "a"])
        self.assertEqual(self.calls[:4], ["a before", "b before", "b after", "a after"])

    def test_it_sees_and_replaces_errors(self):
        def later(ctx):
            try:
                return (yield)
            except ConnectionError as error:
                raise Snooze(60) from error

        def fail():
            raise ConnectionError

        async def fail_too():
            raise ConnectionError

        self.assertEqual(self.run_both([later], fail, fail_too), Snooze)

    def test_it_may_leave_the_handler_out(self):
        def instead(ctx):
            if ctx is None:
                yield
            return "instead"

        async def coroutine():
            raise AssertionError

        self.assertEqual(self.run_both([instead], lambda: 1 / 0, coroutine), "instead")

    def test_asynchronous_ones_await(self):
        async def twice(ctx, call_next):
            await asyncio.sleep(0)
            return [await call_next(), await call_next()]

        async def coroutine():
            return 1

        handler = Handler("t", coroutine, None)
        self.assertEqual(asyncio.run(run_async(handler, [twice], context())), [1, 1])

    def test_asynchronous_ones_cannot_wrap_synchronous_handlers(self):
        app = Millrace()
        app.job("t")(lambda: 0)

        @app.middleware
        async def wrap(ctx, call_next):
            return await call_next()

        with self.assertRaises(TypeError):
            app.worker()
        with self.assertRaises(TypeError):
            app.middleware(lambda ctx: None)


if __name__ == "__main__":
    unittest.main()
