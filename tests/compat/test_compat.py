"""Tests that this program opens the stores of older ones: their contents are complete, and work
goes on. sample.py describes the samples; make.py makes them.
"""

import gzip
import itertools
import json
import pathlib
import re
import time
import unittest

import sample
import story
import workflow_chapter
from sample import harness, postgres
from workflows import FINAL, WorkflowWords

LIBFAKETIME = next(map(str, pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)


# The contents of PostgreSQL's views, in the API's form.
OF_SHARDS = {"share_taken", "shares_set"}
TIME = """to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"""
JOB_COLUMNS = {
    **{name: name for name in ("queue", "type", "state", "priority", "attempt", "worker", "error")},
    **{name: TIME.format(name) for name in ("created_at", "run_at", "started_at", "finished_at")},
    "payload": "convert_from(payload_bytes, 'UTF8')",
    "result": "coalesce(convert_from(result_bytes, 'UTF8'), 'null')",
}
ATTEMPT_COLUMNS = {
    **{name: name for name in ("attempt", "outcome", "worker", "error")},
    **{name: TIME.format(name) for name in ("started_at", "finished_at")},
}


def shown(job, columns):
    error = job["error"] and f"{job['error']['type']}: {job['error']['message']}"
    return {name: job[name] for name in columns if name != "error"} | {"error": error}


def newest():
    """The samples of each store's newest level."""
    there = sample.samples()
    levels = {each.store: each.level for each in sorted(there, key=lambda each: each.level)}
    return [each for each in there if each.level == levels[each.store]]


class Samples(unittest.TestCase):
    """Tests that there is a sample of everything that was ever written."""

    def test_each_level_has_its_samples(self):
        levels = range(1, sample.newest_level() + 1)
        wanted = {
            f"{store}-{level}-{end}"
            for store, level, end in itertools.product(sample.SUFFIXES, levels, ("stopped", "killed"))
        }
        there = {each.name for each in sample.samples()}
        self.assertEqual(wanted - there, set(), "see docs/internals/testing.md: a new level needs a sample")

    def test_the_matrix_of_upgrades_has_each_level(self):
        page = (sample.ROOT / "UPGRADING.md").read_text()
        listed = [int(level) for level in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)]
        self.assertEqual(listed, list(range(1, sample.newest_level() + 1)))

    def test_each_has_both_its_files_and_nothing_else_is_there(self):
        files = {path.name for each in sample.samples() for path in (each.archive, each.said)}
        self.assertEqual({path.name for path in sample.STORES.iterdir()}, files)

    def test_the_newest_have_every_state_that_a_job_can_be_in(self):
        known = set(re.findall(r"(?<![A-Z_])STATE_(\w+) = [1-9]", sample.proto())) - {"BLOCKED"}  # nothing makes it yet
        for each in newest():
            states = {job["state"].upper() for job in each.expected()["jobs"].values()}
            self.assertEqual(known - states, set(), each)

    def test_the_newest_have_every_outcome_of_an_attempt(self):
        known = set(re.findall(r"OUTCOME_(\w+) = [1-9]", sample.proto()))
        for each in newest():
            jobs = each.expected()["jobs"].values()
            outcomes = {attempt["outcome"].upper() for job in jobs for attempt in job["attempts"]}
            self.assertEqual(known - outcomes, set(), each)

    def test_the_newest_have_everything_that_becomes_of_workflows(self):
        def known(enumeration, *others):
            return set(re.findall(rf"{enumeration}_(\w+) = [1-9]", sample.proto())) - {"NONE", *others}

        def said(items, member):
            return {item[member].upper() for item in items if item[member]}

        for each in newest():
            flows = each.expected()["workflows"].values()
            members = [member for flow in flows for member in flow["listed"]]
            # Nothing undoes anything yet.
            states = known("WORKFLOW_STATE", "COMPENSATING", "STUCK")
            self.assertEqual(states - said(flows, "state"), set(), each)
            self.assertEqual(known("WORKFLOW_REASON") - said(flows, "reason"), set(), each)
            self.assertEqual(known("MEMBER_STATE") - said(members, "state"), set(), each)
            # A single shard refuses the ack.
            elsewhere = {"GROWTH_REFUSED"} if each.store == "sqlite" else set()
            self.assertEqual(known("MEMBER_REASON", *elsewhere) - said(members, "reason"), set(), each)

    def test_the_newest_have_every_event_in_their_journals(self):
        known = set(sample.known_events().values())
        for each in newest():
            missing = known - set(each.expected()["journal"]["events"])
            # Transactions finish jobs on PostgreSQL only, where there are several shards.
            elsewhere = {"finished", *OF_SHARDS} if each.store == "sqlite" else set()
            elsewhere |= {"operations_forgotten"}  # a week after their end
            self.assertLessEqual(missing, elsewhere, each)

    def test_each_is_of_its_level_and_end(self):
        for each in sample.samples():
            journal = each.expected()["journal"]
            self.assertEqual(journal["levels"][-1], each.level, each)
            self.assertEqual(journal["rows_behind"] > 0, each.end == "killed", each)

    def test_a_changed_byte_is_noticed(self):
        for each in sample.samples():
            for place in (-1, each.archive.stat().st_size // 2):
                altered = bytearray(each.archive.read_bytes())
                altered[place] ^= 1
                with self.assertRaises((gzip.BadGzipFile, EOFError, gzip.zlib.error), msg=each):
                    gzip.decompress(altered)


def differences(expected, actual, place=""):
    """The places at which an answer differs from the expected one. Newer members and later events
    are ignored.
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name, member in expected.items():
            if name not in actual:
                yield f"{place}/{name} is missing"
            else:
                yield from differences(member, actual[name], f"{place}/{name}")
    elif isinstance(expected, list) and isinstance(actual, list):
        if len(expected) > len(actual) or (len(expected) < len(actual) and "/events" not in place):
            yield f"{place} has {len(actual)} items, not {len(expected)}: {actual}"
        for number, pair in enumerate(zip(expected, actual)):
            yield from differences(*pair, f"{place}/{number}")
    elif expected != actual or type(expected) is not type(actual):
        yield f"{place} is {actual!r}, not {expected!r}"


class Differences(unittest.TestCase):
    def test_what_counts_as_one(self):
        said = {"a": 1, "list": [{"b": None}], "events": [1]}
        self.assertEqual(list(differences(said, {**said, "new": 2, "events": [1, 2]})), [])
        for change in (
            {"a": 2},
            {"a": True},
            {"list": []},
            {"list": [{}]},
            {"list": [{"b": None}, 1]},
            {"events": []},
        ):
            self.assertEqual(len(list(differences(said, {**said, **change}))), 1, change)


class Sampled(WorkflowWords, harness.MillraceCase):
    """A server on a sample. `told` has the story's values, `expected` the answers of the program
    that left it.
    """

    def open(self, each, env=None):
        self.each, self.expected = each, each.expected()
        server = self.new_server(*sample.SERVE, sample.WINDOW, env=env)
        self.database = None
        if each.store == "postgres":
            self.database = sample.Database(postgres.shared(), each.restore(postgres.shared()))
            server.database = self.database.url
            store = self.database
        else:
            server.database = None
            store = sample.Directory(each.unpack(server.data))
        self.assertEqual(sample.say_journal(store), self.expected["journal"])
        self.use(server.start())
        now = sample.get(self.api, "/v1/meta").json["server_time"]
        made_at = self.expected["made_at"]
        self.young = harness.seconds(now) < harness.seconds(made_at) + sample.TEN_YEARS_S

    def use(self, server):
        super().use(server)
        self.told = story.Story()
        self.addCleanup(self.told.doCleanups)
        self.told.use(server)

    def id_of(self, role):
        return self.expected["roles"][role]

    def id_of_workflow(self, name):
        return self.expected["workflows"][name]["id"]

    def of_state(self, *states):
        """The jobs that were in these states when the older program ended, but for those of workflows."""
        jobs = self.expected["jobs"].items()
        return {job_id for job_id, job in jobs if job["state"] in states and not job.get("workflow")}

    # The contents are complete.

    def everything_is_there(self):
        jobs = {job_id: sample.say_job(self.api, job_id) for job_id in self.expected["jobs"]}
        queues = {queue: sample.say_queue(self.api, queue) for queue in self.expected["queues"]}
        schedules = self.expected.get("schedules", {})  # older samples have none
        workflows = self.expected.get("workflows", {})
        settings = self.expected.get("settings", {})
        found = [
            *differences(self.expected["jobs"], jobs),
            *differences(self.expected["queues"], queues),
            *differences(schedules, self.schedules_now()),
            *differences(workflows, self.workflows_now()),
            *differences(settings, {path: sample.say_settings(self.api, path) for path in settings}),
        ]
        if self.young:
            found += differences({"events": self.expected["events"]}, {"events": sample.say_events(self.api)})
        self.assertEqual(found, [])
        self.assertEqual(self.listed_workflows(), {flow["id"]: flow["state"] for flow in workflows.values()})
        expected = re.compile("the configuration has no tokens|path=/readyz status=503|path=/v1/jobs/.* status=404")
        complaints = [line for line in self.server.log.splitlines() if not expected.search(line)]
        self.assertEqual(complaints, [])

    def schedules_now(self):
        names = self.expected.get("schedules", {})
        return {name: sample.say_schedule(self.api, name) for name in names}

    def workflows_now(self):
        there = self.expected.get("workflows", {})
        return {name: sample.say_workflow(self.api, flow["id"]) for name, flow in there.items()}

    def listed_workflows(self):
        """The states by id, from the tables."""
        return {flow["id"]: flow["state"] for flow in sample.get(self.api, "/v1/workflows", fresh="true").json["items"]}

    def what_ended_is_known(self):
        """A repeated ack gets the first answer; a lost lease stays lost."""
        for role, end in self.expected["ended"].items():
            if role not in self.expected["roles"]:
                continue  # its job is gone
            item = {"id": self.id_of(role), "token": end["token"], "outcome": end["outcome"]}
            more = {"delay_ms": 1} if end["outcome"] == "snoozed" else {}
            (result,) = self.api.post("/v1/ack", {"items": [{**item, **more}]}).json["results"]
            self.assertEqual((result["status"], result.get("state")), (200, end["state"]), role)
        for role, token in self.expected["lost"].items():
            item = {"id": self.id_of(role), "token": token, "outcome": "succeeded"}
            (result,) = self.api.post("/v1/ack", {"items": [item]}).json["results"]
            self.assertEqual(result["error"]["code"], "lease_lost", role)

    def keys_hold(self):
        taken = {
            "type": "t",
            "queue": self.told.MAIN,
            "unique": {"key": "ключ", "on_conflict": "reject"},
        }
        self.assert_refused(self.api.post("/v1/jobs", taken), 409, "duplicate_job")
        if not self.young:
            return
        for role, members in (
            ("with-a-key", story.WITH_A_KEY),
            ("succeeded-and-holds-its-key", story.UNIQUE_FOR_LONG),
        ):
            reply = self.told.make(role, **members)
            self.assertEqual((reply.status, reply.json["id"]), (200, self.id_of(role)), role)
        for role, job_id in self.told.batch().items():
            self.assertEqual(job_id, self.id_of(role), role)
        if "workflows" in self.expected:
            chapter = workflow_chapter.Chapter(self.told)
            for name, reply in (
                ("complete", chapter.create_the_complete_one()),
                ("goes-on", chapter.create(**workflow_chapter.HELD)),
            ):
                self.assertEqual((reply.status, reply.json["id"]), (200, self.id_of_workflow(name)), name)

    def views_show_it(self):
        """The views show the same to readers of the database."""
        if self.database is None:
            return
        sample.await_tables(self.api)
        jobs, attempts = {}, {}
        for job_id, job in self.expected["jobs"].items():
            *earlier, latest = job["attempts"] or [{"worker": None}]
            of_last = {"worker": latest["worker"], "error": job["last_error"]}
            jobs[job_id] = shown({**job, **of_last}, JOB_COLUMNS)
            attempts.update({f"{job_id} {each['n']}": shown(each, ATTEMPT_COLUMNS) for each in earlier})
        self.assertEqual(list(differences(jobs, self.rows("id::text", "jobs", JOB_COLUMNS))), [])
        n_th = "concat(job_id, ' ', n)"
        self.assertEqual(list(differences(attempts, self.rows(n_th, "attempts", ATTEMPT_COLUMNS))), [])

    def rows(self, key, view, columns):
        pairs = ", ".join(f"'{name}', {column}" for name, column in columns.items())
        rows = f"json_object_agg({key}, json_build_object({pairs}))"
        return json.loads(self.database.sql(f"SELECT {rows} FROM millrace.{view}"))

    # Work goes on.

    def running_jobs_finish(self):
        for role, token in self.expected["leases"].items():
            job = {"id": self.id_of(role), "lease": {"token": token}}
            beat = {"items": [{"id": job["id"], "token": token}]}
            (result,) = self.api.post("/v1/heartbeat", beat).json["results"]
            self.assertEqual(result["status"], 200, role)
            if result["cancel_requested"]:
                self.assertIn(role, ("to-be-cancelled", "stops.runs"))
                self.assertEqual(self.finish(job, "cancelled"), "cancelled")
            else:
                self.assertEqual(self.finish(job, result=[role]), "succeeded")
                self.assertEqual(self.job(job["id"], include="result")["result"], [role])
        jobs = self.expected["jobs"].items()
        running = {job_id for job_id, job in jobs if job["state"] == "running"}
        self.assertEqual(set(map(self.id_of, self.expected["leases"])), running)

    def gates_open(self):
        """Opens the limits and gates of types that hold jobs back."""
        for path, settings in self.expected.get("settings", {}).items():
            if path.startswith("/v1/types/"):
                self.assertEqual(self.api.put(path, {}).status, 200)
            if path.startswith("/v1/limits/") and settings["per_key"]:
                for key in settings["keys"]:
                    self.assertEqual(self.api.post(path + "/resume", {"key": key}).status, 200)

    def ready_jobs_run(self, wanted):
        """Runs exactly these jobs, each once."""
        queues, ran = list(self.expected["queues"]), []
        claim = {"queues": queues, "worker": {"id": "w"}, "lease_ms": 60_000}
        while jobs := self.api.post("/v1/claim", claim):
            text = jobs.body.decode()
            if not jobs.json["jobs"]:
                break
            (job,) = jobs.json["jobs"]
            before = self.expected["jobs"][job["id"]]
            self.assertEqual(sample.raw_member(text, "payload"), before["payload"])
            found = differences({name: before[name] for name in ("queue", "type", "tags", "meta", "priority")}, job)
            self.assertEqual(list(found), [])
            if job["type"] == "ready":
                self.assertEqual(job["tracestate"], story.TRACESTATE)
            self.assertEqual(self.finish(job), "succeeded")
            ran.append(job["id"])
        self.assertEqual(sorted(ran), sorted(wanted))

    def waiting_and_dead_jobs_run(self):
        cancelled = self.id_of("scheduled")
        reply = self.api.post(f"/v1/jobs/{cancelled}/cancel", {"reason": "it has waited long enough"})
        self.assertEqual(reply.status, 200, reply)
        waiting = self.of_state("scheduled", "retrying") - {cancelled}
        for job_id in waiting:
            reply = self.api.patch(f"/v1/jobs/{job_id}", {"run_at": "2001-01-01T00:00:00Z"})
            self.assertEqual((reply.status, reply.json["state"]), (200, "ready"), reply)
        # An attempt of a few milliseconds is over before this has acked it.
        hasty = {
            job_id
            for job_id, job in self.expected["jobs"].items()
            if (job.get("timeout_ms") or story.TEN_YEARS_MS) < 60_000
        }
        dead = self.of_state("dead", "expired") - hasty
        for job_id in dead:
            reply = self.api.post(f"/v1/jobs/{job_id}/retry")
            self.assertEqual(reply.status, 200, reply)
            self.assertEqual(reply.json["generation"], self.expected["jobs"][job_id]["generation"] + 1)
        self.ready_jobs_run(waiting | dead)
        for job_id in dead:
            before = self.expected["jobs"][job_id]["attempts"]
            attempts = sample.say_job(self.api, job_id)["attempts"]
            self.assertEqual([each["n"] for each in attempts], list(range(1, len(before) + 2)))
            self.assertEqual(list(differences(before, attempts[:-1])), [])

    def workflows_go_on(self):
        """What their members need has run: each goes on to its end, and one is retried then."""
        if "workflows" not in self.expected:
            return
        wanted = {
            "goes-on.ready": {"twice": "succeeded"},
            "goes-on.last": {"near": "succeeded", "away": "succeeded", "ready": "succeeded"},
            "goes-on.on_success": None,
            "goes-on.on_end": None,
            "bounded.one": None,
            "bounded.two": None,
            "failed.on_failure": None,
            "stops.on_failure": None,
            "stops.on_end": None,
        }
        for name in ("by-schedule-flow", "by-ack", "by-sql"):
            if name in self.expected["workflows"]:
                wanted |= {f"{name}.one": None, f"{name}.two": {"one": "succeeded"}, f"{name}.on_end": None}
        self.workflow_jobs_run(wanted)
        for role in ("goes-on.ready", "failed.on_failure"):
            self.assertEqual(self.state(self.id_of(role)), "succeeded", role)
        self.call(self.id_of_workflow("bounded"), "close")
        self.ends("goes-on", "succeeded", generation=2, result=["goes-on.last"])
        self.ends("bounded", "succeeded")
        self.ends("stops", "cancelled", cancel_reason="stop, «bitte»")
        limit = self.api.put("/v1/limits/soon-gone", {"concurrency": 1})
        self.assertEqual(limit.status, 201, limit)
        self.call(self.id_of_workflow("failed"), "retry")
        self.workflow_jobs_run({"failed.refused": {"rescue": "succeeded"}, "failed.far-off": None})
        self.ends("failed", "succeeded", generation=2)
        self.assertEqual(self.one(self.id_of_workflow("failed"), "after")["state"], "skipped")
        gone = self.id_of_workflow("cancelled")
        self.assertEqual(self.api.delete(self.path(gone)).status, 204)
        self.assert_refused(self.api.get(self.path(gone)), 404, "not_found")
        for role in ("cancelled.waits", "cancelled.far-off"):
            path = f"/v1/jobs/{self.id_of(role)}"
            harness.eventually(lambda path=path: self.api.get(path).status == 404, what=f"the end of {role}")

    def a_workflow_is_made(self):
        """Of a level that the sample may not have had."""
        queues = [self.told.FLOWS, self.told.FAR_FLOWS]
        near, far = ({"ref": queue, "job": {"type": queue, "queue": queue}} for queue in queues)
        made = self.made(near, {**far, "needs": [near["ref"]]}, queue=self.told.FLOWS)
        for queue in queues:
            self.run_one(queue, queues=[queue])
        self.assertEqual(self.ended(made)["state"], "succeeded")

    def workflow_jobs_run(self, wanted):
        """Runs exactly these jobs of workflows, each once, in any order. Each has the states of its parents."""
        ran = {}
        while len(ran) < len(wanted):
            job = self.claim_within(queues=[self.told.FLOWS, self.told.FAR_FLOWS])
            parents = job.get("parents")
            self.assertNotIn(job["type"], ran)
            ran[job["type"]] = parents and {ref: parent["state"] for ref, parent in parents.items()}
            self.assertEqual(self.finish(job, result=[job["type"]]), "succeeded")
        self.assertEqual(ran, wanted)

    def ends(self, name, state, **members):
        found = self.ended(self.id_of_workflow(name), include="result")
        self.assertEqual(found["state"], state, found)
        self.assertEqual({each: found[each] for each in members}, members)

    def the_outbox_goes_on(self):
        follower = self.expected["outbox"]
        if follower is None:
            return
        path = f"/v1/jobs/{follower['id']}"
        self.assertEqual(self.api.get(path).status, 404)
        reply = self.api.patch(f"/v1/queues/{follower['queue']}", {"max_ready": None})
        self.assertEqual(reply.status, 200, reply)
        harness.eventually(lambda: self.api.get(path).status == 200, 30, what="what waited in the outbox")
        job = self.job(follower["id"], include="payload")
        self.assertEqual(list(differences({**follower, "unique": job["unique"]}, job)), [])
        self.assertEqual(job["unique"]["key"], follower["unique"]["key"])
        claimed = self.claim_one(queues=[follower["queue"]], types=[follower["type"]])
        self.assertEqual(self.finish(claimed), "succeeded")

    def the_inbox_goes_on(self):
        if not self.expected["inbox"]:
            return
        inbox, queues = self.expected["inbox"], [self.told.INBOX]
        job = self.claim_within(queues=queues)
        wanted = {
            "id": inbox["enqueued"]["id"],
            "type": "from-the-inbox",
            "payload": {"n": 123456789012345678901234567890},
            "priority": -3,
            "max_attempts": 6,
            "tags": ["a", "b"],
            "meta": {"k": "v"},
            "traceparent": story.TRACEPARENT,
            "retry": {"strategy": "linear", "base_ms": 9},
            "lease_ms": 77_000,
            "timeout_ms": 86_400_000,
            "expires_at": sample.FAR,
            "unique": {"key": "u", "for_ms": 3_600_000, "on_conflict": "reject"},
        }
        found = self.job(job["id"], include="payload")
        self.assertEqual(list(differences(wanted, found)), [])
        self.assertEqual(self.finish(job), "succeeded")
        finished, fenced = inbox["finished-in-the-inbox"], inbox["fenced-in-the-inbox"]
        if finished["asked"]:
            self.assertEqual(self.final(finished["id"], include="result")["result"], [True])
        else:
            self.finish({"id": finished["id"], "lease": {"token": finished["token"]}})
        # The fence keeps out all tokens but its own.
        self.assertEqual(self.state(fenced["id"]), "running")
        if fenced["asked"]:
            with self.assertRaisesRegex(AssertionError, "a later generation has begun"):
                self.database.sql(f"SELECT millrace.fence('{fenced['id']}', 1)")
        self.database.sql(f"SELECT millrace.finish('{fenced['id']}', {fenced['token']})")
        self.await_state(fenced["id"], "succeeded")
        # Later changes are found too, though this database's transaction numbers start again.
        later = self.database.sql(f"SELECT millrace.enqueue('later', queue => '{queues[0]}')")
        job = self.claim_within(queues=queues)
        self.assertEqual((job["id"], self.finish(job)), (later, "succeeded"))
        for table in ("inbox_rows", "inbox_rejected"):
            self.assertEqual(self.database.sql(f"SELECT count(*) FROM millrace.{table}"), "0")

    def settled(self):
        """Checks that every job and workflow has ended, and that the queues' counts are right."""
        there = {}
        for job in self.search():
            self.assertIn(job["state"], harness.TERMINAL, job)
            there.setdefault(job["queue"], []).append(job["state"])
        for queue in self.expected["queues"]:
            states = there.get(queue, [])
            self.assertEqual(
                self.counts(queue.replace("/", "%2F")),
                {state: states.count(state) for state in set(states)},
                queue,
            )
        workflows = self.listed_workflows()
        self.assertLessEqual(set(workflows.values()), FINAL)
        return {**workflows, **{job["id"]: job["state"] for job in self.search()}}


class Opened(Sampled):
    """Each sample, in a test with its name."""

    def lives_on(self, each):
        self.open(each)
        self.everything_is_there()
        self.views_show_it()
        self.what_ended_is_known()
        self.keys_hold()
        self.the_outbox_goes_on()
        self.the_inbox_goes_on()
        self.running_jobs_finish()
        self.workflows_go_on()
        self.a_workflow_is_made()
        self.assertEqual(self.api.post(f"/v1/queues/{self.told.PAUSED}/resume").status, 200)
        self.gates_open()
        self.ready_jobs_run(self.of_state("ready"))
        self.waiting_and_dead_jobs_run()
        end = self.settled()
        self.assertEqual(self.server.stop(), 0)
        store = ("--postgres", self.database.url) if self.database else ("--data", self.server.data)
        verified = harness.run("admin", "verify", *store)
        self.assertEqual(verified.returncode, 0, verified)
        self.use(self.server.start())
        self.assertEqual(self.settled(), end)
        self.assertEqual(self.server.stop(), 0)


@unittest.skipIf(LIBFAKETIME is None, "no libfaketime (Debian's package faketime)")
@unittest.skipIf(harness.is_sanitized(), "libfaketime does not work inside a sanitizer's allocator")
class AtAnotherTime(Sampled):
    """Tests that the age of a sample affects only the statistics, which cover a day."""

    SAMPLES = [each for each in newest() if each.store == "sqlite"]  # whose clock is the server's

    def open_after(self, each, after_s):
        """Opens a sample at this time after its creation."""
        offset_s = harness.seconds(each.expected()["made_at"]) + after_s - time.time()
        clock = {
            "LD_PRELOAD": LIBFAKETIME,
            "FAKETIME": f"{offset_s:+.0f}",
            "FAKETIME_DONT_FAKE_MONOTONIC": 1,
        }
        self.open(each, env=clock)

    def test_a_minute_later_the_statistics_are_there(self):
        for each in self.SAMPLES:
            self.open_after(each, 60)
            self.everything_is_there()
            self.assertEqual(sample.say_statistics(self.api), self.expected["statistics"])

    def test_nine_years_later_nothing_is_gone(self):
        for each in self.SAMPLES:
            self.open_after(each, 9 * 365 * 86400)
            settings = self.expected["settings"]
            for path in [path for path in settings if settings[path].get("ended_at")]:
                del settings[path]  # an operation that has ended is kept for a week
            self.everything_is_there()
            sample.await_tables(self.api)
            time.sleep(2)  # what is past its retention would be gone within a second
            self.everything_is_there()
            self.keys_hold()
            self.running_jobs_finish()


def add_a_test_of(each):
    name = f"test_{each.name.replace('-', '_')}"
    setattr(Opened, name, lambda self: self.lives_on(each))


for each_there in sample.samples():
    add_a_test_of(each_there)


if __name__ == "__main__":
    harness.main()
