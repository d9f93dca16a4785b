"""Tests of a queue's fair shares and ageing over HTTP."""

import collections
import time

import harness


class Fair(harness.ServerCase):
    @property
    def path(self):
        return f"/v1/queues/{self.queue}"

    def share(self, **fair):
        reply = self.api.put(self.path, {"fair": fair})
        self.assertIn(reply.status, (200, 201), reply)
        return reply.json["settings"]["fair"]

    def flood(self, key, count, **members):
        keyed = {"fair_key": key} if key else {}
        return self.submit_many(count, **{**keyed, **members})

    def keys_of_next(self, count, at_once=1):
        """The fair keys of the next starts; each job ends at once."""
        keys = []
        while len(keys) < count:
            jobs = self.claim(at_once)
            if not jobs:
                break
            keys += [self.job(job["id"]).get("fair_key", "") for job in jobs]
            for job in jobs:
                self.finish(job)
        return keys

    def job(self, job_id):
        return self.api.get(f"/v1/jobs/{job_id}").json

    def shares(self, **query):
        reply = self.api.get(f"{self.path}/shares", **query)
        self.assertEqual(reply.status, 200, reply)
        return reply.json["items"]

    def test_settings_are_shown_and_checked(self):
        self.assertEqual(self.share(), {"weights": {}, "default_weight": 1, "by": "time"})
        fair = {"weights": {"": 2, "acme": 1000}, "default_weight": 3, "by": "starts"}
        self.assertEqual(self.share(**fair), fair)
        for wrong in (
            {"weights": {"a": 0}},
            {"weights": {"a": 1001}},
            {"weights": {"k" * 129: 1}},
            {"weights": {str(n): 1 for n in range(1001)}},
            {"default_weight": 0},
            {"by": "size"},
            {"weight": 1},
            [],
        ):
            reply = self.api.patch(self.path, {"fair": wrong})
            self.assert_refused(reply, 422, "validation_failed")
        for wrong in (999, 86_400_001, "1m"):
            reply = self.api.patch(self.path, {"ageing_ms": wrong})
            self.assert_refused(reply, 422, "validation_failed")
        reply = self.api.patch(self.path, {"ageing_ms": 5000})
        self.assert_refused(reply, 422, "validation_failed")
        self.assertEqual(reply.places, ["/ageing_ms"])
        aged = self.api.patch(self.path, {"ageing_ms": 5000, "fair": None}).json["settings"]
        self.assertEqual((aged["ageing_ms"], aged["fair"]), (5000, None))

    def test_a_flood_does_not_delay_anothers_first(self):
        self.share(by="starts")
        self.flood("big", 60)
        self.assertEqual(self.keys_of_next(3), ["big"] * 3)
        self.flood("small", 1)
        self.assertEqual(self.keys_of_next(1), ["small"])

    def test_starts_follow_the_weights(self):
        self.share(by="starts", weights={"a": 3, "": 2})
        for key in ("a", "b", ""):
            self.flood(key, 30)
        counted = collections.Counter(self.keys_of_next(36, at_once=4))
        self.assertEqual(counted, {"a": 18, "": 12, "b": 6})

    def test_shares_tell_who_has_what(self):
        self.share(by="starts", weights={"a": 3})
        self.flood("a", 8)
        self.flood("b", 8)
        self.keys_of_next(7)
        self.claim(1)
        a, b = self.shares()
        self.assertEqual((a["key"], a["weight"], b["key"], b["weight"]), ("a", 3, "b", 1))
        self.assertEqual((a["share"], b["share"]), (0.75, 0.25))
        self.assertEqual(a["running"] + b["running"], 1)
        self.assertEqual(a["waiting"] + b["waiting"], 8)
        self.assertEqual([one["key"] for one in self.shares(order="waiting")], ["b", "a"])
        self.assertEqual(len(self.shares(limit=1)), 1)
        first = self.api.get(f"{self.path}/shares", limit=1).json
        rest = self.shares(cursor=first["next_cursor"])
        self.assertEqual([one["key"] for one in rest], ["b"])
        self.assert_refused(self.api.get("/v1/queues/nobody/shares"), 404, "not_found")
        self.api.patch(self.path, {"fair": None})
        self.assertEqual(self.shares(), [])

    def test_a_limit_of_the_queue_takes_the_fair_key(self):
        limit = f"limit-{self.queue}"
        self.api.put(f"/v1/limits/{limit}", {"per_key": True, "concurrency": 1})
        limits = [{"name": limit, "key_from": "fair_key"}]
        reply = self.api.put(self.path, {"limits": limits})
        self.assertEqual(reply.json["settings"]["limits"], limits)
        both = [{"name": limit, "key_from": "fair_key", "key": "k"}]
        self.assert_refused(self.api.put(self.path, {"limits": both}), 422, "validation_failed")
        first, _ = self.flood("a", 2)
        (other,) = self.flood("b", 1)
        plain = self.flood("", 2)
        self.assertEqual(self.job(first)["limits"], [{"name": limit, "key": "a"}])
        self.assertEqual([job["id"] for job in self.claim(9)], [first, other, *plain])
        self.api.put(self.path, {})

    def test_waiting_is_worth_priority(self):
        self.api.put(self.path, {"ageing_ms": 1000})
        old = self.submit(priority=2)["id"]
        time.sleep(2.3)
        new = self.submit(priority=0)["id"]
        self.assertEqual([job["id"] for job in self.claim(2)], [old, new])

    def test_it_survives_a_restart(self):
        self.use(self.new_server().start())
        self.share(by="starts", weights={"a": 4})
        self.flood("a", 40)
        self.flood("b", 40)
        before = self.keys_of_next(7)
        time.sleep(1.5)  # the tables are up to date
        self.server.restart(kill=True)
        self.use(self.server)
        after = self.keys_of_next(8)
        counted = collections.Counter(before + after)
        self.assertEqual(counted, {"a": 12, "b": 3})
        # Not by chance: every five consecutive starts have their share.
        whole = before + after
        for first in range(0, 15, 5):
            self.assertEqual(whole[first : first + 5].count("b"), 1, whole)


if __name__ == "__main__":
    harness.main()
