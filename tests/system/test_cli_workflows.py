"""Tests of `millrace workflow` against a live server: its output and exit codes."""

import json
import subprocess

import harness
from terminal import Terminal

NOBODY = "0190a0a0-0000-7000-8000-000000000000"


class Workflows(harness.ServerCase):
    def cli(self, *args, code=0, **options):
        done = self.server.cli(*args, **options)
        self.assertEqual(done.returncode, code, f"{args}: {done.stdout}{done.stderr}")
        return done

    def workflow(self, *args, **options):
        return self.cli("workflow", *args, **options)

    def workflow_json(self, *args, **options):
        return json.loads(self.workflow(*args, "-o", "json", **options).stdout)

    def create(self, members, *args, **settings):
        """Begins a workflow whose jobs have one attempt, and returns its id."""
        body = {"queue": self.queue, "defaults": {"max_attempts": 1}, "members": members, **settings}
        return self.workflow_json("create", "-", *args, stdin=json.dumps(body))["id"]

    def chain(self, *refs, **settings):
        """A workflow of which each member needs the one before it; the type of a job is its ref."""
        members = []
        for ref in refs:
            needs = [members[-1]["ref"]] if members else []
            members.append({"ref": ref, "needs": needs, "job": {"type": ref}})
        return self.create(members, **settings)

    def succeed(self, type_name):
        job = self.claim_within()
        self.assertEqual(job["type"], type_name)
        self.finish(job)

    def break_off(self, type_name):
        job = self.claim_within()
        self.assertEqual(job["type"], type_name)
        self.fail_attempt(job, "no such column")


class Creation(Workflows):
    def test_prints_the_id_and_how_far_it_is(self):
        body = json.dumps({"queue": self.queue, "members": [{"job": {"type": "t"}}, {"job": {"type": "t"}}]})
        done = self.workflow("create", "-", stdin=body)
        self.assertRegex(done.stdout, r"^[0-9a-f-]{36}  running, 0 of 2 done\n$")

    def test_a_repetition_is_known_by_its_key(self):
        body = json.dumps({"queue": self.queue, "members": [{"job": {"type": "t"}}]})
        key = ("--idempotency-key", self.queue + "-key")
        first = self.workflow("create", "-", *key, stdin=body)
        again = self.workflow("create", "-", *key, stdin=body)
        self.assertEqual(first.stdout, again.stdout)
        self.assertIn("it was there already", again.stderr)
        other = json.dumps({"queue": self.queue, "members": []})
        self.workflow("create", "-", *key, stdin=other, code=5)

    def test_a_fault_names_its_place(self):
        body = {"queue": self.queue, "members": [{"ref": "a", "needs": ["b"], "job": {"type": "t"}}]}
        done = self.workflow("create", "-", stdin=json.dumps(body), code=2)
        self.assertIn("/members/0", done.stderr)
        self.assertIn("nothing was changed", done.stderr)
        self.assertIn("not JSON", self.workflow("create", "-", stdin="{no json", code=2).stderr)
        self.workflow("create", "/nowhere/at/all.json", code=2)
        self.assertEqual(self.workflow_json("list", "-q", self.queue)["items"], [])


class Reading(Workflows):
    def test_list(self):
        first = self.chain("a", name=f"{self.queue}-one", tags=["x"])
        second = self.chain("a", name=f"{self.queue}-two")
        self.workflow("cancel", first)
        self.workflow("wait", first, code=8)
        table = self.workflow("list", "-q", self.queue).stdout
        self.assertLess(table.index(second), table.index(first))
        for options in (("--state", "cancelled"), ("--name", f"{self.queue}-one"), ("--tag", "x")):
            items = self.workflow_json("list", "-q", self.queue, *options)["items"]
            self.assertEqual([one["id"] for one in items], [first])
        lines = self.workflow("list", "-q", self.queue, "-o", "jsonl").stdout.splitlines()
        self.assertEqual([json.loads(line)["id"] for line in lines], [second, first])
        self.assertIn("--all lists all", self.workflow("list", "-q", self.queue, "-n", "1").stderr)
        self.workflow("list", "--state", "weird", code=2)

    def test_get_draws_the_graph_and_says_what_failed(self):
        members = [
            {"ref": "load", "job": {"type": "load"}},
            {"ref": "clean", "needs": ["load"], "job": {"type": "clean"}},
            {"ref": "publish", "needs": ["load", "clean"], "job": {"type": "publish"}},
        ]
        workflow = self.create(members)
        self.succeed("load")
        shown = self.workflow("get", workflow).stdout
        self.assertIn(
            "MEMBER         STATE      NEEDS\n"
            "load           succeeded\n"
            "`- clean       active\n"
            "   `- publish  blocked    load, clean\n",
            shown,
        )
        self.break_off("clean")
        shown = self.workflow("get", workflow).stdout
        for text in ("failed: member_failed", "no such column", f"`millrace workflow retry {workflow}`"):
            self.assertIn(text, shown)
        narrow, status = Terminal("workflow", "get", workflow, MILLRACE_URL=self.server.url).finish()
        self.assertEqual(status, 0, narrow)
        self.assertLessEqual(max(len(line.rstrip("\r")) for line in narrow.split("\n")), 80)

    def test_members(self):
        workflow = self.chain("a", "b", "c")
        self.succeed("a")
        table = self.workflow("members", workflow).stdout
        self.assertEqual(len(table.splitlines()), 4)
        blocked = self.workflow_json("members", workflow, "--state", "blocked")["items"]
        self.assertEqual([member["ref"] for member in blocked], ["c"])
        shown = self.workflow("member", workflow, "c").stdout
        self.assertRegex(shown, r"needs: +b\n")
        self.assertRegex(shown, r"waits for: +b\n")
        self.assertEqual(self.workflow_json("member", workflow, "@0")["state"], "succeeded")
        self.assertIn("a member nobody", self.workflow("member", workflow, "nobody", code=3).stderr)

    def test_a_large_graph_is_summarised(self):
        members = [{"ref": f"m{number}", "job": {"type": "t"}} for number in range(900)]
        join = {"ref": "join", "needs": [one["ref"] for one in members], "job": {"type": "t"}}
        workflow = self.create([*members, join])
        shown = self.workflow("graph", workflow).stdout
        self.assertIn("m0 and 899 like it  900 active", shown)
        self.assertIn("`- join             blocked     m0, m1, m2 and 897 more", shown)
        self.assertEqual(len(self.workflow_json("graph", workflow)["items"]), 901)

    def test_why(self):
        workflow = self.chain("a", open=True)
        job = self.claim_within()
        self.assertIn(job["id"], self.workflow("why", workflow).stdout)
        codes = {one["code"] for one in self.workflow_json("why", workflow)["blocking"]}
        self.assertEqual(codes, {"open", "active"})

    def test_one_that_does_not_exist(self):
        for command in ("get", "members", "graph", "why", "wait", "close", "cancel", "retry"):
            self.assertIn("millrace workflow list", self.workflow(command, NOBODY, code=3).stderr)


class Changes(Workflows):
    def test_growing(self):
        workflow = self.create([], open=True)
        members = json.dumps([{"ref": "a", "job": {"type": "t"}}])
        for text in ("1 member added, 0 were there already", "0 members added, 1 were there already"):
            self.assertIn(text, self.workflow("add", workflow, "-", stdin=members).stdout)
        self.workflow("close", workflow)
        more = json.dumps({"members": [{"ref": "c", "job": {"type": "t"}}]})
        self.workflow("add", workflow, "-", stdin=more, code=5)

    def test_cancel(self):
        workflow = self.chain("a", "b")
        self.workflow("cancel", workflow, "--reason", "too late")
        ended = json.loads(self.workflow("wait", workflow, "-o", "json", code=8).stdout)
        self.assertEqual((ended["state"], ended["cancel_reason"]), ("cancelled", "too late"))

    def test_retry(self):
        workflow = self.chain("a", "b")
        self.break_off("a")
        self.workflow("wait", workflow, code=8)
        self.workflow("retry", workflow, "--ref", "b", code=5)
        self.assertIn("a member nobody", self.workflow("retry", workflow, "--ref", "nobody", code=3).stderr)
        self.workflow("retry", workflow, "--ref", "a", "--keep-attempts")
        self.assertEqual(self.workflow_json("get", workflow)["generation"], 2)
        self.succeed("a")
        self.succeed("b")
        self.assertEqual(self.workflow_json("wait", workflow)["state"], "succeeded")

    def test_skip(self):
        workflow = self.chain("a", "b")
        self.workflow("skip", workflow, "b")
        self.assertIn("a member nobody", self.workflow("skip", workflow, "nobody", code=3).stderr)
        self.workflow("skip", workflow, "a", code=5)
        self.succeed("a")
        self.assertEqual(self.workflow_json("wait", workflow)["counts"]["skipped"], 1)

    def test_delete(self):
        workflow = self.chain("a")
        self.workflow("delete", workflow, "--yes", code=5)
        self.succeed("a")
        job = self.workflow_json("member", workflow, "a")["job_id"]
        self.workflow("delete", workflow, code=2)
        shown, status = Terminal("workflow", "delete", workflow, typed="n\n", MILLRACE_URL=self.server.url).finish()
        self.assertEqual(status, 1, shown)
        self.assertIn("[y/N]", shown)
        self.workflow("delete", workflow, "--yes")
        self.workflow("get", workflow, code=3)
        harness.eventually(lambda: self.api.get(f"/v1/jobs/{job}").status == 404)


class Waiting(Workflows):
    def wait(self, workflow, *args):
        return subprocess.Popen(
            [harness.BINARY, "workflow", "wait", workflow, *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=harness.environment(MILLRACE_URL=self.server.url),
        )

    def test_success(self):
        workflow = self.chain("a", "b", result_from="b")
        waiting = self.wait(workflow, "-o", "json")
        self.succeed("a")
        self.succeed("b")
        out, err = waiting.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(waiting.returncode, 0, err)
        self.assertEqual(json.loads(out)["state"], "succeeded")

    def test_failure(self):
        workflow = self.chain("a", "b")
        self.break_off("a")
        done = self.workflow("wait", workflow, code=8)
        self.assertIn("failed: member_failed, 2 of 2 done, 1 failed", done.stdout)
        self.assertIn(f"`millrace workflow get {workflow}` shows what failed", done.stderr)

    def test_timeout(self):
        workflow = self.chain("a")
        done = self.workflow("wait", workflow, "--timeout", "200ms", code=1)
        self.assertIn("did not end within 200ms", done.stderr)
        self.assertEqual(self.workflow_json("get", workflow)["state"], "running")

    def test_create_and_wait(self):
        body = json.dumps({"queue": self.queue, "members": []})
        done = self.workflow("create", "-", "--wait", stdin=body)
        self.assertIn("succeeded, 0 of 0 done", done.stdout)


class Help(Workflows):
    def test_every_verb_has_examples(self):
        verbs = "create list get members member graph why add close cancel retry skip delete wait"
        for verb in verbs.split():
            self.assertIn(f"millrace workflow {verb}", self.workflow(verb, "--help").stdout.split("Examples:")[1])

    def test_a_misspelt_verb(self):
        self.assertIn("cancel", self.workflow("cancle", NOBODY, code=2).stderr)
        self.assertIn("workflow", self.cli("worklfow", "list", code=2).stderr)


if __name__ == "__main__":
    harness.main()
