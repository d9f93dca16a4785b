"""Tests that H20 finds planted violations of workflows, and none in a correct history."""

import unittest

import flows_checker
import history


class Past:
    """A handmade history of one workflow "w": "b" needs the success of "a", "c" its failure."""

    MEMBERS = [
        {"ref": "a", "job": {}},
        {"ref": "b", "needs": [{"ref": "a", "on": "succeeded"}], "job": {}},
        {"ref": "c", "needs": [{"ref": "a", "on": "failed"}], "job": {}},
    ]
    STATES = {"a": "succeeded", "b": "succeeded", "c": "skipped"}

    def __init__(self):
        self.records = []
        self.policy = "continue"
        self.state, self.states, self.callbacks = "succeeded", dict(self.STATES), ["on_end"]

    def add(self, op, at, args, outcome="ok", reply=None):
        self.records.append(history.Record("c", op, at, at + 0.01, outcome, args, reply, 200))

    def create(self, at=0.0, outcome="ok"):
        body = {"members": self.MEMBERS, "on_member_failed": self.policy, "on_end": {}}
        self.add("flow_create", at, {"name": "w", "body": body}, outcome, {"id": "W"})

    def call(self, op, at, outcome="ok"):
        self.add(f"flow_{op}", at, {"id": "W", "name": "w", "body": None}, outcome)

    def claim(self, ref, at, token, job=None, parents=None, attempt=1, generation=1):
        workflow = {"id": "W", "name": "w", "ref": ref, "role": "member", "generation": generation, "state": "running"}
        shown = {"id": job or ref, "token": token, "attempt": attempt, "type": "flow"}
        self.add("flow_claim", at, {}, reply={"jobs": [{**shown, "workflow": workflow, "parents": parents or {}}]})

    def call_back(self, at, token, job="end", state="succeeded", role="on_end"):
        workflow = {"id": "W", "name": "w", "ref": None, "role": "callback", "generation": 1, "state": state}
        shown = {"id": job, "token": token, "attempt": 1, "type": role}
        self.add("flow_claim", at, {}, reply={"jobs": [{**shown, "workflow": workflow, "parents": {}}]})

    def ack(self, job, at, token, outcome="succeeded", answer="ok"):
        item = {"id": job, "token": token, "outcome": outcome}
        if outcome == "succeeded":
            item["result"] = history.result_of(job, token)
        reply = {"items": [{"id": job, "status": 200}]} if answer == "ok" else None
        self.add("flow_ack", at, {"items": [item]}, answer, reply)

    def parent_of(self, job="a", token=1):
        return {"a": {"id": job, "state": "succeeded", "reason": None, "result": history.result_of(job, token)}}

    def life(self):
        self.create()
        self.claim("a", 1, 1)
        self.ack("a", 2, 1)
        self.claim("b", 3, 2, parents=self.parent_of())
        self.ack("b", 4, 2)
        self.call_back(5, 3)

    def found(self):
        states = list(self.states.values())
        counts = {state: states.count(state) for state in ("blocked", "active", "succeeded", "failed", "skipped")}
        flow = {
            "id": "W",
            "name": "w",
            "state": self.state,
            "generation": 1,
            "on_member_failed": self.policy,
            "counts": counts,
            "callbacks": dict.fromkeys(self.callbacks, "end"),
            "list": [{"ref": ref, "state": state} for ref, state in self.states.items()],
        }
        final = {"jobs": [], "workflows": [flow] if self.state else []}
        self.records.sort(key=lambda record: record.start)
        return [kind for _, _, kind in flows_checker.check(history.Book(self.records, final))]


class H20(unittest.TestCase):
    def setUp(self):
        self.past = Past()

    def test_an_ordinary_life(self):
        self.past.life()
        self.assertEqual(self.past.found(), [])

    def test_released_before_its_need(self):
        self.past.life()
        self.past.claim("b", 1.5, 9)
        self.assertIn("early", self.past.found())

    def test_released_after_the_other_end(self):
        self.past.life()
        self.past.claim("c", 3, 9)
        self.assertIn("early", self.past.found())

    def test_an_unanswered_ack_meets_a_need(self):
        self.past.create()
        self.past.claim("a", 1, 1)
        self.past.ack("a", 2, 1, answer="maybe")
        self.past.claim("b", 3, 2, parents=self.past.parent_of())
        self.past.ack("b", 4, 2)
        self.past.call_back(5, 3)
        self.assertEqual(self.past.found(), [])

    def test_run_again_after_its_end(self):
        self.past.life()
        self.past.claim("a", 3, 9, attempt=2)
        self.assertIn("duplicated", self.past.found())

    def test_made_twice(self):
        self.past.life()
        self.past.claim("a", 1.2, 9, job="another")
        self.assertIn("duplicated", self.past.found())

    def test_an_end_that_is_lost(self):
        self.past.life()
        self.past.states["b"] = "failed"
        self.past.state = "failed"
        self.assertIn("lost", self.past.found())

    def test_a_state_that_does_not_follow(self):
        self.past.life()
        self.past.state = "failed"
        self.assertIn("lost", self.past.found())

    def test_cancelled_by_a_call_alone(self):
        self.past.life()
        self.past.state = "cancelled"
        self.assertIn("lost", self.past.found())
        self.past.call("cancel", 4.5, "maybe")
        self.assertEqual(self.past.found(), [])

    def test_never_ended(self):
        self.past.life()
        self.past.state, self.past.states["b"] = "running", "blocked"
        self.assertIn("stuck", self.past.found())

    def test_gone(self):
        self.past.life()
        self.past.state = None
        self.assertEqual(self.past.found(), ["lost"])

    def test_a_member_that_is_gone(self):
        self.past.life()
        del self.past.states["c"]
        self.assertIn("lost", self.past.found())

    def test_a_callback_twice(self):
        self.past.life()
        self.past.call_back(6, 9, job="another")
        self.assertIn("duplicated", self.past.found())

    def test_a_callback_that_never_came(self):
        self.past.life()
        self.past.records.pop()
        self.assertEqual(self.past.found(), ["lost"])

    def test_a_callback_that_does_not_apply(self):
        self.past.life()
        self.past.call_back(6, 9, job="another", role="on_failure")
        self.assertIn("invented", self.past.found())

    def test_a_result_that_nobody_reported(self):
        self.past.life()
        self.past.claim("b", 3.2, 9, parents=self.past.parent_of(token=7), attempt=2)
        self.assertIn("invented", self.past.found())

    def test_other_parents_for_the_next_attempt(self):
        self.past.life()
        self.past.claim("b", 3.2, 9, attempt=2)
        self.assertEqual(self.past.found(), ["lost"])

    def test_invented(self):
        self.past.create(outcome="no")
        self.assertEqual(self.past.found()[-1], "invented")


if __name__ == "__main__":
    unittest.main(verbosity=2)
