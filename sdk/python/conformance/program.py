"""The program of the conformance suite: see sdk/conformance/README.md.

Handlers are asynchronous; with HANDLERS=threads they are synchronous. All scenarios pass with both.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import millrace
from millrace import Context, Millrace, MillraceError
from millrace.testing import Fake

_output = threading.Lock()


def say(**members: Any) -> None:
    text = json.dumps(members)
    with _output:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def error_of(error: BaseException) -> dict[str, Any]:
    is_ours = isinstance(error, MillraceError)
    retry_after = getattr(error, "retry_after", None)
    return {
        "class": type(error).__name__,
        "code": getattr(error, "code", "program"),
        "status": getattr(error, "status", 0),
        "message": error.message if is_ours else str(error),  # type: ignore[attr-defined]
        "errors": getattr(error, "errors", []),
        "request_id": getattr(error, "request_id", None),
        "retry_after_ms": None if retry_after is None else round(retry_after * 1000),
    }


class LogEvents(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(event="log", level=record.levelname.lower(), message=record.getMessage())


class Handlers:
    """The scripted handler, for one worker of the program."""

    def __init__(self, worker: str, app: Millrace) -> None:
        self._worker = worker
        self._app = app

    async def on_loop(self, payload: Any, /) -> Any:
        with self._attempt(payload) as attempt:
            for step in attempt.steps():
                if step[0] in ("sleep", "stubborn"):
                    await self._pause(step[1] / 1000, step[0] == "stubborn")
                else:
                    attempt.play(step)
            return attempt.value

    async def _pause(self, seconds: float, is_stubborn: bool) -> None:
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            try:
                await asyncio.sleep(left)
            except asyncio.CancelledError:
                told()
                if not is_stubborn:
                    raise

    def in_thread(self, payload: Any, /) -> Any:
        with self._attempt(payload) as attempt:
            for step in attempt.steps():
                if step[0] == "sleep":
                    try:
                        attempt.context.wait(step[1] / 1000)
                    except millrace.Interrupted:
                        told()
                        raise
                elif step[0] == "stubborn":
                    attempt.context.on_told(lambda _: told(attempt.context))
                    time.sleep(step[1] / 1000)
                else:
                    attempt.play(step)
            return attempt.value

    def _attempt(self, payload: Any) -> Attempt:
        return Attempt(self._worker, self._app, payload)


def told(context: Context | None = None) -> None:
    context = context or millrace.current()
    say(event="told", job=context.job.id, token=context.token, reason=context.stop_reason)


class Attempt:
    def __init__(self, worker: str, app: Millrace, payload: Any) -> None:
        self.context = millrace.current()
        self.value: Any = None
        self._app = app
        self._worker = worker
        self._script = payload["script"] if isinstance(payload, dict) else []
        self._has_returned = False

    def __enter__(self) -> Attempt:
        job = self.context.job
        say(
            event="start",
            worker=self._worker,
            job=job.id,
            type=job.type,
            queue=job.queue,
            attempt=job.attempt,
            token=self.context.token,
            meta=job.meta,
            checkpoint=job.checkpoint,
            traceparent=job.traceparent,
            schedule=job.schedule,
            workflow=self.context.workflow,
            parents=dict(self.context.parents),
        )
        return self

    def __exit__(self, *_: object) -> None:
        say(event="end", job=self.context.job.id, token=self.context.token)

    def steps(self) -> Generator[list[Any], None, None]:
        yield from self._expanded(self._script)

    def _expanded(self, script: list[list[Any]]) -> Generator[list[Any], None, None]:
        for step in script:
            if self._has_returned:
                return
            if step[0] != "on_attempt":
                yield step
            elif step[1] == self.context.job.attempt:
                yield from self._expanded(step[2])

    def play(self, step: list[Any]) -> None:
        context, (name, *rest) = self.context, step
        rest = [one.replace("<half>", "\ud83d") if isinstance(one, str) else one for one in rest]
        if name == "block":
            context.on_told(lambda _: told(context))
            time.sleep(rest[0] / 1000)
        elif name == "progress":
            given = dict(zip(("percent", "message", "checkpoint"), rest))
            context.progress(**{key: value for key, value in given.items() if value is not None})
        elif name == "log":
            level = logging.getLevelName(rest[0].upper().replace("WARN", "WARNING")[:7])
            logging.getLogger("conformance").log(level, "%s", rest[1])
        elif name == "submit":
            say(event="submitted", job=context.job.id, id=self._app.submit(rest[0]).id)
        elif name == "enqueue":
            context.enqueue(rest[0])
        elif name == "grow":
            for member in rest[0].get("members", ()):
                options = {each: member[each] for each in ("needs", "needs_any") if each in member}
                context.add(member["ref"], member["job"], **with_needs(options))
            for ref in rest[0].get("skip", ()):
                context.skip(ref)
        elif name == "parent":
            self.value, self._has_returned = context.parent(rest[0]), True
        elif name == "return":
            self.value, self._has_returned = rest[0], True
        elif name in ("fail", "panic"):
            raise RuntimeError(rest[0])
        elif name == "fail_indescribably":
            raise Indescribable
        elif name == "broken_result":
            self.value, self._has_returned = Broken({"a": 1}), True
        elif name == "bad_progress":
            context.progress(float("nan"))
            with contextlib.suppress(TypeError, ValueError):
                context.progress(checkpoint=float("nan"))
        elif name == "non_retryable":
            raise millrace.NonRetryable(rest[0])
        elif name == "snooze":
            raise millrace.Snooze(rest[0] / 1000)
        elif name == "retry_after":
            raise millrace.RetryAfter(rest[0] / 1000, rest[1])
        elif name == "cancel":
            raise millrace.Cancel(rest[0])
        elif name == "bad_result":
            self.value, self._has_returned = float("nan"), True
        elif name == "exit":
            os._exit(9)
        else:
            raise ValueError(f"no such step: {name}")


class Indescribable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Broken(dict[str, int]):
    def items(self) -> Any:
        raise RuntimeError("no items")


def with_needs(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a member, whose needs are as in the API, as the builder takes them."""
    needs = [
        need if isinstance(need, str) else millrace.Need(**need)
        for need in options.get("needs", ())
    ]
    return {**options, "needs": needs}


def flow_of(body: dict[str, Any]) -> millrace.NewWorkflow:
    """The workflow of a body of the API, made with the builder."""
    options = {name: value for name, value in body.items() if name not in ("members", "timeout_ms")}
    if "timeout_ms" in body:
        options["timeout"] = body["timeout_ms"] / 1000
    flow = millrace.NewWorkflow(**options)
    for member in body.get("members", ()):
        rest = {name: value for name, value in member.items() if name not in ("ref", "job")}
        flow.members.append(
            millrace.NewMember(member.get("ref"), member["job"], **with_needs(rest))
        )
    return flow


def page_of(page: millrace.Page[Any]) -> dict[str, Any]:
    return {"items": [item.raw for item in page.items], "next_cursor": page.next_cursor}


def middleware(context: Context) -> Generator[None, Any, Any]:
    say(event="middleware", job=context.job.id, phase="before")
    try:
        return (yield)
    finally:
        say(event="middleware", job=context.job.id, phase="after")


class Program:
    def __init__(self) -> None:
        self._settings: dict[str, Any] = {}
        self._app = Millrace()
        self._workers: dict[str, millrace.Worker] = {}
        self._enders: list[threading.Thread] = []

    def do(self, command: Mapping[str, Any]) -> Any:
        return getattr(self, "do_" + command["do"])(command)

    def do_hello(self, _: Mapping[str, Any]) -> Any:
        return {"sdk": "python", "version": millrace.__version__}

    def do_configure(self, command: Mapping[str, Any]) -> Any:
        settings: dict[str, Any] = {name: command.get(name) for name in ("url", "token", "ca_file")}
        for name in ("timeout", "queue_full_timeout"):
            if command.get(f"{name}_ms") is not None:
                settings[name] = command[f"{name}_ms"] / 1000
        self._settings = settings
        if command.get("fake"):
            self._app = Fake(mode=command["fake"])
            self._attach("fake", self._app, command.get("types") or ())
        else:
            self._app = Millrace(**settings)
        return {}

    def _attach(self, name: str, app: Millrace, types: Sequence[str]) -> None:
        handlers = Handlers(name, self._app)
        for type_ in types:
            in_threads = os.environ.get("HANDLERS") == "threads"
            app.job(type_)(handlers.in_thread if in_threads else handlers.on_loop)

    def do_make_id(self, command: Mapping[str, Any]) -> Any:
        return {"id": millrace.make_id(command.get("queue") or "default")}

    def do_submit(self, command: Mapping[str, Any]) -> Any:
        submitted = self._app.submit(command["job"])
        return {"job": submitted.job.raw, "is_new": submitted.is_new}

    def do_submit_batch(self, command: Mapping[str, Any]) -> Any:
        items = self._app.submit_batch(command["jobs"], atomic=bool(command.get("atomic")))
        return {"items": [item.raw for item in items]}

    def do_get(self, command: Mapping[str, Any]) -> Any:
        include = command.get("include") or ()
        if isinstance(include, str):
            include = include.split(",")
        return self._app.get(command["job"], include=include).raw

    def do_wait(self, command: Mapping[str, Any]) -> Any:
        timeout_ms = command.get("timeout_ms")
        timeout = None if timeout_ms is None else timeout_ms / 1000
        return self._app.wait(command["job"], timeout).raw

    def do_list(self, command: Mapping[str, Any]) -> Any:
        page = self._app.list(
            limit=command.get("limit") or 50,
            cursor=command.get("cursor"),
            **(command.get("filter") or {}),
        )
        return page_of(page)

    def do_list_all(self, command: Mapping[str, Any]) -> Any:
        filters = command.get("filter") or {}
        return {"ids": [job.id for job in self._app.list_all(limit=command["limit"], **filters)]}

    def do_logs(self, command: Mapping[str, Any]) -> Any:
        return {"items": [line.raw for line in self._app.logs(command["job"]).items]}

    def do_cancel(self, command: Mapping[str, Any]) -> Any:
        return self._app.cancel(command["job"], command.get("reason")).raw

    def do_retry(self, command: Mapping[str, Any]) -> Any:
        return self._app.retry(command["job"]).raw

    def do_delete(self, command: Mapping[str, Any]) -> Any:
        self._app.delete(command["job"])
        return {}

    def do_queues(self, _: Mapping[str, Any]) -> Any:
        return page_of(self._app.queues())

    def do_queue(self, command: Mapping[str, Any]) -> Any:
        return self._app.queue(command["name"]).raw

    def do_put_queue(self, command: Mapping[str, Any]) -> Any:
        name = command["name"]
        settings: Any = command.get("settings") or {}
        return self._app.put_queue(name, settings, if_match=command.get("if_match")).raw

    def do_patch_queue(self, command: Mapping[str, Any]) -> Any:
        name = command["name"]
        settings: Any = command.get("settings") or {}
        return self._app.patch_queue(
            name,
            settings,
            if_match=command.get("if_match"),
            create=bool(command.get("create")),
        ).raw

    def do_pause_queue(self, command: Mapping[str, Any]) -> Any:
        return self._app.pause_queue(command["name"], command.get("reason")).raw

    def do_resume_queue(self, command: Mapping[str, Any]) -> Any:
        return self._app.resume_queue(command["name"]).raw

    def do_delete_queue(self, command: Mapping[str, Any]) -> Any:
        self._app.delete_queue(command["name"], force=bool(command.get("force")))
        return {}

    def do_schedules(self, command: Mapping[str, Any]) -> Any:
        owner = command.get("managed_by")
        return page_of(self._app.schedules(**({"managed_by": owner} if owner else {})))

    def do_schedule(self, command: Mapping[str, Any]) -> Any:
        return self._app.schedule(command["name"]).raw

    def do_put_schedule(self, command: Mapping[str, Any]) -> Any:
        return self._app.put_schedule(
            command["name"], command["spec"], if_match=command.get("if_match")
        ).raw

    def do_delete_schedule(self, command: Mapping[str, Any]) -> Any:
        self._app.delete_schedule(command["name"])
        return {}

    def do_pause_schedule(self, command: Mapping[str, Any]) -> Any:
        return self._app.pause_schedule(command["name"], command.get("reason")).raw

    def do_resume_schedule(self, command: Mapping[str, Any]) -> Any:
        return self._app.resume_schedule(command["name"]).raw

    def do_trigger_schedule(self, command: Mapping[str, Any]) -> Any:
        return self._app.trigger_schedule(command["name"]).raw

    def do_backfill_schedule(self, command: Mapping[str, Any]) -> Any:
        return self._app.backfill_schedule(command["name"], command["spec"])

    def do_schedule_runs(self, command: Mapping[str, Any]) -> Any:
        return {"items": [run.raw for run in self._app.schedule_runs(command["name"])]}

    def do_preview_schedule(self, command: Mapping[str, Any]) -> Any:
        return self._app.preview_schedule(command["spec"])

    def do_apply_schedules(self, command: Mapping[str, Any]) -> Any:
        return self._app.apply_schedules(command["spec"])

    def do_limits(self, _: Mapping[str, Any]) -> Any:
        return page_of(self._app.limits())

    def do_limit(self, command: Mapping[str, Any]) -> Any:
        return self._app.limit(command["name"]).raw

    def do_put_limit(self, command: Mapping[str, Any]) -> Any:
        version = command.get("if_match")
        return self._app.put_limit(command["name"], command["settings"], if_match=version).raw

    def do_patch_limit(self, command: Mapping[str, Any]) -> Any:
        version = command.get("if_match")
        return self._app.patch_limit(command["name"], command["settings"], if_match=version).raw

    def do_pause_limit(self, command: Mapping[str, Any]) -> Any:
        return self._app.pause_limit(command["name"], command.get("reason")).raw

    def do_resume_limit(self, command: Mapping[str, Any]) -> Any:
        return self._app.resume_limit(command["name"]).raw

    def do_delete_limit(self, command: Mapping[str, Any]) -> Any:
        self._app.delete_limit(command["name"], force=bool(command.get("force")))
        return {}

    def do_create_workflow(self, command: Mapping[str, Any]) -> Any:
        made = self._app.create_workflow(flow_of(command["workflow"]))
        return {"workflow": made.workflow.raw, "is_new": made.is_new}

    def do_workflow(self, command: Mapping[str, Any]) -> Any:
        return self._app.workflow(command["workflow"], include=command.get("include") or ()).raw

    def do_wait_workflow(self, command: Mapping[str, Any]) -> Any:
        return self._app.wait_workflow(command["workflow"], command["timeout_ms"] / 1000).raw

    def do_workflows(self, command: Mapping[str, Any]) -> Any:
        page = self._app.workflows(
            limit=command.get("limit") or 50,
            cursor=command.get("cursor"),
            **(command.get("filter") or {}),
        )
        return page_of(page)

    def do_all_workflows(self, command: Mapping[str, Any]) -> Any:
        filters = command.get("filter") or {}
        found = self._app.all_workflows(limit=command.get("limit") or 100, **filters)
        return {"ids": [workflow.id for workflow in found]}

    def do_workflow_members(self, command: Mapping[str, Any]) -> Any:
        page = self._app.workflow_members(
            command["workflow"],
            state=command.get("state"),
            include=command.get("include") or (),
            limit=command.get("limit") or 100,
            cursor=command.get("cursor"),
        )
        return page_of(page)

    def do_all_members(self, command: Mapping[str, Any]) -> Any:
        found = self._app.all_members(command["workflow"], limit=command.get("limit") or 1000)
        return {"numbers": [member.number for member in found]}

    def do_workflow_member(self, command: Mapping[str, Any]) -> Any:
        return self._app.workflow_member(
            command["workflow"],
            command["ref"],
            include=command.get("include") or (),
            wait=(command.get("wait_ms") or 0) / 1000,
        ).raw

    def do_workflow_graph(self, command: Mapping[str, Any]) -> Any:
        return page_of(self._app.workflow_graph(command["workflow"], cursor=command.get("cursor")))

    def do_why_workflow(self, command: Mapping[str, Any]) -> Any:
        return self._app.why_workflow(command["workflow"]).raw

    def do_add_members(self, command: Mapping[str, Any]) -> Any:
        request = command["request"]
        return self._app.add_members(
            command["workflow"],
            request["members"],
            by=request.get("by"),
            close=bool(request.get("close")),
            idempotency_key=command.get("idempotency_key"),
        ).raw

    def do_close_workflow(self, command: Mapping[str, Any]) -> Any:
        return self._app.close_workflow(command["workflow"]).raw

    def do_delete_workflow(self, command: Mapping[str, Any]) -> Any:
        self._app.delete_workflow(command["workflow"])
        return {}

    def do_cancel_workflow(self, command: Mapping[str, Any]) -> Any:
        return self._app.cancel_workflow(command["workflow"], command.get("reason")).raw

    def do_retry_workflow(self, command: Mapping[str, Any]) -> Any:
        return self._app.retry_workflow(command["workflow"], **(command.get("request") or {})).raw

    def do_skip_member(self, command: Mapping[str, Any]) -> Any:
        return self._app.skip_member(command["workflow"], command["ref"]).raw

    def do_bulk(self, command: Mapping[str, Any]) -> Any:
        return self._app.bulk(command["request"]).raw

    def do_operations(self, command: Mapping[str, Any]) -> Any:
        return page_of(self._app.operations(state=command.get("state")))

    def do_operation(self, command: Mapping[str, Any]) -> Any:
        return self._app.operation(command["operation"]).raw

    def do_pause_operation(self, command: Mapping[str, Any]) -> Any:
        return self._app.pause_operation(command["operation"]).raw

    def do_resume_operation(self, command: Mapping[str, Any]) -> Any:
        return self._app.resume_operation(command["operation"]).raw

    def do_cancel_operation(self, command: Mapping[str, Any]) -> Any:
        return self._app.cancel_operation(command["operation"]).raw

    def do_workers(self, _: Mapping[str, Any]) -> Any:
        return page_of(self._app.workers())

    def do_events(self, command: Mapping[str, Any]) -> Any:
        names = ("job", "types", "queues", "limit", "cursor")
        filters = {name: command[name] for name in names if command.get(name) is not None}
        return page_of(self._app.events(**filters, wait=command.get("wait_ms", 0) / 1000))

    def do_stats(self, command: Mapping[str, Any]) -> Any:
        lengths = {
            name: command[f"{name}_ms"] / 1000
            for name in ("window", "step")
            if f"{name}_ms" in command
        }
        return self._app.stats(**lengths, by=command.get("by"), name=command.get("name")).raw

    def do_why(self, command: Mapping[str, Any]) -> Any:
        return self._app.why(command["job"]).raw

    def do_call(self, command: Mapping[str, Any]) -> Any:
        body = {"body": command["body"]} if "body" in command else {}
        return self._app.call(
            command["method"], command["path"], query=command.get("query"), **body
        )

    def do_worker(self, command: Mapping[str, Any]) -> Any:
        name = command.get("name") or "worker"
        app = Millrace(**self._settings)
        self._attach(name, app, command["types"])
        if command.get("middleware"):
            app.middleware(middleware)
        options: dict[str, Any] = {
            "queues": command.get("queues"),
            "version": command.get("version"),
        }
        if command.get("concurrency") is not None:
            options["concurrency"] = command["concurrency"]
        for option in ("lease", "poll_wait", "grace"):
            if command.get(option + "_ms") is not None:
                options[option] = command[option + "_ms"] / 1000
        worker = app.worker(**options)
        self._workers[name] = worker
        worker.start()
        ender = threading.Thread(target=self._await_end, args=(name, worker), daemon=True)
        self._enders.append(ender)
        ender.start()
        return {"worker_id": worker.id}

    def _await_end(self, name: str, worker: millrace.Worker) -> None:
        try:
            worker.join()
        except Exception as error:
            say(event="worker_ended", worker=name, error=error_of(error))
        else:
            say(event="worker_ended", worker=name, error=None)

    def do_stop(self, command: Mapping[str, Any]) -> Any:
        worker = self._workers[command.get("name") or "worker"]
        worker.stop()
        worker.join()
        return {}

    def do_drain(self, _: Mapping[str, Any]) -> Any:
        return {"ran": self._fake().drain()}

    def do_advance(self, command: Mapping[str, Any]) -> Any:
        self._fake().advance(command["ms"] / 1000)
        return {}

    def do_enqueued(self, command: Mapping[str, Any]) -> Any:
        return {"jobs": [job.raw for job in self._fake().enqueued(command["type"])]}

    def _fake(self) -> Fake:
        assert isinstance(self._app, Fake), "the client is no fake"
        return self._app

    def end(self) -> None:
        for worker in self._workers.values():
            worker.stop()
        for ender in self._enders:
            ender.join()

    def on_signal(self, *_: object) -> None:
        """Stop as an application would: a second signal ends the grace time."""
        for worker in self._workers.values():
            worker.stop()
        if not self._is_ending:
            self._is_ending = True
            threading.Thread(target=self._exit).start()

    _is_ending = False

    def _exit(self) -> None:
        for ender in self._enders:
            ender.join()
        sys.stdout.flush()
        os._exit(0)


def answer(program: Program, command: Mapping[str, Any]) -> None:
    try:
        say(id=command["id"], ok=program.do(command))
    except Exception as error:
        if not isinstance(error, MillraceError):
            logging.getLogger("conformance").exception("the command %s failed", command["do"])
        say(id=command["id"], error=error_of(error))


def main() -> None:
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    logging.getLogger("millrace").addHandler(LogEvents())
    program = Program()
    signal.signal(signal.SIGTERM, program.on_signal)
    signal.signal(signal.SIGINT, program.on_signal)
    pool = ThreadPoolExecutor(64)
    for line in sys.stdin:
        pool.submit(answer, program, json.loads(line))
    program.end()
    pool.shutdown()
    sys.stdout.flush()
    os._exit(0)  # a handler that refuses to end must not keep the process alive


if __name__ == "__main__":
    main()
