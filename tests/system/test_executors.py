"""Tests of workers without own code: `millrace work` with --http, --simulate and --module."""

import contextlib
import pathlib
import shutil
import subprocess
import threading
import time
import unittest

import harness
import nodes  # whose folder the harness has added
import receiver

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Ends as the payload says, or waits until it is cancelled.
MODULE = r"""
#include <string.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>
#include "millrace/module.h"
static const millrace_host* host;
static atomic_int cancelled;
uint32_t millrace_module_abi(void) { return MILLRACE_MODULE_ABI + OTHER; }
int millrace_module_start(const millrace_host* h, const char* config, void** state) {
  host = h;
  *state = (void*)config;
  return strcmp(config, "no") == 0 ? 7 : 0;
}
static int is(const millrace_job* job, const char* text) { return strstr(job->payload, text) != 0; }
int millrace_module_run(void* state, const millrace_job* job, millrace_run* run) {
  if (is(job, "fail")) {
    host->error(run, "broken", "as asked");
    host->delay(run, 10);
    return is(job, "good") ? MILLRACE_FAILED_FOR_GOOD : MILLRACE_FAILED;
  }
  if (is(job, "garbage")) {
    host->result(run, "{", 1);
    return MILLRACE_SUCCEEDED;
  }
  if (is(job, "odd")) return 99;
  if (is(job, "snooze") && job->attempt == 1) {
    FILE* seen = fopen(job->id, "r");
    if (seen == 0) {
      fclose(fopen(job->id, "w"));
      host->delay(run, 100);
      return MILLRACE_SNOOZED;
    }
    fclose(seen);
  }
  if (is(job, "wait")) {
    host->progress(run, 50, "waiting");
    while (!host->should_end(run)) usleep(1000);
    while (!cancelled) usleep(1000);
    return MILLRACE_RELEASED;
  }
  host->log(run, "info", "hello");
  host->result(run, job->payload, job->payload_size);
  return MILLRACE_SUCCEEDED;
}
void millrace_module_cancel(void* state, millrace_run* run) { cancelled = 1; }
void millrace_module_stop(void* state) { fclose(fopen("stopped", "w")); }
"""


class ExecutorCase(harness.MillraceCase):
    @contextlib.contextmanager
    def working(self, *args, server=None):
        """Runs `millrace work` on this test's queue until the block ends. It must exit with 0."""
        server = server or self.server
        process = subprocess.Popen(
            [harness.BINARY, "work", "-q", self.queue, *map(str, args)],
            env=harness.environment(MILLRACE_URL=server.url),
            cwd=server.home,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            process.terminate()
            _, said = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0, said)

    def receive(self, answer=None):
        made = receiver.Receiver(answer)
        self.addCleanup(made.close)
        return made


class Executors(ExecutorCase, harness.ServerCase):
    def test_http_posts_each_job_to_a_service(self):
        r = self.receive(lambda call: (200, call.body.upper(), {}))
        with self.working("--http", r.url, "-c", 4):
            job = self.submit("mail.send", payload="abc")
            done = self.final(job["id"], include="result")
        self.assertEqual((done["state"], done["result"]), ("succeeded", "ABC"))
        (call,) = r.calls
        self.assertEqual((call.path, call.body), ("/hook", b'"abc"'))
        self.assertEqual(call.headers["content-type"], "application/json")
        self.assertEqual(call.headers["ce-id"], job["id"])
        self.assertEqual(call.headers["ce-type"], "mail.send")
        self.assertEqual(call.headers["ce-millraceattempt"], "1")

    def test_http_answers_are_outcomes(self):
        answers = {
            202: "succeeded", 204: "succeeded", 302: "dead", 409: "dead", 422: "dead", 500: "dead",
        }  # fmt: skip
        r = self.receive(lambda call: (call.json, b"why", {}))
        with self.working("--http", r.url, "-c", 4):
            jobs = {status: self.submit(payload=status, max_attempts=1)["id"] for status in answers}
            for status, state in answers.items():
                done = self.final(jobs[status])
                self.assertEqual(done["state"], state, status)
                if status in (409, 422, 500):
                    self.assertEqual(done["last_error"]["type"], f"http_{status}")
                    self.assertIn("why", done["last_error"]["message"])
            retried = self.submit(payload=422, max_attempts=5)
            self.assertEqual(self.final(retried["id"])["attempt"], 1)

    def test_http_snoozes_for_a_busy_service(self):
        answers = iter([(429, {"retry-after": "1"}), (200, {})])

        def answer(_):
            status, headers = next(answers)
            return status, b"", headers

        r = self.receive(answer)
        with self.working("--http", r.url):
            done = self.final(self.submit(max_attempts=1)["id"])
        self.assertEqual((done["state"], done["attempt"], len(r.calls)), ("succeeded", 1, 2))

    def test_http_times_out_and_holds_no_more_jobs_than_slots(self):
        # Calls are answered in groups of three.
        three = threading.Barrier(3, timeout=harness.PATIENCE_S)
        r = self.receive(lambda _: three.wait() is None or (200, b"", {}))
        with self.working("--http", r.url, "-c", 3):
            for job_id in self.submit_many(12):
                self.assertEqual(self.final(job_id)["state"], "succeeded")
        self.assertEqual(r.most_at_once, 3)
        slow = self.receive(lambda _: time.sleep(2) or (200, b"", {}))
        with self.working("--http", slow.url, "--http-timeout", "200ms"):
            done = self.final(self.submit(max_attempts=1)["id"])
        self.assertEqual(done["state"], "dead")
        self.assertIn("200 ms", done["last_error"]["message"])

    def test_simulated_steps(self):
        steps = [
            {"do": "log", "message": "begins", "level": "warn"},
            {"do": "sleep", "ms": 100},
            {"do": "compute", "ms": 20},
            {"do": "http_call", "url": f"{self.server.url}/livez", "status": 200},
            {"do": "fail", "message": "not yet", "until_attempt": 1},
        ]
        retry = {"strategy": "fixed", "base_ms": 10, "jitter": 0}
        with self.working("--simulate", "--allow-http-calls", "-c", 4):
            job = self.submit(payload={"steps": steps}, retry=retry)
            done = self.final(job["id"], include="result")
            self.assertEqual((done["state"], done["attempt"]), ("succeeded", 2))
            self.assertEqual(done["result"], {"steps": 5})
            logs = self.api.get(f"/v1/jobs/{job['id']}/logs").json["items"]
            self.assertEqual({line["message"] for line in logs}, {"begins"})

    def test_a_bad_step_is_an_error_and_not_retried(self):
        with self.working("--simulate"):
            for payload, message in (
                ({"steps": [{"do": "sleep", "ms": 1}, {"do": "dance"}]}, "step 2: do must be"),
                ({"steps": [{"do": "sleep"}]}, "step 1: ms is missing"),
                ({"steps": [{"do": "http_call", "url": "http://127.0.0.1/"}]}, "not allowed"),
                (7, "the payload must be an object"),
            ):
                done = self.final(self.submit(payload=payload, max_attempts=5)["id"])
                self.assertEqual((done["state"], done["attempt"]), ("dead", 1))
                self.assertIn(message, done["last_error"]["message"])

    def test_a_cancelled_simulation_ends(self):
        with self.working("--simulate"):
            job = self.submit(payload={"steps": [{"do": "sleep", "ms": 60000}]})
            self.await_state(job["id"], "running")
            self.api.post(f"/v1/jobs/{job['id']}/cancel", {})
            self.assertEqual(self.final(job["id"])["state"], "cancelled")

    def build(self, other=0, source=MODULE):
        code = self.server.home / "module.c"
        code.write_text(source)
        library = self.server.home / f"module{other}.so"
        include = ROOT / "sdk/cpp/include"
        subprocess.run(
            ["cc", "-std=c11", "-D_DEFAULT_SOURCE", f"-DOTHER={other}", "-shared", "-fPIC",
             "-I", str(include), "-o", str(library), str(code)],
            check=True,
        )  # fmt: skip
        return library

    @unittest.skipUnless(shutil.which("cc"), "there is no C compiler")
    def test_a_module_carries_jobs_out(self):
        library = self.build()
        retry = {"strategy": "fixed", "base_ms": 60000}
        with self.working("--module", library, "-c", 8):
            job = self.submit(payload={"n": 1})
            done = self.final(job["id"], include="result")
            self.assertEqual((done["state"], done["result"]), ("succeeded", {"n": 1}))
            logs = self.api.get(f"/v1/jobs/{job['id']}/logs").json["items"]
            self.assertEqual([line["message"] for line in logs], ["hello"])
            done = self.final(self.submit(payload="fail", max_attempts=2, retry=retry)["id"])
            self.assertEqual((done["state"], done["attempt"]), ("dead", 2))
            self.assertEqual(done["last_error"]["message"], "as asked")
            done = self.final(self.submit(payload="fail for good", max_attempts=5)["id"])
            self.assertEqual((done["state"], done["attempt"]), ("dead", 1))
            done = self.final(self.submit(payload="snooze", max_attempts=1)["id"])
            self.assertEqual((done["state"], done["attempt"]), ("succeeded", 1))
            for payload in ("garbage", "odd"):
                done = self.final(self.submit(payload=payload, max_attempts=1)["id"])
                self.assertEqual((done["state"], done["last_error"]["type"]), ("dead", "module"))
            job = self.submit(payload="wait")
            self.await_state(job["id"], "running")
            self.api.post(f"/v1/jobs/{job['id']}/cancel", {})
            self.assertEqual(self.final(job["id"])["state"], "cancelled")
        self.assertTrue((self.server.home / "stopped").exists())

    @unittest.skipUnless(shutil.which("cc"), "there is no C compiler")
    def test_a_module_that_can_not_be_used_is_named(self):
        def refused(*args):
            done = self.server.cli("work", "-q", self.queue, *map(str, args))
            self.assertEqual(done.returncode, 2, done)
            return done.stderr

        self.assertIn("has the interface 2", refused("--module", self.build(other=1)))
        lacks = self.build(2, "int nothing;")
        self.assertIn("lacks the function millrace_module_abi", refused("--module", lacks))
        self.assertIn("did not start: 7",
                      refused("--module", self.build(), "--module-config", "no"))  # fmt: skip
        self.assertIn("none.so", refused("--module", "./none.so"))
        self.assertIn("excludes", refused("--module", lacks, "--simulate"))
        self.assertIn("write a URL", refused("--http", "ftp://a"))
        self.assertIn("leave out", refused("--simulate", "--", "cat"))


class Nodes(ExecutorCase):
    """A worker whose node is killed continues with another, and no job is lost."""

    def test_a_node_that_is_killed(self):
        cluster = nodes.Nodes(2)
        self.addCleanup(cluster.close)
        cluster.start()
        self.use(cluster[1])
        with self.working("--simulate", "-c", 4, server=cluster[1]):
            ids = []
            for number in range(60):
                if number == 20:
                    cluster[0].kill()
                body = {
                    "type": "work", "queue": self.queue, "id": harness.uuid7(),
                    "payload": {"steps": [{"do": "sleep", "ms": 20}]},
                }  # fmt: skip
                harness.eventually(lambda b=body: self.api.post("/v1/jobs", b).status in (200, 201), 30, 0.05)
                ids.append(body["id"])
            for job_id in ids:
                harness.eventually(
                    lambda j=job_id: self.api.get(f"/v1/jobs/{j}").json.get("state") == "succeeded",
                    60, 0.05, what=f"the end of {job_id}",
                )  # fmt: skip


if __name__ == "__main__":
    harness.main()
