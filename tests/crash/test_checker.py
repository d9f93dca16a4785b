"""Tests that the checker finds planted violations, and none in a correct history."""

import collections
import unittest

import checker
import history


class Past:
    """A handmade history. Every request takes `LASTS` seconds. A job's id is its name, and its
    payload that of the nonce "NAME:1:8".
    """

    LASTS = 0.01

    def __init__(self):
        self.records = []
        self.jobs = {}
        self.attempts = {}
        self.counts = None
        self.backlog = 0
        self.effects = []

    def add(self, op, at, args, outcome="ok", reply=None, status=200, client="c"):
        end = at + self.LASTS
        record = history.Record(client, op, at, end, outcome, args, reply, status)
        self.records.append(record)
        return record

    def submit(self, name, at, outcome="ok", shown=None, key=None, queue="orders", **job):
        return self.submit_all([name], at, outcome, [shown or name], key, queue, **job)

    def submit_all(self, names, at, outcome="ok", shown=None, key=None, queue="orders", **job):
        members = {"id": None, "priority": 0, "delay_ms": 0, "max_attempts": 3, **job}
        jobs = [{"nonce": f"{name}:1:8", **members} for name in names]
        reply = {"items": [{"status": 201, "id": one} for one in shown or names]}
        args = {"queue": queue, "key": key, "atomic": len(names) > 1, "jobs": jobs}
        return self.add("submit", at, args, outcome, reply if outcome == "ok" else None)

    def claim(self, name, at, token, worker="w", lease_s=2, attempt=1, queue="orders"):
        job = {"id": name, "queue": queue, "token": token, "attempt": attempt, "lease_s": lease_s}
        job["payload"] = history.payload_of(f"{name}:1:8")
        self.add("claim", at, {"worker": worker, "queues": [queue]}, reply={"jobs": [job]})
        self.attempts.setdefault(name, []).append({"worker": worker})

    def ack(self, name, at, token, outcome="succeeded", state=None, status=200, **item):
        item = {"id": name, "token": token, "outcome": outcome, **item}
        if outcome == "succeeded":
            item["result"] = history.result_of(name, token)
        result = {"status": status, "id": name}
        if status == 200:
            result["state"] = state or outcome
        return self.add("ack", at, {"items": [item]}, reply={"items": [result]})

    def extend(self, name, at, token, extend_ms=2000, status=200):
        item = {"id": name, "token": token, "extend_ms": extend_ms}
        reply = {"items": [{"status": status, "id": name}]}
        self.add("extend", at, {"items": [item]}, reply=reply)

    def operate(self, op, name, at, outcome="ok", version=None):
        seen = {"status": 200, "id": name, "version": version}
        self.add(op, at, {"ids": [name]}, outcome, {"items": [seen]})

    def read(self, name, at, version):
        self.operate("read", name, at, version=version)

    def queue_op(self, op, at, queue="orders", outcome="ok", deleted=0):
        self.add(op, at, {"queue": queue}, outcome, {"deleted": deleted})

    def step(self, at, seconds):
        self.add("step", at, {"seconds": seconds})

    def unanswered_claim(self, at, worker):
        self.add("claim", at, {"worker": worker, "queues": ["orders"]}, "maybe")

    def listed(self, name, state="succeeded", token=None, queue="orders", version=1, attempt=1):
        self.jobs[name] = {
            "id": name,
            "queue": queue,
            "state": state,
            "version": version,
            "attempt": attempt,
            "payload": history.payload_of(f"{name}:1:8"),
            "result": history.result_of(name, token) if token else None,
        }
        return self.jobs[name]

    def life(self, name, at=1.0, token=10):
        """One job, correctly submitted, claimed and finished."""
        self.submit(name, at)
        self.claim(name, at + 1, token)
        self.ack(name, at + 1.5, token)
        self.listed(name, token=token)

    def verdict(self):
        counts = collections.defaultdict(collections.Counter)
        for job in self.jobs.values():
            counts[job["queue"]][job["state"]] += 1
        final = {
            "jobs": list(self.jobs.values()),
            "counts": self.counts or counts,
            "attempts": self.attempts,
            "backlog": self.backlog,
            "brief_queues": ["brief"],
            "effects": self.effects,
        }
        self.records.sort(key=lambda record: record.start)
        return checker.check(history.Book(self.records, final))


class Checks(unittest.TestCase):
    def setUp(self):
        self.past = Past()

    def assert_good(self):
        found = [(one.check, one.job, one.text) for one in self.past.verdict().violations]
        self.assertEqual(found, [])

    def assert_found(self, *names):
        """The verdict names exactly these checks."""
        violations = self.past.verdict().violations
        found = {one.check for one in violations}
        self.assertEqual(found, set(names), [one.text for one in violations])

    def test_an_ordinary_life(self):
        self.past.life("a")
        self.past.life("b", at=3, token=11)
        self.assert_good()
        self.assertEqual(self.past.verdict().figures["acknowledged"], 2)
        self.assertEqual(self.past.verdict().figures["completions acknowledged"], 2)

    # H1

    def test_lost(self):
        self.past.life("a")
        self.past.submit("b", 2)
        self.assert_found("H1")
        self.assertEqual(self.past.verdict().figures["lost"], 1)

    def test_a_submission_without_an_answer_may_be_gone(self):
        self.past.submit("a", 1, "maybe")
        self.assert_good()
        self.assertEqual(self.past.verdict().figures["maybes that did not"], 1)

    def test_handed_out_and_lost(self):
        self.past.submit("a", 1, "maybe")
        self.past.claim("a", 2, 10)
        self.assert_found("H1")

    def test_deleted_or_purged_is_not_lost(self):
        self.past.submit("a", 1)
        self.past.operate("delete", "a", 2)
        self.past.submit("b", 1, queue="ops")
        self.past.queue_op("purge", 2, "ops", deleted=1)
        self.assert_good()

    def test_a_purge_before_it_is_no_excuse(self):
        self.past.queue_op("purge", 1)
        self.past.submit("a", 2)
        self.assert_found("H1", "H3")

    def test_what_retention_takes_is_not_lost(self):
        self.past.submit("a", 1, queue="brief")
        self.past.claim("a", 2, 10, queue="brief")
        self.past.ack("a", 2.5, 10)
        self.assert_good()

    def test_retention_takes_nothing_that_was_never_handed_out(self):
        self.past.submit("a", 1, queue="brief")
        self.assert_found("H1")

    # H2

    def test_invented(self):
        self.past.life("a")
        self.past.listed("ghost", "cancelled")
        self.assert_found("H2")

    def test_refused_and_handed_out(self):
        self.past.submit("a", 1, "no")
        self.past.claim("a", 2, 10)
        self.past.ack("a", 2.5, 10)
        self.past.listed("a", token=10)
        self.assert_found("H2", "H18")

    def test_an_altered_payload(self):
        self.past.life("a")
        self.past.jobs["a"]["payload"]["pad"] = "00000000"
        self.assert_found("H2")

    def test_another_queue(self):
        self.past.life("a")
        self.past.jobs["a"]["queue"] = "mail"
        self.assert_found("H2")

    # H3

    def test_counters_that_disagree(self):
        self.past.life("a")
        self.past.counts = {"orders": {"succeeded": 2}}
        self.assert_found("H3")

    def test_more_gone_than_purged(self):
        for name in ("a", "b"):
            self.past.submit(name, 1, queue="ops")
        self.past.queue_op("purge", 2, "ops", deleted=1)
        self.assert_found("H3")

    # H4

    def two_leases(self, second_at):
        self.past.submit("a", 1)
        self.past.claim("a", 2, 10, worker="v", lease_s=2)
        self.past.claim("a", second_at, 11, worker="w", attempt=2)
        self.past.ack("a", second_at + 0.5, 11)
        self.past.listed("a", token=11, attempt=2)

    def test_a_second_lease_after_the_first(self):
        self.two_leases(4.1)
        self.assert_good()

    def test_a_second_lease_too_soon(self):
        self.two_leases(3.5)
        self.assert_found("H4")
        self.assertEqual(self.past.verdict().figures["fencing violations"], 1)

    def test_a_second_lease_in_an_extended_one(self):
        self.past.extend("a", 3, 10)
        self.two_leases(4.1)
        self.assert_found("H4")

    def test_a_second_lease_after_a_release(self):
        self.past.ack("a", 2.5, 10, "released", "ready")
        self.two_leases(3)
        self.assert_good()

    # H5

    def test_tokens_that_fall(self):
        self.past.life("a", at=1, token=10)
        self.past.life("b", at=3, token=9)
        self.assert_found("H5")

    # H6

    def test_a_stale_token_refused(self):
        self.two_leases(4.1)
        self.past.ack("a", 4.3, 10, status=409)
        self.past.extend("a", 4.3, 10, status=409)
        self.assert_good()
        self.assertEqual(self.past.verdict().figures["stale tokens refused"], 2)

    def test_a_stale_token_honoured(self):
        self.two_leases(4.1)
        self.past.ack("a", 4.3, 10, "failed", "dead")
        self.assert_found("H6", "H7")

    def test_a_stale_extension_honoured(self):
        self.two_leases(4.1)
        self.past.extend("a", 4.3, 10)
        self.assert_found("H4", "H6")

    def test_the_same_ack_again_is_no_stale_token(self):
        self.past.ack("a", 2.5, 10, "released", "ready")
        self.two_leases(3)
        self.past.ack("a", 3.3, 10, "released", "ready")
        self.assert_good()

    def test_a_token_that_nobody_was_given(self):
        self.past.life("a")
        self.past.ack("a", 2.2, 7, "released", "ready")
        self.assert_found("H6")

    # H7

    def test_two_completions(self):
        self.two_leases(4.1)
        self.past.ack("a", 3, 10)
        self.assert_found("H7")
        self.assertEqual(self.past.verdict().figures["duplicated"], 1)

    def test_two_completions_with_a_retry_between(self):
        self.past.ack("a", 3, 10)
        self.past.operate("retry", "a", 3.5)
        self.two_leases(4.1)
        self.assert_good()

    def test_an_end_that_is_forgotten(self):
        self.past.life("a")
        self.past.listed("a", "dead")
        self.assert_found("H7")

    def test_an_end_that_nobody_reported(self):
        self.past.submit("a", 1)
        self.past.claim("a", 2, 10)
        self.past.listed("a", token=10)
        self.assert_found("H7")

    def test_another_ones_result(self):
        self.past.life("a")
        self.past.jobs["a"]["result"] = {"job": "a", "token": 99}
        self.assert_found("H7")

    def test_an_ack_repeated_after_a_retry(self):
        """The first try had no answer but took effect; a retry by hand; the second try."""
        self.past.submit("a", 1)
        self.past.claim("a", 2, 10)
        first = self.past.ack("a", 2.2, 10)
        first.outcome, first.reply = "maybe", None
        self.past.operate("retry", "a", 2.4)
        self.past.ack("a", 2.6, 10)
        self.past.listed("a", "cancelled")
        self.assert_good()

    # H8

    def test_too_many_attempts(self):
        self.past.submit("a", 1, max_attempts=1)
        self.past.claim("a", 2, 10, attempt=2)
        self.past.ack("a", 2.5, 10)
        self.past.listed("a", token=10)
        self.assert_found("H8")

    def test_an_attempt_that_the_server_forgot(self):
        self.past.life("a")
        self.past.attempts["a"] = []
        self.assert_found("H8")

    def test_an_attempt_by_nobody(self):
        self.past.life("a")
        self.past.attempts["a"].append({"worker": "stranger"})
        self.assert_found("H8")

    def test_an_attempt_of_a_claim_without_an_answer(self):
        self.past.life("a")
        self.past.unanswered_claim(1.2, "stranger")
        self.past.attempts["a"].append({"worker": "stranger"})
        self.assert_good()

    def test_an_attempt_that_the_server_gave_back(self):
        self.past.life("a")
        self.past.attempts["a"].append({"worker": "stranger", "outcome": "released"})
        self.assert_found("H8")
        self.past.add("claim", 1.3, {"worker": "stranger", "queues": ["orders"]}, reply={"jobs": []})
        self.assert_good()

    # H9

    def delayed(self, claimed_at):
        self.past.submit("a", 1, delay_ms=1000)
        self.past.claim("a", claimed_at, 10)
        self.past.ack("a", claimed_at + 0.5, 10)
        self.past.listed("a", token=10)

    def test_on_time(self):
        self.delayed(2.0)
        self.assert_good()

    def test_early(self):
        self.delayed(1.8)
        self.assert_found("H9")

    def test_the_wall_clock_went_ahead(self):
        self.past.step(1.5, 3600)
        self.delayed(1.8)
        self.assert_good()

    def test_the_wall_clock_went_back(self):
        self.past.step(1.5, -3600)
        self.delayed(1.8)
        self.assert_found("H9")

    def test_early_after_a_snooze(self):
        self.past.ack("a", 2.5, 10, "snoozed", "scheduled", delay_ms=1000)
        self.two_leases(3.2)
        self.assert_found("H9")

    def test_early_after_a_failure(self):
        self.past.ack("a", 2.5, 10, "failed", "retrying")
        self.two_leases(2.55)
        self.assert_found("H9")

    # H10

    def test_in_order(self):
        self.past.life("a", at=1, token=10)
        self.past.life("b", at=1.1, token=11)
        self.assert_good()

    def test_overtaken(self):
        self.past.life("b", at=1.1, token=10)
        self.past.submit("a", 1)
        self.past.claim("a", 3, 11)
        self.past.ack("a", 3.5, 11)
        self.past.listed("a", token=11)
        self.assert_found("H10")

    def test_overtaken_by_what_is_more_urgent(self):
        self.past.life("b", at=1.1, token=10)
        self.past.submit("a", 1, priority=1)
        self.past.claim("a", 3, 11)
        self.past.ack("a", 3.5, 11)
        self.past.listed("a", token=11)
        self.assert_good()

    # H11

    def test_a_read_that_goes_back(self):
        self.past.life("a")
        self.past.read("a", 2.6, version=4)
        self.past.read("a", 2.7, version=3)
        self.past.jobs["a"]["version"] = 4
        self.assert_found("H11")

    def test_a_final_version_that_goes_back(self):
        self.past.life("a")
        self.past.operate("edit", "a", 1.5, version=4)
        self.past.jobs["a"]["version"] = 3
        self.assert_found("H11")

    def test_reads_at_the_same_time(self):
        self.past.life("a")
        self.past.read("a", 2.6, version=4)
        self.past.read("a", 2.605, version=3)
        self.past.jobs["a"]["version"] = 4
        self.assert_good()

    # H12

    def test_one_key_two_jobs(self):
        self.past.life("a")
        self.past.submit("a", 1.1, shown="b", key="k")
        job = self.past.listed("b", "cancelled")
        job["payload"] = history.payload_of("a:1:8")
        self.assert_found("H12")

    def test_one_key_one_job(self):
        self.past.life("a")
        self.past.submit("a", 1.1, key="k")
        self.assert_good()

    # H13

    def hold(self, count, key="a", apart=0.0, lease_s=2):
        """This many jobs with one key, all claimed before the first is done."""
        for n in range(count):
            name = f"{key}{n}"
            self.past.submit(name, 1 + n / 100, limits=[{"name": "keyed", "key": key}])
            self.past.claim(name, 2 + n * apart, 10 + n, lease_s=lease_s)
        for n in range(count):
            self.past.ack(f"{key}{n}", 3.5 + n / 100, 10 + n)
            self.past.listed(f"{key}{n}", token=10 + n)

    def test_as_many_as_a_key_has_slots(self):
        self.hold(3)
        self.assert_good()

    def test_more_than_a_key_has_slots(self):
        self.hold(4)
        self.assert_found("H13")

    def test_a_lease_that_may_be_over_counts_no_more(self):
        self.hold(4, apart=0.35, lease_s=1)
        self.assert_good()

    def test_an_ack_that_may_have_come_frees_a_slot(self):
        self.hold(3)
        self.past.submit("late", 1, limits=[{"name": "keyed", "key": "a"}])
        self.past.claim("late", 3.505, 99)
        self.past.ack("late", 4, 99)
        self.past.listed("late", token=99)
        self.assert_good()

    def start_many(self, count, within_s):
        for n in range(count):
            at = 2 + n * within_s / count
            self.past.submit(f"p{n}", 1 + n / 1000, limits=[{"name": "paced"}])
            self.past.claim(f"p{n}", at, 10 + n)
            self.past.ack(f"p{n}", at + 0.5, 10 + n)
            self.past.listed(f"p{n}", token=10 + n)

    def test_a_bucket_that_is_used_up(self):
        self.start_many(30, 0.01)
        self.assert_good()

    def test_a_bucket_that_is_outrun(self):
        self.start_many(60, 0.1)
        self.assert_found("H13")

    # H16

    def test_stuck(self):
        self.past.life("a")
        self.past.submit("b", 1)
        self.past.listed("b", "ready")
        self.assert_found("H16")

    def test_a_backlog(self):
        self.past.backlog = 3
        self.assert_found("H16")

    # H18

    def test_half_of_an_atomic_batch(self):
        self.past.submit_all(["a", "b"], 1, "maybe")
        self.past.listed("a", "cancelled")
        self.assert_found("H18")

    def test_an_atomic_batch_that_happened(self):
        self.past.submit_all(["a", "b"], 1, "maybe")
        self.past.listed("a", "cancelled")
        self.past.listed("b", "cancelled")
        self.assert_good()
        self.assertEqual(self.past.verdict().figures["maybes that happened"], 2)

    def test_refused_and_there(self):
        self.past.submit("a", 1, "no")
        self.past.listed("a", "cancelled")
        self.assert_found("H2", "H18")

    # H19

    def finish(self, name, effects, state="succeeded"):
        """A job that transactions have submitted and finished, with this many effects."""
        self.past.submit(name, 1, "maybe")
        self.past.add("enqueued", 1, {"ids": [name]}, "ok")
        self.past.claim(name, 2, 10)
        result = history.result_of(name, 10)
        item = {"id": name, "token": 10, "outcome": "succeeded", "result": result}
        self.past.add("ack", 2.5, {"items": [item]}, "maybe")
        self.past.add("finished", 2.5, {"ids": [name]}, "ok")
        self.past.listed(name, state, token=10)
        self.past.effects += [name] * effects

    def test_effects_and_completion_once(self):
        self.finish("a", 1)
        self.assert_good()
        self.assertEqual(self.past.verdict().figures["finished by transactions"], 1)

    def test_effects_twice(self):
        self.finish("a", 2)
        self.assert_found("H19")

    def test_effects_that_are_gone(self):
        self.finish("a", 0)
        self.assert_found("H19")

    def test_effects_of_a_job_that_has_not_succeeded(self):
        self.past.life("a")
        self.past.listed("a", "dead")
        self.past.effects.append("a")
        self.assertIn("H19", {one.check for one in self.past.verdict().violations})

    def test_a_committed_submission_that_is_gone(self):
        self.past.submit("a", 1, "maybe")
        self.past.add("enqueued", 1, {"ids": ["a"]}, "ok")
        self.assert_found("H19")

    # R5

    def test_handed_out_while_paused(self):
        self.past.queue_op("pause", 1.5)
        self.past.queue_op("resume", 2.5)
        self.past.life("a")
        self.assert_found("R5")

    def test_handed_out_before_and_after_a_pause(self):
        self.past.queue_op("pause", 2.2)
        self.past.queue_op("resume", 2.8)
        self.past.life("a", at=1, token=10)
        self.past.life("b", at=2, token=11)
        self.assert_good()

    # L4

    def test_a_lease_lost_too_soon(self):
        self.past.submit("a", 1)
        self.past.claim("a", 2, 10)
        self.past.ack("a", 3, 10, status=409)
        self.past.listed("a", "dead")
        self.assert_found("L4")
        self.assertEqual(self.past.verdict().figures["early"], 1)

    def test_a_lease_lost_in_time(self):
        self.past.submit("a", 1)
        self.past.claim("a", 2, 10)
        self.past.ack("a", 4.5, 10, status=409)
        self.past.listed("a", "dead")
        self.assert_good()

    # Answers

    def test_an_internal_error(self):
        record = self.past.submit("a", 1, "maybe")
        record.status, record.code = 500, "internal"
        self.assert_found("answers")

    def test_a_refusal_for_want_of_room(self):
        record = self.past.submit("a", 1, "maybe")
        record.status, record.code = 503, "storage_unavailable"
        self.assert_good()

    # The checks together

    def test_every_check_has_been_seen_to_fail(self):
        covered = set()
        for name in dir(self):
            if name.startswith("test_") and "every_check" not in name:
                self.past = Past()
                getattr(self, name)()
                covered |= {one.check for one in self.past.verdict().violations}
        self.assertEqual(covered, set(checker.CHECKS) - {"H20"})  # that one: test_flows_checker.py

    def test_a_story_is_told_in_order(self):
        self.past.life("a")
        self.past.verdict()
        book = history.Book(self.past.records, {"jobs": list(self.past.jobs.values())})
        told = book.told("a").splitlines()
        self.assertEqual([line.split()[4] for line in told[:3]], ["submit", "claim", "ack"])
        self.assertIn("succeeded", told[-1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
