"""Tests of groups of errors: similar failures, their first time, and the actions on them."""

import contextlib
import time

import harness
import nodes  # whose folder the harness has added


class Groups(harness.MillraceCase):
    """Tests of groups, for any kind of server; `self.queue` has the errors of the test."""

    def fail(self, message, count=1, outcome="dead", version=None, **members):
        """Makes this many jobs fail with this message; returns their ids."""
        ids = self.submit_many(count, **members)
        worker = {"id": f"w-{self.queue}-{version}", "sdk": "curl"}
        if version:
            worker["version"] = version
        jobs = []
        while len(jobs) < count:
            reply = self.api.post(
                "/v1/claim",
                {"queues": [self.queue], "limit": count, "wait_ms": 1000, "worker": worker},
            )
            self.assertEqual(reply.status, 200, reply)
            jobs += reply.json["jobs"]
        for job in jobs:
            members = {"delay_ms": 3_600_000} if outcome == "failed" else {}
            self.finish(job, outcome, error={"type": "Oops", "message": message}, **members)
        return ids

    def groups(self, **query):
        reply = self.api.get("/v1/error-groups", **{"queue": self.queue, "limit": 1000, **query})
        self.assertEqual(reply.status, 200, reply)
        return reply.json["items"]

    def group(self, message, **members):
        """The group of this message, once it has these members."""

        def found():
            groups = [group for group in self.groups() if group["message"] == message]
            has_them = len(groups) == 1 and members.items() <= {name: groups[0][name] for name in members}.items()
            return has_them and groups[0]

        return harness.eventually(found, what=f"the group of {message!r} with {members}")

    def reproject(self):
        """Rebuilds the read models; returns when they are complete."""
        reply = self.api.post("/v1/admin/reproject")
        self.assertEqual(reply.status, 202, reply)
        path = f"/v1/operations/{reply.json['operation']['id']}"

        def ended():
            return self.api.get(path).json["state"] == "completed"

        harness.eventually(ended, 60, what="the end of the operation")

    def patch(self, group, **members):
        reply = self.api.patch(f"/v1/error-groups/{group['id']}", members)
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def events(self, group, *wanted):
        """Waits until exactly these events of the group have been logged."""

        def told():
            reply = self.api.get(
                "/v1/events",
                types=",".join(f"error_group.{w}" for w in ("opened", "reopened", "resolved", "muted")),
                limit=1000,
            )
            self.assertEqual(reply.status, 200, reply)
            return [
                event["type"].split(".")[1]
                for event in reply.json["items"]
                if event["data"]["error_group"] == group["id"]
            ]

        harness.eventually(lambda: told() == list(wanted), what=f"events {wanted}")


class OneServer(Groups, harness.ServerCase):
    def test_what_failed_in_the_same_way_is_one_group(self):
        self.fail("no answer from 'smtp-1' in 30s", 2, version="2.4.0", type="welcome")
        self.fail("no answer from 'smtp-2' in 7s", 1, "failed", version="2.4.1", type="reminder")
        self.fail("another", 1)
        group = self.group("no answer from <text> in #", total=3)
        harness.eventually(lambda: len(self.groups()) == 2, what="the other group")
        self.assertEqual((group["waiting"], group["dead"], group["total"]), (3, 2, 3))
        self.assertEqual((group["status"], group["error_type"]), ("open", "Oops"))
        self.assertEqual(sorted(group["types"]), ["reminder", "welcome"])
        self.assertEqual(group["queues"], [self.queue])
        self.assertEqual((len(group["trend"]), sum(group["trend"][-2:])), (24, 3))
        self.assertEqual({(v["version"], v["count"]) for v in group["versions"]}, {("2.4.0", 2), ("2.4.1", 1)})
        self.assertEqual(len(group["sample"]), 3)
        job = self.job(group["sample"][0])
        self.assertEqual(job["last_error"]["fingerprint"], group["id"])
        found = self.search(f"error:{group['id']}")
        self.assertEqual({j["id"] for j in found}, set(group["sample"]))
        self.assertEqual(self.api.get(f"/v1/error-groups/{group['id']}").json, group)

    def test_lists_are_ordered_filtered_and_paged(self):
        for count, word in ((3, "aa"), (1, "bb"), (2, "cc")):
            self.fail(word, count, type=f"type-{word}")
            self.group(word, total=count)

        def words(**query):
            return [group["message"] for group in self.groups(**query)]

        self.assertEqual(words(), ["cc", "bb", "aa"])
        self.assertEqual(words(order="first_seen"), ["cc", "bb", "aa"])
        self.assertEqual(words(order="count"), ["aa", "cc", "bb"])
        self.assertEqual(words(type="type-bb"), ["bb"])
        self.assertEqual(words(queue="elsewhere"), [])
        self.patch(self.group("bb"), status="resolved")
        self.group("bb", status="resolved")
        self.assertEqual(words(status="open"), ["cc", "aa"])
        self.assertEqual(words(status="resolved,muted"), ["bb"])
        paged, cursor = [], None
        while True:
            query = {"queue": self.queue, "limit": 1, "order": "count"}
            if cursor:
                query["cursor"] = cursor
            page = self.api.get("/v1/error-groups", **query).json
            paged += [group["message"] for group in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        self.assertEqual(paged, ["aa", "cc", "bb"])

    def test_a_resolved_group_opens_again_when_it_comes_back(self):
        self.fail("again")
        group = self.group("again")
        self.events(group, "opened")
        resolved = self.patch(group, status="resolved", note="fixed in 2.4.1")
        self.assertEqual((resolved["status"], resolved["note"]), ("resolved", "fixed in 2.4.1"))
        self.fail("again")
        again = self.group("again", status="open", total=2)
        self.assertIsNotNone(again["reopened_at"])
        self.assertEqual((again["note"], again["total"]), ("fixed in 2.4.1", 2))
        self.events(group, "opened", "resolved", "reopened")

    def test_a_muted_group_is_open_when_its_time_is_over(self):
        self.fail("loud")
        group = self.group("loud")
        until = harness.rfc3339(time.time() + 8)
        muted = self.patch(group, muted_until=until)
        self.assertEqual((muted["status"], muted["muted_until"]), ("muted", until))
        self.fail("loud")
        self.assertEqual(self.group("loud", total=2)["status"], "muted")
        harness.eventually(lambda: self.group("loud")["status"] == "open", what="open again")
        self.assertIsNone(self.group("loud")["muted_until"])
        self.assertEqual(self.patch(group, status="muted")["muted_until"], None)
        self.events(group, "opened", "muted", "muted")

    def test_what_was_said_survives_a_kill(self):
        self.fail("kept", 2)
        group = self.group("kept", total=2)
        self.patch(group, status="muted", note="known")
        self.server.restart(kill=True)
        self.use(self.server)
        after = self.group("kept", total=2)
        self.assertEqual((after["status"], after["note"]), ("muted", "known"))
        for member in ("waiting", "dead", "total", "first_seen", "last_seen", "sample"):
            self.assertEqual(after[member], group[member], member)

    def test_a_canary_tells_how_it_went(self):
        self.fail("canary", 3)
        group = self.group("canary", dead=3)
        for outcome, state in (("succeeded", "succeeded"), ("dead", "failed")):
            reply = self.api.post(f"/v1/error-groups/{group['id']}/retry", {"mode": "canary"})
            self.assertEqual(reply.status, 200, reply)
            canary = reply.json["canary"]
            self.assertEqual(canary["state"], "running")
            job = self.claim_within()
            self.assertEqual(job["id"], canary["job"])
            error = {"error": {"type": "Oops", "message": "canary"}} if outcome == "dead" else {}
            self.finish(job, outcome, **error)
            harness.eventually(lambda: self.group("canary")["canary"]["state"] == state, what=state)
        self.group("canary", dead=2)

    def test_all_are_retried_or_deleted(self):
        ids = self.fail("many", 5)
        self.fail("others", 1)
        group = self.group("many", dead=5)
        reply = self.api.post(f"/v1/error-groups/{group['id']}/retry", {"mode": "all"})
        self.assertIn(reply.status, (200, 202), reply)
        harness.eventually(lambda: self.group("many")["waiting"] == 0, what="all are retried")
        self.assertEqual({self.state(job_id) for job_id in ids}, {"ready"})
        for job in self.claim(limit=5):
            self.finish(job, "dead", error={"type": "Oops", "message": "many"})
        harness.eventually(lambda: self.group("many")["dead"] == 5, what="all are dead again")
        reply = self.api.post(f"/v1/error-groups/{group['id']}/delete")
        self.assertIn(reply.status, (200, 202), reply)
        harness.eventually(lambda: self.group("many")["waiting"] == 0, what="all are deleted")
        for job_id in ids:
            self.assertEqual(self.api.get(f"/v1/jobs/{job_id}").status, 404)
        self.group("others", waiting=1)
        reply = self.api.post(f"/v1/error-groups/{group['id']}/retry", {"mode": "canary"})
        self.assert_refused(reply, 409, "invalid_state")

    def test_made_anew_from_the_log_they_are_what_they_were(self):
        self.fail("anew", 3, version="7.0")
        self.fail("anew", 1, "failed")
        group = self.group("anew", total=4)
        self.patch(group, note="stays")
        before = self.group("anew", note="stays")
        self.reproject()

        def differences():
            now = [g for g in self.groups() if g["message"] == "anew"]
            if len(now) != 1:
                return now
            return {m: (value, now[0][m]) for m, value in before.items() if now[0][m] != value}

        with contextlib.suppress(AssertionError):
            harness.eventually(lambda: not differences(), what="the same group")
        self.assertEqual(differences(), {})

    def test_what_it_refuses(self):
        self.fail("refused")
        path = f"/v1/error-groups/{self.group('refused')['id']}"
        for body, places in (
            ({}, [""]),
            ({"status": "closed"}, ["/status"]),
            ({"status": "open", "muted_until": "2099-01-01T00:00:00Z"}, ["/muted_until"]),
            ({"muted_until": "2001-01-01T00:00:00Z"}, ["/muted_until"]),
            ({"note": "x" * 1025}, ["/note"]),
            ({"colour": 1}, ["/colour"]),
        ):
            self.assert_fault(body, places, path, "PATCH")
        self.assertEqual(self.patch({"id": path[-16:]}, note="x" * 1024)["note"], "x" * 1024)
        self.assert_fault({}, "/mode", f"{path}/retry")
        self.assert_fault({"mode": "canary", "rate_per_s": 1}, "/rate_per_s", f"{path}/retry")
        for unknown in ("0" * 16, "x", path[-16:].upper() + "0"):
            self.assertEqual(self.api.get(f"/v1/error-groups/{unknown}").status, 404)
        for query, name in (
            ({"status": "dead"}, "status"),
            ({"order": "size"}, "order"),
            ({"cursor": "zz"}, "cursor"),
            ({"limit": 1001}, "limit"),
        ):
            reply = self.api.get("/v1/error-groups", **query)
            self.assert_refused(reply, 422, "validation_failed", name)

    def test_the_command_line(self):
        self.fail("cli", 2)
        group = self.group("cli", dead=2)
        shown = self.server.cli("error", "list", "--queue", self.queue)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertIn(group["id"], shown.stdout)
        for args, text in (
            (("get", group["id"]), "2 jobs, 2 dead"),
            (("note", group["id"], "look here"), "look here"),
            (("mute", group["id"], "--until", "+1h"), "muted until"),
            (("resolve", group["id"]), "resolved"),
            (("reopen", group["id"]), "open"),
            (("retry", group["id"]), "running: job"),
            (("retry", group["id"], "--all"), "has begun, for "),
        ):
            shown = self.server.cli("error", *args)
            self.assertEqual((shown.returncode, shown.stderr), (0, ""), (args, shown))
            self.assertIn(text, shown.stdout, args)
        harness.eventually(lambda: self.counts().get("ready") == 2, what="both are retried")
        shown = self.server.cli("error", "delete", group["id"], "--yes")
        self.assertEqual(shown.returncode, 0, shown)
        shown = self.server.cli("error", "get", "0" * 16)
        self.assertEqual(shown.returncode, 3, shown)
        shown = self.server.cli("admin", "reproject")
        self.assertEqual(shown.returncode, 0, shown)

    def test_metrics(self):
        self.fail("counted")
        self.group("counted")

        def text():
            return self.api.get("/metrics").body.decode()

        harness.eventually(lambda: 'millrace_error_groups{status="open"}' in text(), what="a count")
        for name in (
            "millrace_read_models_lag_seconds",
            "millrace_error_groups_evicted_total",
            'millrace_read_models_jobs{kind="failed"}',
        ):
            self.assertIn(f"\n{name} ", text())


class Several(Groups):
    """Three nodes, one of which is killed."""

    patience_s = harness.PATIENCE_S

    def test_any_node_tells_of_all_and_a_takeover_loses_and_doubles_nothing(self):
        self.nodes = nodes.Nodes(3)
        self.addCleanup(self.nodes.close)
        self.nodes.start()
        queues = list(self.nodes.queue_on_each_shard().values())
        self.use(self.nodes[0])

        def fail_everywhere(api):
            for queue in queues:
                reply = api.post("/v1/jobs", {"type": "work", "queue": queue})
                self.assertEqual(reply.status, 201, reply)
            failed = 0
            while failed < len(queues):
                for job in self.claim(50, queues, api, wait_ms=500):
                    item = {
                        "id": job["id"],
                        "token": job["lease"]["token"],
                        "outcome": "dead",
                        "error": {"type": "Oops", "message": "everywhere"},
                    }
                    reply = api.post("/v1/ack", {"items": [item]})
                    self.assertEqual(reply.json["results"][0]["status"], 200, reply)
                    failed += 1

        def seen(api):
            items = api.get("/v1/error-groups").json["items"]
            found = [group for group in items if group["message"] == "everywhere"]
            return found[0] if len(found) == 1 else {"total": 0, "dead": 0}

        def counted(api):
            groups = api.get("/v1/stats", by="type", window_ms=600_000).json["groups"]
            return sum(sum(group["dead"]) for group in groups)

        fail_everywhere(self.api)
        for server in self.nodes.running:
            api = self.new_client(server)
            harness.eventually(lambda: seen(api)["dead"] == len(queues), 60, what="all dead ones")
            harness.eventually(lambda: counted(api) == len(queues), 60, what="the statistics")
        group = seen(self.api)
        reply = self.new_client(self.nodes[1]).patch(
            f"/v1/error-groups/{group['id']}", {"status": "muted", "note": "n"}
        )
        self.assertEqual(reply.status, 200, reply)
        for server in self.nodes.running:
            api = self.new_client(server)
            harness.eventually(lambda: seen(api)["status"] == "muted", what="the status anywhere")
        self.nodes[0].kill()
        api = self.new_client(self.nodes[1])

        def all_led():
            reply = api.get("/readyz")
            return reply.status == 200

        harness.eventually(all_led, 30, what="the takeover")
        self.use(self.nodes[1])
        fail_everywhere(api)
        for server in (self.nodes[1], self.nodes[2]):
            other = self.new_client(server)
            wanted = 2 * len(queues)
            harness.eventually(lambda: seen(other)["total"] == wanted, 60, what="both rounds")
            harness.eventually(lambda: counted(other) == wanted, 60, what="the statistics")
        self.reproject()
        for server in (self.nodes[1], self.nodes[2]):
            other = self.new_client(server)
            harness.eventually(lambda: seen(other)["total"] == wanted, 60, what="made anew")
            harness.eventually(lambda: counted(other) == wanted, 60, what="the statistics")
            self.assertEqual(seen(other)["note"], "n")


if __name__ == "__main__":
    harness.main()
