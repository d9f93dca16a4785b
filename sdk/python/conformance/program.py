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
from typing import Any, Dict

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


class Broken(Dict[str, int]):
    def items(self) -> Any:
        raise RuntimeError("no items")


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
        return {"items": [job.raw for job in page.items], "next_cursor": page.next_cursor}

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
        page = self._app.queues()
        return {"items": [queue.raw for queue in page.items], "next_cursor": page.next_cursor}

    def do_queue(self, command: Mapping[str, Any]) -> Any:
        return self._app.queue(command["name"]).raw

    def do_put_queue(self, command: Mapping[str, Any]) -> Any:
        name, settings = command["name"], command.get("settings") or {}
        return self._app.put_queue(name, settings, if_match=command.get("if_match")).raw

    def do_patch_queue(self, command: Mapping[str, Any]) -> Any:
        name, settings = command["name"], command.get("settings") or {}
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
        page = self._app.schedules(managed_by=command.get("managed_by"))
        return {"items": [one.raw for one in page.items], "next_cursor": page.next_cursor}

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
