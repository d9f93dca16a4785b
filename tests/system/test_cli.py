"""Tests of the command line against a live server: its output and exit codes."""

import json
import os
import pathlib
import signal
import subprocess
import time

import harness
from rough_proxy import RoughProxy
from terminal import Terminal

NOBODY = "0190a0a0-0000-7000-8000-000000000000"
# Connections of `millrace work`: for polls and for urgent requests, each twice if one broke.
FEW_CONNECTIONS = 4


class Commands(harness.ServerCase):
    def cli(self, *args, code=0, **options):
        done = self.server.cli(*args, **options)
        self.assertEqual(done.returncode, code, f"{args}: {done.stdout}{done.stderr}")
        return done

    def cli_json(self, *args, **options):
        done = self.cli(*args, "-o", "json", **options)
        return json.loads(done.stdout)

    def test_enqueue(self):
        job = self.cli_json(
            "enqueue",
            "mail",
            '{"to": "a"}',
            "-q",
            self.queue,
            "--priority",
            "-3",
            "--tag",
            "vip",
            "--tag",
            "eu",
            "--meta",
            "k=v",
            "--max-attempts",
            "2",
        )
        stored = self.job(job["id"], include="payload")
        self.assertEqual(
            (stored["type"], stored["queue"], stored["priority"], stored["max_attempts"]),
            ("mail", self.queue, -3, 2),
        )
        self.assertEqual(
            (stored["payload"], stored["tags"], stored["meta"]),
            ({"to": "a"}, ["vip", "eu"], {"k": "v"}),
        )

    def test_enqueue_from_standard_input_byte_for_byte(self):
        raw = '{ "n": 123456789012345678901234567890 , "z":1,"a":2}'
        job = self.cli_json("enqueue", "t", "-", "-q", self.queue, stdin=raw)
        self.assertIn(raw.encode(), self.api.get(f"/v1/jobs/{job['id']}", include="payload").body)

    def test_enqueue_prints_the_id_for_people(self):
        done = self.cli("enqueue", "t", "-q", self.queue)
        self.assertIn(self.list_jobs()[0]["id"], done.stdout)
        self.assertEqual(self.list_jobs(include="payload")[0]["payload"], None)

    def test_what_enqueue_refuses(self):
        self.cli("enqueue", "t", "{no json", "-q", self.queue, code=2)
        self.cli("enqueue", "no type", "-q", self.queue, code=2)
        self.cli("enqueue", code=2)
        self.cli("enqueue", "t", "--colour", code=2)
        self.cli("enqueue", "t", "--priority", "high", code=2)
        self.cli("explode", code=2)
        self.api.put(f"/v1/queues/{self.queue}", {"max_ready": 0})
        self.cli("enqueue", "t", "-q", self.queue, code=75)
        self.assertEqual(self.counts(), {})

    def test_what_is_empty_where_something_was_meant(self):
        self.cli("enqueue", "t", "-", "-q", self.queue, stdin="\n", code=2)
        self.cli("enqueue", "t", "-q", self.queue, "--idempotency-key", "", code=2)
        self.cli("enqueue", "t", "-q", self.queue, "--unique-key", "", code=2)
        self.assertEqual(self.list_jobs(), [])

    def test_waiting_for_a_job_that_is_not_kept(self):
        key = ("--idempotency-key", self.queue + "-key", "--wait")
        self.api.put(f"/v1/queues/{self.queue}", {"retention": {"succeeded_ms": 0}})
        waiting = subprocess.Popen(
            [harness.BINARY, "enqueue", "t", "-q", self.queue, *key],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=harness.environment(MILLRACE_URL=self.server.url),
        )
        self.finish(self.claim_within())
        out, err = waiting.communicate(timeout=harness.PATIENCE_S)
        # The answer may have come before the job was removed.
        self.assertIn(waiting.returncode, (0, 8), err)
        pruned = harness.eventually(
            lambda: (done := self.server.cli("enqueue", "t", "-q", self.queue, *key)).returncode == 8 and done
        )
        self.assertIn("pruned", pruned.stdout)
        self.assertIn("retention", pruned.stderr)

    def test_help_and_version(self):
        for args in (["--help"], ["enqueue", "--help"], ["work", "--help"], ["serve", "--help"]):
            self.assertIn(args[0] if len(args) > 1 else "enqueue", self.cli(*args).stdout)
        self.assertRegex(self.cli("version").stdout, r"\d+\.\d+\.\d+")

    def test_job_list_has_all_pages(self):
        self.submit_many(119)
        self.submit(payload={"n": 7})
        self.list_jobs()
        listed = self.cli_json("job", "list", "-q", self.queue, "--all")
        items = listed["items"] if isinstance(listed, dict) else listed
        self.assertEqual(len({job["id"] for job in items}), 120)
        table = self.cli("job", "list", "-q", self.queue, "--all").stdout
        self.assertEqual(sum(job["id"] in table for job in items), 120)
        found = self.cli_json("job", "list", f"queue:{self.queue} payload.n:7")
        items = found["items"] if isinstance(found, dict) else found
        self.assertEqual(len(items), 1)
        self.cli("job", "list", "colour:red", code=2)

    def test_job_get_retry_cancel_delete(self):
        job = self.submit(payload={"big": 1}, delay_ms=60000)["id"]
        self.assertEqual(self.cli_json("job", "get", job)["id"], job)
        self.assertIn("scheduled", self.cli("job", "get", job).stdout)
        self.cli("job", "retry", job, code=5)
        self.cli("job", "cancel", job, "--reason", "no need")
        self.assertEqual(self.state(job), "cancelled")
        self.cli("job", "cancel", job, code=5)
        self.cli("job", "retry", job)
        self.assertEqual(self.state(job), "ready")
        self.cli("job", "delete", job, "--yes")
        self.cli("job", "get", job, code=3)
        self.cli("job", "delete", NOBODY, "--yes", code=3)

    def test_several_ids_of_which_one_is_wrong(self):
        job = self.submit()["id"]
        self.cli("job", "cancel", job, NOBODY, code=7)
        self.assertEqual(self.state(job), "cancelled")

    def test_job_wait(self):
        good, bad = self.submit()["id"], self.submit()["id"]
        first, second = self.claim(limit=2)
        self.finish(first)
        self.finish(second, "dead", error={"type": "E", "message": "m"})
        self.cli("job", "wait", good)
        self.cli("job", "wait", bad, code=8)
        self.cli("job", "wait", NOBODY, code=3)

    def test_job_logs(self):
        self.submit()
        job = self.claim_one()
        self.finish(job, logs=[{"message": "hello from inside"}, {"message": "evil \u001b[31m escape"}])
        shown = self.cli("job", "logs", job["id"]).stdout
        self.assertIn("hello from inside", shown)
        self.assertNotIn("\u001b", shown)

    def test_queues(self):
        self.submit_many(3)
        self.assertIn(self.queue, self.cli("queue", "list").stdout)
        self.assertEqual(self.cli_json("queue", "get", self.queue)["counts"]["ready"], 3)
        self.cli("queue", "pause", self.queue, "--reason", "because")
        self.assertEqual(self.api.get(f"/v1/queues/{self.queue}").json["pause_reason"], "because")
        self.cli("queue", "resume", self.queue)
        self.cli("queue", "set", self.queue, "--max-attempts", "9", "--max-ready", "10")
        settings = self.api.get(f"/v1/queues/{self.queue}").json["settings"]
        self.assertEqual((settings["max_attempts"], settings["max_ready"]), (9, 10))
        self.cli("queue", "purge", self.queue, "--yes")
        self.assertEqual(self.counts(), {})
        self.cli("queue", "get", "never-used", code=3)

    def test_nothing_is_destroyed_where_nobody_can_be_asked(self):
        job = self.submit()["id"]
        for command in (
            ("queue", "purge", self.queue),
            ("queue", "delete", self.queue),
            ("queue", "delete", self.queue, "--force"),
            ("job", "delete", job),
            ("job", "delete", "--filter", f"queue:{self.queue}"),
            ("job", "cancel", "--filter", f"queue:{self.queue}"),
        ):
            for answer in ("n\n", "y\n", ""):
                done = self.cli(*command, stdin=answer, code=2)
                self.assertIn("--yes", done.stderr, command)
        self.assertEqual(self.state(job), "ready")

    def test_a_person_is_asked(self):
        self.submit()
        for answer, status, left in (("n", 1, 1), ("", 1, 1), ("y", 0, 0)):
            purge = Terminal("queue", "purge", self.queue, typed=answer + "\n", MILLRACE_URL=self.server.url)
            shown, code = purge.finish()
            self.assertIn(f"Delete all waiting jobs of queue {self.queue} for good? [y/N]", shown)
            self.assertEqual((code, self.counts().get("ready", 0)), (status, left), shown)

    def test_words_that_are_no_commands(self):
        for words, said in (
            (("job", "lst"), "did you mean `job list`?"),
            (("job", "ls"), "did you mean `job list`?"),
            (("enqueu", "greet"), "`enqueu` is not a command; did you mean `enqueue`?"),
            (("retry", NOBODY), "did you mean `job retry` or `workflow retry` or `error retry`?"),
            (("frobnicate", "--help"), "`frobnicate` is not a command; see `millrace --help`"),
            (("job", "frobnicate", "--help"), "`job frobnicate` is not a command"),
            (("--output", "json", "job", "gte"), "did you mean `job get`?"),
            (("job", "list", "--quue", "x"), "did you mean `--queue`?"),
            (("queue", "list", "one", "two"), '"one two"'),
        ):
            done = self.cli(*words, code=2)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stdout, "")
        # The first commands that a person types.
        self.assertEqual(self.cli("help", "job", "list").stdout, self.cli("job", "list", "--help").stdout)

    def test_a_state_that_there_is_not(self):
        for command in (("job", "list", "-s", "dead,failed"), ("queue", "purge", "q", "-s", "failed")):
            done = self.cli(*command, code=2)
            self.assertIn("retrying, blocked, succeeded, dead, cancelled, expired", done.stderr)

    def test_refusals_name_what_is_wrong(self):
        job = self.submit(type="t")["id"]
        self.cli("job", "cancel", job)
        self.cli("limit", "set", self.queue, "--per-key", "--concurrency", "1")
        for code, args, words in (
            (3, ("job", "get", "nope"), "there is no job nope; `millrace job list`"),
            (3, ("limit", "get", "nope"), "there is no limit nope; `millrace limit list`"),
            (3, ("push-target", "get", "nope"), "there is no push target nope"),
            (3, ("token", "revoke", "web2"), "no token has the id web2"),
            (3, ("error", "get", "nope"), "there is no group of errors nope"),
            (5, ("job", "cancel", job), f"job {job} is cancelled, and that state does not"),
            (2, ("enqueue", "t", "-q", self.queue, "--limit", "nope"), "there is no limit nope;"),
            (2, ("queue", "set", self.queue, "--limit", self.queue), "--fair-limit NAME"),
            (2, ("job", "list", "state:ded"), "the states are scheduled, ready"),
            (2, ("job", "list", "-n", "0"), "--limit: must be 1 or more"),
            (2, ("schedule", "set", "s", "--every", "500ms", "-t", "t"), "every_ms: must be"),
            (2, ("serve", "--port", "1"), "--listen 127.0.0.1:7600"),
        ):
            self.assertIn(words, self.cli(*args, code=code).stderr, args)

    def test_limits_of_queues_and_schedules(self):
        name = self.queue
        self.cli("limit", "set", name, "--per-key", "--concurrency", "1")
        self.cli("queue", "set", name, "--create", "--fair-limit", name)
        settings = self.api.get(f"/v1/queues/{name}").json["settings"]
        self.assertEqual(
            [(each["name"], each["key_from"]) for each in settings["limits"]],
            [(name, "fair_key")],
        )
        self.cli("queue", "set", name, "--limit", f"{name}=acme")
        settings = self.api.get(f"/v1/queues/{name}").json["settings"]
        self.assertEqual([each["key"] for each in settings["limits"]], ["acme"])
        schedule = self.cli_json("schedule", "set", name, "--every", "1h", "-t", "t", "--limit", f"{name}=acme")
        self.assertEqual([each["key"] for each in schedule["job"]["limits"]], ["acme"])

    def test_json_lines(self):
        self.submit_many(2)
        self.list_jobs()
        for args in (("job", "list", "-q", self.queue), ("queue", "list"), ("top",)):
            lines = self.cli(*args, "-o", "jsonl").stdout.splitlines()
            items = self.cli_json(*args)["items"]
            self.assertEqual([json.loads(line).keys() for line in lines],
                             [item.keys() for item in items], args)  # fmt: skip

    def test_why_a_job_failed(self):
        job = self.submit(type="t", max_attempts=1)["id"]
        claimed = self.claim_within()
        error = {"type": "KeyError", "message": "'name'", "stack": "Traceback:\n  line 7"}
        self.api.post(f"/v1/jobs/{job}/fail", {"token": claimed["lease"]["token"], "error": error})
        shown = self.cli("job", "why", job).stdout
        self.assertIn("KeyError: 'name'", shown)
        self.assertIn(f"millrace job retry {job}", shown)
        self.assertIn("Stack:\nTraceback:\n  line 7\n", self.cli("job", "get", job).stdout)

        def listed():
            return self.cli("error", "list", "-q", self.queue).stdout

        harness.eventually(lambda: "'name'" in listed(), what="the raw message is shown")
        group = listed().splitlines()[1].split()[0]
        self.assertIn("Stack:\nTraceback:", self.cli("error", "get", group).stdout)

    def test_a_strangers_text_controls_no_terminal(self):
        text = "a\u202eb\u009bc\u007fd"
        job = self.submit(type="t", meta={"note": text}, payload=text)["id"]
        for args in (("job", "get", job), ("job", "list", "-q", self.queue)):
            for more in ((), ("-o", "json"), ("-o", "jsonl")):
                with self.subTest(args=args, more=more):
                    terminal = Terminal(*args, *more, MILLRACE_URL=self.server.url)
                    shown, status = terminal.finish()
                    self.assertEqual(status, 0, shown)
                    self.assertFalse(set(shown) & set("\u202e\u009b\u007f"), shown)
                    if more:
                        self.assertIn("a\\u202eb\\u009bc\\u007fd", shown)
        # What another program reads stays as it is.
        self.assertIn(text, self.cli("job", "get", job, "-o", "json").stdout)

    def test_no_queue_is_a_segment_of_dots(self):
        for name in (".", ".."):
            done = self.server.cli("enqueue", "t", "-q", name)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn('not be "." or ".."', done.stderr)
            self.assertEqual(self.api.put(f"/v1/queues/{name}", {}).status, 404)

    def test_health(self):
        self.cli("health")
        nobody = f"http://127.0.0.1:{harness.postgres.free_port()}"
        self.assertIn(self.server.cli("health", "--url", nobody).returncode, (1, 6))
        self.assertEqual(self.server.cli("job", "list", "--url", nobody).returncode, 6)

    def test_flags_may_stand_anywhere(self):
        done = harness.run("job", "list", "-o", "json", "--url", self.server.url)
        self.assertEqual(done.returncode, 0, done)
        done = harness.run("--url", self.server.url, "-o", "json", "job", "list")
        self.assertEqual(done.returncode, 0, done)

    @harness.sqlite_only
    def test_backup_and_verify(self):
        self.submit()
        copy = self.server.home / "copy"
        self.cli("admin", "backup", copy)
        self.cli("admin", "verify", copy)
        self.cli("admin", "backup", copy, code=2)

    @harness.sqlite_only
    def test_a_directory_in_use_is_not_called_sound(self):
        done = self.cli("admin", "verify", self.server.data, code=5)
        self.assertEqual(done.stdout, "")
        self.assertIn(f"is in use by process {self.server.process.pid}", done.stderr)
        self.assertIn("millrace admin backup", done.stderr)

    def test_completion(self):
        for shell in ("bash", "zsh", "fish"):
            self.assertIn("enqueue", self.cli("completion", shell).stdout)
        script = self.cli("completion", "bash").stdout
        checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_token_new(self):
        made = harness.run("token", "new", "--name", "n", "--scope", "read", "--queue", "mail.*")
        self.assertEqual(made.returncode, 0, made)
        self.assertRegex(made.stdout, r"\bmlr_\w+")
        self.assertIn("sha256:", made.stdout)
        self.assertEqual(harness.run("token", "new", "--name", "n", "--scope", "everything").returncode, 2)

    def test_top_on_no_terminal_ends_by_itself(self):
        self.submit()
        top = subprocess.Popen(
            [harness.BINARY, "top", "--url", self.server.url],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=harness.environment(),
        )
        out, err = top.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(top.returncode, 0, err)
        self.assertIn(b"QUEUE", out.upper())


class WithTokens(harness.MillraceCase):
    def test_not_allowed(self):
        from test_auth import new_token

        token, block = new_token("--name", "r", "--scope", "read")
        server = self.new_server(config=block, token=token).start()
        self.assertEqual(server.cli("job", "list").returncode, 0)
        self.assertEqual(server.cli("enqueue", "t").returncode, 4)
        self.assertEqual(server.cli("job", "list", MILLRACE_TOKEN="wrong").returncode, 4)


class Working(harness.ServerCase):
    def setUp(self):
        super().setUp()
        self.scripts = pathlib.Path(self.server.home) / self.queue
        self.scripts.mkdir()

    def work(self, script, *args, url=None, pass_fds=(), **variables):
        """Starts `millrace work` on this test's queue, with a shell script as its command."""
        path = self.scripts / "command"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        log = (self.scripts / "log").open("wb")
        worker = subprocess.Popen(
            [harness.BINARY, "work", "-q", self.queue, *args, "--", str(path)],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            env=harness.environment(MILLRACE_URL=url or self.server.url, **variables),
            pass_fds=pass_fds,
        )
        log.close()

        def end():
            if worker.poll() is None:
                worker.kill()
                worker.wait()

        self.addCleanup(end)
        return worker

    def test_payload_in_result_out(self):
        self.work("cat\n")
        for payload in ({"a": [1, "x"]}, "text", 7, None):
            job = self.submit(payload=payload)
            end = self.final(job["id"], include="result")
            self.assertEqual((end["state"], end["result"]), ("succeeded", payload))

    def test_version_of_the_program(self):
        def version_of(id, *args, **variables):
            self.work("true\n", "--id", id, *args, **variables)

            def listed():
                workers = self.api.get("/v1/workers").json["items"]
                return [worker["version"] for worker in workers if worker["id"] == id]

            return harness.eventually(listed)[0]

        name = self.queue[-20:]
        self.assertIsNone(version_of(f"{name}-1"))
        told = version_of(f"{name}-2", MILLRACE_WORKER_VERSION="2.4.0")
        self.assertEqual(told, "2.4.0")
        option = ("--worker-version", "2.4.1")
        told = version_of(f"{name}-3", *option, MILLRACE_WORKER_VERSION="2.4.0")
        self.assertEqual(told, "2.4.1")

    def test_output_that_is_no_json_is_a_string(self):
        self.work('printf "plain words\\n"')
        self.assertIn(
            self.final(self.submit()["id"], include="result")["result"],
            ("plain words", "plain words\n"),
        )

    def test_its_environment(self):
        self.work('echo "[\\"$MILLRACE_JOB_ID\\",\\"$MILLRACE_TYPE\\",$MILLRACE_ATTEMPT,$MILLRACE_LEASE_TOKEN]"')
        job = self.submit("mail")
        job_id, kind, attempt, token = self.final(job["id"], include="result")["result"]
        self.assertEqual((job_id, kind, attempt), (job["id"], "mail", 1))
        self.assertGreater(token, 0)

    def test_standard_error_is_the_log(self):
        self.work("echo one >&2; echo two >&2")
        end = self.final(self.submit()["id"], include="logs")
        self.assertEqual([line["message"] for line in end["logs"]], ["one", "two"])

    def test_what_exit_codes_mean(self):
        self.work('read code; echo oops >&2; exit "$code"')
        retry = {"strategy": "fixed", "base_ms": 0}
        self.assertEqual(self.final(self.submit(payload=0)["id"])["state"], "succeeded")
        for code in (75, 1, 42):
            end = self.final(self.submit(payload=code, max_attempts=2, retry=retry)["id"])
            self.assertEqual((end["state"], end["attempt"]), ("dead", 2), code)
            self.assertIn(str(code), end["last_error"]["type"] + end["last_error"]["message"])
        end = self.final(self.submit(payload=65, max_attempts=5, retry=retry)["id"])
        self.assertEqual((end["state"], end["attempt"]), ("dead", 1))

    def test_a_command_that_is_killed_has_failed(self):
        self.work("kill -9 $$")
        self.assertEqual(self.final(self.submit(max_attempts=1)["id"])["state"], "dead")

    def test_a_command_has_nothing_open_but_its_streams(self):
        with open(os.devnull, "rb") as other:
            os.set_inheritable(other.fileno(), True)
            # `ls` has the folder that it lists open, too.
            self.work("exec ls /proc/self/fd\n", pass_fds=(other.fileno(),))
            end = self.final(self.submit()["id"], include="result")
        self.assertEqual(end["result"].split(), ["0", "1", "2", "3"])

    def test_an_output_over_a_mebibyte_is_cut_there_and_the_log_says_so(self):
        self.work("read size; head -c \"$size\" /dev/zero | tr '\\0' x\n")
        most = (1 << 20) - 2  # with its quotes
        for size, kept in ((most, most), (most + 1, most), (3 << 20, most)):
            end = self.final(self.submit(payload=size)["id"], include="result,logs")
            self.assertEqual((end["state"], len(end["result"])), ("succeeded", kept))
            said = [line["message"] for line in end["logs"]]
            cut = [f"the output exceeds 1MiB; the result has its first {most} bytes"]
            self.assertEqual(said, cut if size > most else [])

    def test_it_heartbeats_while_the_command_runs(self):
        self.work("sleep 8", "--lease", "5s")
        end = self.final(self.submit()["id"])
        self.assertEqual((end["state"], end["attempt"], end["crashes"]), ("succeeded", 1, 0))

    def test_several_at_once(self):
        # None of them ends before all four run.
        running = self.scripts / "running"
        running.mkdir()
        self.work(
            f': > "{running}/$MILLRACE_JOB_ID"; until [ "$(ls {running} | wc -l)" = 4 ]; do sleep 0.05; done',
            "-c",
            "4",
        )
        for job_id in self.submit_many(4):
            self.assertEqual(self.final(job_id)["state"], "succeeded")

    def test_a_cancelled_jobs_process_is_told_and_ended(self):
        self.work(
            f'trap "echo told >&2; exit 3" TERM; : > "{self.scripts}/up"; while :; do sleep 0.05; done',
            "--lease",
            "10s",
        )
        job = self.submit()["id"]
        harness.eventually((self.scripts / "up").exists, what="the command that can be told")
        self.api.post(f"/v1/jobs/{job}/cancel")
        end = self.final(job, include="logs")
        self.assertEqual(end["state"], "cancelled")
        self.assertIn("told", [line["message"] for line in end["logs"]])

    def test_sigterm_finishes_what_runs_and_takes_no_more(self):
        worker = self.work(f'until [ -e "{self.scripts}/go" ]; do sleep 0.05; done; echo 1')
        first = self.submit()["id"]
        self.await_state(first, "running")
        second = self.submit()["id"]
        worker.send_signal(signal.SIGTERM)
        time.sleep(1)
        (self.scripts / "go").touch()
        self.assertEqual(worker.wait(harness.PATIENCE_S), 0)
        self.assertEqual((self.state(first), self.state(second)), ("succeeded", "ready"))

    def test_sigterm_breaks_off_the_poll(self):
        worker = self.work("true")
        harness.eventually(lambda: any(self.queue in w["queues"] for w in self.api.get("/v1/workers").json["items"]))
        started = time.monotonic()
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(10), 0)
        self.assertLess(time.monotonic() - started, 2)

    def test_it_keeps_its_connections(self):
        proxy = RoughProxy(self.server.host, self.server.port)
        self.addCleanup(proxy.close)
        self.work("echo line >&2", "-c", "8", url=f"http://127.0.0.1:{proxy.port}")
        self.submit_many(300)
        harness.eventually(lambda: self.counts().get("succeeded") == 300, timeout_s=60, what="the end of every job")
        self.assertGreater(proxy.connections, 0)
        self.assertLessEqual(proxy.connections, FEW_CONNECTIONS)

    def test_it_outlives_the_servers_restart(self):
        worker = self.work("cat")
        self.assertEqual(self.final(self.submit()["id"])["state"], "succeeded")
        self.server.restart(kill=True)
        self.use(self.server)
        self.assertEqual(self.final(self.submit()["id"], wait_ms=15000)["state"], "succeeded")
        self.assertIsNone(worker.poll())


if __name__ == "__main__":
    harness.main()
