"""Reads commands, and writes answers and events."""

import json
import logging
import os
import signal
import sys
import threading
import time
import urllib.parse

from client import MUTANT, Client, Problem, make_id
from fake import Fake
from worker import Told, Worker, refused
from workflows import Workflows, every

OUT = threading.Lock()
LEVELS = {"debug": 10, "info": 20, "warn": 30, "error": 40}


def say(**said):
    with OUT:
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


class Indescribable(Exception):
    """An error whose own text fails."""

    def __str__(self):
        raise RuntimeError("no text")


def described(error):
    """The error's text, or a fallback."""
    try:
        return str(error)
    except Exception:
        if MUTANT == "indescribable-loses-slot":
            raise
        return "an error that can't be described"


def halved(text):
    """A message of a script, in which `<half>` is half a surrogate pair."""
    return text.replace("<half>", "\ud83d")


def whole(text):
    """The text as Unicode."""
    return text if MUTANT == "half-surrogates-sent" else text.encode("utf-8", "replace").decode()


class Events:
    """The events of one worker."""

    def __init__(self, name):
        self.name = name

    def start(self, attempt):
        job = attempt.job
        say(
            event="start",
            worker=self.name,
            job=attempt.id,
            type=job["type"],
            queue=job["queue"],
            attempt=job["attempt"],
            token=attempt.token,
            meta=job["meta"],
            checkpoint=(job.get("progress") or {}).get("checkpoint"),
            traceparent=job.get("traceparent"),
            schedule=job.get("schedule"),
            workflow=seen_workflow(job),
            parents=seen_parents(job),
        )

    def told(self, attempt, reason):
        say(event="told", job=attempt.id, token=attempt.token, reason=reason)

    def end(self, attempt):
        say(event="end", job=attempt.id, token=attempt.token)

    def log(self, level, message):
        say(event="log", level=level, message=message)

    def worker_ended(self, worker):
        say(event="worker_ended", worker=self.name, error=worker.error and worker.error.shape())


def seen_workflow(job):
    workflow = job.get("workflow")
    if workflow and MUTANT == "callbacks-see-nothing":
        return {name: value for name, value in workflow.items() if name not in ("counts", "failed")}
    return workflow


def seen_parents(job):
    is_again = job["attempt"] > 1 and MUTANT == "parents-seen-once"
    return {} if is_again else job.get("parents", {})


class Handler:
    """One run of a script. Returns an ack without its key."""

    def __init__(self, program, attempt, middleware):
        self.program, self.attempt, self.middleware = program, attempt, middleware

    def run(self):
        attempt = self.attempt
        if self.middleware:
            say(event="middleware", job=attempt.id, phase="before")
        attempt.worker.events.start(attempt)
        try:
            ack = self.play(attempt.job["payload"]["script"]) or {
                "outcome": "succeeded",
                "result": None,
            }
        except Told:
            ack = {"cancelled": {"outcome": "cancelled"}, "stopping": {"outcome": "released"}}.get(attempt.reason, {})
        except Exception as error:
            ack = failed(type(error).__name__, described(error))
        if self.middleware and MUTANT != "half-middleware":
            say(event="middleware", job=attempt.id, phase="after")
        if attempt.reason == "timeout" and MUTANT != "timeout-succeeds":
            ack = {
                "outcome": "failed",
                "error": {"type": "timeout", "message": "the attempt's time is over"},
            }
        if ack.get("outcome") == "succeeded" and attempt.enqueued:
            ack["enqueue"] = attempt.enqueued
        if attempt.grown and (ack.get("outcome") == "succeeded" or MUTANT in ("grows-always", "fake-grows-always")):
            ack["grow"] = attempt.grown
        if MUTANT == "enqueues-always" and attempt.enqueued:
            ack["enqueue"] = attempt.enqueued
        if MUTANT == "result-lost":
            ack.pop("result", None)
        return ack

    def play(self, script):
        for name, *rest in script:
            ack = getattr(self, "do_" + name)(*rest)
            if ack:
                return ack
        return None

    def do_sleep(self, milliseconds):
        if self.attempt.told.wait(milliseconds / 1000):
            raise Told

    def do_stubborn(self, milliseconds):
        time.sleep(milliseconds / 1000)

    def do_block(self, milliseconds):
        self.attempt.blocked = True
        time.sleep(milliseconds / 1000)
        self.attempt.blocked = False

    def do_progress(self, percent, message=None, checkpoint=None):
        message = message and whole(halved(message))
        said = {"percent": percent, "message": message, "checkpoint": checkpoint}
        with self.attempt.worker.lock:
            self.attempt.progress = {k: v for k, v in said.items() if v is not None}
            if MUTANT != "late-progress":
                self.attempt.progress_due = time.monotonic() + 0.5
            if MUTANT == "checkpoint-lost":
                self.attempt.progress.pop("checkpoint", None)

    def do_bad_progress(self):
        if MUTANT == "bad-progress-sent":
            self.do_progress(float("nan"))

    def do_log(self, level, message):
        message = halved(message) if MUTANT == "half-surrogates-logged" else whole(halved(message))
        with self.attempt.worker.lock:
            if not self.attempt.lines:
                self.attempt.lines_due = time.monotonic() + 0.5
            self.attempt.lines.append({"level": level if MUTANT != "levels-lost" else "info", "message": message})
            self.attempt.cut_lines()

    def do_submit(self, job):
        parent = self.attempt.job.get("traceparent")
        if parent and MUTANT != "no-trace":
            job = {"traceparent": parent, **job}
        made, _ = self.program.client.submit(job)
        say(event="submitted", job=self.attempt.id, id=made["id"])

    def do_enqueue(self, job):
        self.attempt.enqueued.append(Client.prepared(job))

    def do_parent(self, ref):
        """The result of a parent."""
        parents = self.attempt.job.get("parents", {})
        if ref not in parents and MUTANT != "any-parent":
            return failed("LookupError", f"{ref} is no parent; there are {sorted(parents)}")
        parent = parents.get(ref, {})
        if "result" not in parent and MUTANT != "any-parent":
            why = parent.get("omitted") or parent["state"]
            return failed("NoResult", f"the parent {ref} (job {parent['id']}) has no result: {why}")
        return {"outcome": "succeeded", "result": parent.get("result")}

    def do_grow(self, grown):
        if (self.attempt.job.get("workflow") or {}).get("role") != "member":
            return failed("NoMember", "the job is not a member of a workflow")
        for name, added in grown.items():
            self.attempt.grown.setdefault(name, []).extend(added)
        return None

    def do_on_attempt(self, number, steps):
        if self.attempt.job["attempt"] == number:
            return self.play(steps)
        return None

    def do_return(self, value):
        return {"outcome": "succeeded", "result": value}

    def do_fail(self, message):
        return failed("Failed", message)

    def do_fail_indescribably(self):
        raise Indescribable

    def do_non_retryable(self, message):
        return failed("NonRetryable", message, retryable=MUTANT == "always-retryable")

    def do_snooze(self, milliseconds):
        if MUTANT == "snooze-fails":
            return failed("Snooze", "")
        return {"outcome": "snoozed", "delay_ms": milliseconds}

    def do_retry_after(self, milliseconds, message):
        ack = failed("RetryAfter", message)
        return ack if MUTANT == "retry-after-lost" else {**ack, "delay_ms": milliseconds}

    def do_cancel(self, reason):
        if MUTANT != "reason-lost":
            self.do_log("info", reason)
        return {"outcome": "cancelled"}

    def do_bad_result(self):
        return refused("not JSON") if MUTANT != "bad-result-passes" else None

    def do_broken_result(self):
        if MUTANT == "broken-result-loses-slot":
            raise SystemExit
        return refused("its conversion fails")

    def do_panic(self, message):
        return failed("Failed", message)

    def do_exit(self):
        os._exit(9)


class Pretended:
    """An attempt of the fake, in the form that a Handler needs."""

    def __init__(self, job, token):
        self.job, self.id, self.token = job, job["id"], token
        self.worker, self.lock, self.events = self, threading.Lock(), Events("fake")
        self.told, self.reason = threading.Event(), None
        self.progress, self.lines, self.enqueued, self.grown = None, [], [], {}

    def cut_lines(self):
        pass


def failed(kind, message, **more):
    message = whole(halved(message))
    return {"outcome": "failed", "error": {"type": kind, "message": message, "stack": None, **more}}


RESOURCES = {
    "schedule": ("GET", ""),
    "put_schedule": ("PUT", ""),
    "delete_schedule": ("DELETE", ""),
    "pause_schedule": ("POST", "/pause"),
    "resume_schedule": ("POST", "/resume"),
    "trigger_schedule": ("POST", "/trigger"),
    "backfill_schedule": ("POST", "/backfill"),
    "schedule_runs": ("GET", "/runs"),
    "queue": ("GET", ""),
    "put_queue": ("PUT", ""),
    "patch_queue": ("PATCH", ""),
    "delete_queue": ("DELETE", ""),
    "pause_queue": ("POST", "/pause"),
    "resume_queue": ("POST", "/resume"),
    "limit": ("GET", ""),
    "put_limit": ("PUT", ""),
    "patch_limit": ("PATCH", ""),
    "delete_limit": ("DELETE", ""),
    "pause_limit": ("POST", "/pause"),
    "resume_limit": ("POST", "/resume"),
    "operation": ("GET", ""),
    "pause_operation": ("POST", "/pause"),
    "resume_operation": ("POST", "/resume"),
    "cancel_operation": ("POST", "/cancel"),
}


class Program:
    def __init__(self):
        self.client = Client()
        self.fake = None
        self.workers = {}
        self.leaving = False

    def run(self, command):
        number, do = command.pop("id"), command.pop("do")
        try:
            if do in RESOURCES:
                value = self.resource(do, **command)
            else:
                value = getattr(self, "do_" + do)(**command)
            say(id=number, ok=value)
        except Problem as problem:
            say(id=number, error=problem.shape())

    def resource(self, do, name=None, settings=None, spec=None, reason=None, force=None, if_match=None, operation=None):
        method, rest = RESOURCES[do]
        kind = next(kind for kind in ("schedule", "queue", "limit", "operation") if kind in do) + "s"
        body = settings if settings is not None else spec
        if self.fake:
            self.fake.put(kind, name, settings)
            return {}
        if rest == "/pause":
            body = {"reason": reason} if reason else {}
        headers = {"If-Match": f'"{if_match}"'} if if_match is not None else {}
        if rest in ("/trigger", "/backfill"):
            headers["Idempotency-Key"] = make_id("")
        query = {"force": "true"} if force else {}
        return self.client.call(
            method,
            f"/v1/{kind}/{urllib.parse.quote(name or operation, safe='')}{rest}",
            body,
            headers,
            query,
            safe=method != "PATCH",
        )[0]

    def do_hello(self):
        return {"sdk": "reference", "version": "1"}

    def do_configure(
        self, url=None, token=None, timeout_ms=30000, ca_file=None, fake=None, types=None, queue_full_timeout_ms=2000
    ):
        self.fake = Fake(fake, types, self.play_without_server) if fake else None
        self.client = self.fake or Client(url, token, timeout_ms / 1000, ca_file, queue_full_timeout_ms / 1000)
        return {}

    def play_without_server(self, job, token):
        attempt = Pretended(job, token)
        ack = Handler(self, attempt, False).run()
        events = Events("fake")
        events.end(attempt)
        return {**ack, "progress": attempt.progress}

    def do_drain(self, types):
        return {"ran": self.fake.drain(types)}

    def do_advance(self, ms):
        self.fake.advance(ms)
        return {}

    def do_enqueued(self, type):
        return {"jobs": self.fake.enqueued(type)}

    def do_make_id(self, queue=None):
        return {"id": make_id(queue)}

    def do_submit(self, job):
        made, is_new = self.client.submit(job)
        return {"job": made, "is_new": is_new}

    def do_submit_batch(self, jobs, atomic=False):
        keys = ("status", "id", "state", "error")
        return {"items": [{k: i[k] for k in keys if k in i} for i in self.client.submit_batch(jobs, atomic)]}

    def do_get(self, job, include=()):
        if self.fake:
            return self.fake.get(job, include or ())
        return self.client.call("GET", f"/v1/jobs/{job}", query={"include": ",".join(include or ()) or None})[0]

    def do_wait(self, job, timeout_ms):
        return self.client.wait(job, timeout_ms / 1000)

    def do_list(self, filter=None, limit=None, cursor=None):
        filter = dict(filter or {})
        if self.fake:
            return {"items": self.fake.list(filter), "next_cursor": None}
        if isinstance(filter.get("state"), list):
            filter["state"] = ",".join(filter["state"])
        return self.client.call("GET", "/v1/jobs", query={**filter, "limit": limit, "cursor": cursor})[0]

    def do_list_all(self, filter=None, limit=None):
        ids, cursor = [], None
        while True:
            page = self.do_list(filter, limit, cursor)
            ids += [job["id"] for job in page["items"]]
            cursor = page["next_cursor"]
            if not cursor or MUTANT == "one-page":
                return {"ids": ids}

    def do_logs(self, job):
        return {"items": self.client.call("GET", f"/v1/jobs/{job}/logs")[0]["items"]}

    def do_cancel(self, job, reason=None):
        return self.fake.cancel(job) if self.fake else self.client.cancel(job, reason)

    def do_retry(self, job):
        if self.fake:
            return self.fake.retry(job)
        return self.client.call("POST", f"/v1/jobs/{job}/retry", {}, safe=False)[0]

    def do_delete(self, job):
        return self.client.call("DELETE", f"/v1/jobs/{job}")[0]

    def do_queues(self):
        return self.client.call("GET", "/v1/queues")[0]

    def do_schedules(self, managed_by=None):
        return self.client.call("GET", "/v1/schedules", query={"managed_by": managed_by})[0]

    def do_preview_schedule(self, spec):
        return self.client.call("POST", "/v1/schedules/preview", spec)[0]

    def do_apply_schedules(self, spec):
        return self.client.call("PUT", "/v1/schedules", spec)[0]

    def do_limits(self):
        return self.client.call("GET", "/v1/limits")[0]

    def do_bulk(self, request):
        return self.client.call("POST", "/v1/jobs/bulk", request, safe=MUTANT == "bulk-again")[0]

    def do_operations(self, state=None):
        return self.client.call("GET", "/v1/operations", query={"state": state})[0]

    def do_workers(self):
        return self.client.call("GET", "/v1/workers")[0]

    def do_events(self, **query):
        if MUTANT == "events-from-the-start":
            query.pop("cursor", None)
        return self.client.call("GET", "/v1/events", query=query)[0]

    def do_stats(self, **query):
        return self.client.call("GET", "/v1/stats", query=query)[0]

    def do_why(self, job):
        return self.client.call("GET", f"/v1/jobs/{job}/why")[0]

    def do_call(self, method, path, query=None, body=None):
        safe = method in ("GET", "PUT", "DELETE")
        return self.client.call(method, path, body, query=query, safe=safe and MUTANT != "call-tried-once")[0]

    # Workflows.

    @property
    def workflows(self):
        return self.fake.workflows if self.fake else Workflows(self.client)

    def do_create_workflow(self, workflow):
        made, is_new = self.workflows.create(workflow)
        return {"workflow": made, "is_new": is_new}

    def do_workflow(self, workflow, include=None):
        return self.workflows.get(workflow, include)

    def do_wait_workflow(self, workflow, timeout_ms):
        return self.workflows.wait(workflow, timeout_ms / 1000)

    def do_workflows(self, filter=None, limit=None, cursor=None):
        return self.workflows.page(**(filter or {}), limit=limit, cursor=cursor)

    def do_all_workflows(self, filter=None, limit=None):
        items = every(lambda limit, cursor: self.do_workflows(filter, limit, cursor), limit)
        return {"ids": [each["id"] for each in items]}

    def do_workflow_members(self, workflow, state=None, include=None, limit=None, cursor=None):
        return self.workflows.page(workflow, "members", state=state, include=include, limit=limit, cursor=cursor)

    def do_all_members(self, workflow, limit=None):
        items = every(lambda limit, cursor: self.do_workflow_members(workflow, None, None, limit, cursor), limit)
        return {"numbers": [each["number"] for each in items][: 4 if MUTANT == "one-page-of-members" else None]}

    def do_workflow_member(self, workflow, ref, include=None, wait_ms=None):
        return self.workflows.member(workflow, ref, include, wait_ms)

    def do_workflow_graph(self, workflow, cursor=None):
        return self.workflows.page(workflow, "graph", cursor=cursor)

    def do_why_workflow(self, workflow):
        return self.workflows.page(workflow, "why")

    def do_add_members(self, workflow, request, idempotency_key=None):
        return self.workflows.add(workflow, request, idempotency_key)

    def do_close_workflow(self, workflow):
        return self.workflows.close(workflow)

    def do_delete_workflow(self, workflow):
        return self.workflows.delete(workflow)

    def do_cancel_workflow(self, workflow, reason=None):
        return self.workflows.cancel(workflow, reason)

    def do_retry_workflow(self, workflow, request=None):
        return self.workflows.retry(workflow, request or {})

    def do_skip_member(self, workflow, ref):
        return self.workflows.skip(workflow, ref)

    def do_worker(
        self,
        name,
        queues=None,
        types=(),
        concurrency=10,
        lease_ms=None,
        poll_wait_ms=10000,
        grace_ms=25000,
        version=None,
        middleware=False,
    ):
        def run(attempt):
            return Handler(self, attempt, middleware).run()

        made = Worker(
            self.client,
            Events(name),
            run,
            name,
            queues or ["default"],
            list(types),
            concurrency,
            lease_ms,
            poll_wait_ms,
            grace_ms,
            version,
        )
        self.workers[name] = made
        return {"worker_id": made.id}

    def do_stop(self, name):
        self.workers[name].stop()
        self.workers[name].ended.wait()
        return {}

    def stop_all(self, hurry=False):
        for worker in list(self.workers.values()):
            worker.stop()
            if hurry:
                worker.hurry()

    def leave(self):
        self.stop_all()
        for worker in list(self.workers.values()):
            worker.ended.wait()
        os._exit(0)


def main():
    logging.basicConfig(level=logging.INFO)
    program = Program()

    def on_signal(*_):
        if MUTANT == "dies-at-sigterm":
            os._exit(143)
        threading.Thread(target=program.stop_all, args=(program.leaving,)).start()
        program.leaving = True
        threading.Thread(target=program.leave).start()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    for line in sys.stdin:
        threading.Thread(target=program.run, args=(json.loads(line),), daemon=True).start()
    program.leave()
