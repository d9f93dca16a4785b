"""Tests that need no server: ids, JSON, times, records, submissions."""

from __future__ import annotations

import datetime
import hashlib
import math
import os
import pickle
import threading
import unittest
import uuid

from millrace import Job, Millrace, NewJob, NotFound, make_id, parse_time
from millrace import _json as json
from millrace._calls import Call, Lost, Repeat, Response, Tries, jittered, read_nothing
from millrace._time import format_time, to_ms, to_rfc3339
from millrace.errors import MillraceError, Unavailable, Unreachable


class IdTest(unittest.TestCase):
    def test_has_the_bits_of_its_queue(self):
        for queue in ("default", "mail", "a/b"):
            made = uuid.UUID(make_id(queue))
            self.assertEqual((made.version, made.variant), (7, uuid.RFC_4122))
            digest = hashlib.sha256(queue.encode()).hexdigest()
            self.assertEqual(made.hex[13:16], digest[:3])

    def test_is_never_the_same_twice_and_rises(self):
        made: list[str] = []
        threads = [
            threading.Thread(target=lambda: made.extend([make_id() for _ in range(2000)]))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(made)), 8000)
        mine = [make_id() for _ in range(1000)]
        self.assertEqual(mine, sorted(mine))

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_a_child_makes_others(self):
        make_id()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, "".join(make_id() for _ in range(100)).encode())
            os._exit(0)
        mine = {make_id() for _ in range(100)}
        os.close(write)
        text = b""
        while part := os.read(read, 65536):
            text += part
        os.close(read)
        os.waitpid(child, 0)
        theirs = {text[n : n + 36].decode() for n in range(0, len(text), 36)}
        self.assertEqual((len(theirs), mine & theirs), (100, set()))


class JsonTest(unittest.TestCase):
    def test_keeps_what_json_can_say(self):
        for value in (2**80, "€\ud800\0", [None, True, 1.5], {"a": {"b": []}}):
            self.assertEqual(json.loads(json.dumps(value)), value)

    def test_refuses_what_it_cannot(self):
        deep: list[object] = []
        for _ in range(100_000):
            deep = [deep]
        for value in (math.nan, math.inf, object(), {1, 2}, deep):
            with self.assertRaises((TypeError, ValueError)):
                json.dumps(value)

    def test_a_number_of_thousands_of_digits_spoils_nothing(self):
        text = f'{{"a": {"9" * 10_000}, "b": 7}}'
        self.assertEqual(json.loads(text)["b"], 7)


class TimeTest(unittest.TestCase):
    def test_durations_are_seconds_or_timedeltas(self):
        self.assertEqual(to_ms("delay", 1.5), 1500)
        self.assertEqual(to_ms("delay", datetime.timedelta(minutes=2)), 120_000)
        for wrong in (-1, math.nan, math.inf):
            with self.assertRaises(ValueError):
                to_ms("delay", wrong)

    def test_instants_know_their_zone(self):
        zone = datetime.timezone(datetime.timedelta(hours=1))
        moment = datetime.datetime(2030, 3, 1, 9, 30, tzinfo=zone)
        self.assertEqual(to_rfc3339(moment), "2030-03-01T08:30:00.000Z")
        self.assertEqual(parse_time("2030-03-01T08:30:00.000Z"), moment)
        self.assertEqual(
            format_time(parse_time("2030-03-01T08:30:00.123Z").timestamp())[-5:], ".123Z"
        )
        with self.assertRaises(ValueError):
            to_rfc3339(datetime.datetime(2030, 3, 1))


class ArgumentTest(unittest.TestCase):
    def test_a_wrong_duration_is_told_with_its_name(self):
        for name in ("delay", "expires_in", "lease", "timeout"):
            with self.assertRaises(ValueError) as caught:
                NewJob("t", **{name: "5m"}).to_wire()
            self.assertRegex(str(caught.exception), f"^{name} takes seconds .* not '5m'; write 300")
        with self.assertRaisesRegex(ValueError, "^grace takes seconds"):
            app = Millrace()
            app.job("t")(lambda: 0)
            app.worker(grace="5m")  # type: ignore[arg-type]

    def test_a_limit_as_text_is_told(self):
        with self.assertRaisesRegex(ValueError, "^limits takes mappings.*not 'provider=acme'"):
            NewJob("t", limits=["provider=acme"]).to_wire()  # type: ignore[list-item]


class ModelTest(unittest.TestCase):
    def test_a_submission_names_only_what_is_given(self):
        self.assertEqual(NewJob("t").to_wire(), {"type": "t"})
        self.assertEqual(NewJob("t", None).to_wire(), {"type": "t", "payload": None})
        wire = NewJob("t", delay=1.5, timeout=2, tags=["a"], expires_at="2030-01-01T00:00:00Z")
        self.assertEqual(
            wire.to_wire(),
            {
                "type": "t",
                "tags": ["a"],
                "expires_at": "2030-01-01T00:00:00Z",
                "delay_ms": 1500,
                "timeout_ms": 2000,
            },
        )

    def test_a_submission_says_what_it_must_pass(self):
        limits = [{"name": "api", "key": "acme", "cost": 2}]
        job = NewJob("t", limits=limits, order_key="o", order_on_failure="pass", fair_key="acme")
        self.assertEqual(
            job.to_wire(),
            {
                "type": "t",
                "limits": limits,
                "order_key": "o",
                "order_on_failure": "pass",
                "fair_key": "acme",
            },
        )

    def test_a_record_shows_its_members_and_no_others(self):
        job = Job({"id": "1", "state": "dead", "new_member": 7})
        self.assertEqual((job.id, job.result, job.new_member, job.has_ended), ("1", None, 7, True))
        with self.assertRaises(AttributeError):
            print(job.stat)
        self.assertEqual(pickle.loads(pickle.dumps(job)), job)

    def test_errors_survive_pickling(self):
        error = NotFound("no such job", code="not_found", status=404, request_id="r-1")
        other = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(other), other.request_id, str(other)), (NotFound, "r-1", str(error)))


def call(method: str = "GET", repeat: Repeat = Repeat.ALWAYS) -> Call[None]:
    return Call(method, "/v1/x", read_nothing, repeat=repeat)


def refusal(status: int, code: str, retry_after: str = "") -> Response:
    body = json.dumps({"status": status, "code": code, "detail": "d"}).encode()
    return Response(status, {"retry-after": retry_after}, body)


class TriesTest(unittest.TestCase):
    def test_the_pause_doubles_up_to_its_bound(self):
        for tries, bound in ((0, 0.1), (3, 0.8), (30, 5.0)):
            pauses = [jittered(tries) for _ in range(2000)]
            self.assertLessEqual(max(pauses), bound)
            self.assertGreater(max(pauses), 0.9 * bound)
            self.assertLess(min(pauses), 0.1 * bound)

    def test_heeds_retry_after(self):
        pause = Tries(call(), 30, 2).answered(refusal(429, "rate_limited", "3"))
        self.assertEqual(pause, 3)

    def test_fails_at_once_if_the_pause_would_pass_the_deadline(self):
        with self.assertRaises(Unavailable) as caught:
            Tries(call(), 2, 2).answered(refusal(503, "draining", "3"))
        self.assertEqual((caught.exception.code, caught.exception.retry_after), ("draining", 3))

    def test_repeats_only_what_may_be(self):
        once = call("POST", Repeat.IF_NOT_BEGUN)
        self.assertIsNotNone(Tries(once, 30, 2).lost(Lost("x", refused=True)))
        self.assertIsNotNone(Tries(once, 30, 2).answered(refusal(503, "overloaded")))
        with self.assertRaises(Unreachable):
            Tries(once, 30, 2).lost(Lost("x"))
        with self.assertRaises(MillraceError):
            Tries(once, 30, 2).answered(refusal(502, "x"))
        with self.assertRaises(MillraceError):
            Tries(call(), 30, 2).answered(refusal(500, "internal"))

    def test_a_repeated_delete_that_finds_nothing_has_succeeded(self):
        tries = Tries(call("DELETE"), 30, 2)
        with self.assertRaises(NotFound):
            tries.answered(refusal(404, "not_found"))
        tries.lost(Lost("x"))
        self.assertIsNone(tries.answered(refusal(404, "not_found")))

    def test_an_answer_of_another_server_says_so(self):
        with self.assertRaises(MillraceError) as caught:
            Tries(call(), 30, 2).answered(Response(404, {}, b"<html>"))
        self.assertEqual((caught.exception.code, caught.exception.status), ("bad_answer", 404))


if __name__ == "__main__":
    unittest.main()
