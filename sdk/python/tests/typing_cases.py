"""An application for the type checker: it is checked, but never run."""

from __future__ import annotations

from typing import Any

from millrace import (
    AsyncMillrace,
    Context,
    Job,
    Limit,
    MemberDetail,
    Millrace,
    NewJob,
    NewMember,
    NewWorkflow,
    QueueSettingsInput,
    Submitted,
    Workflow,
    current,
)

app = Millrace()
aio = AsyncMillrace()


@app.job("email.send", queue="mail", max_attempts=8)
def send(to: str, copies: int = 1) -> str:
    return to * copies


@app.job("any")
def anything(payload: Any, /) -> Any:
    return payload


@aio.job("page.fetch")
async def fetch(url: str) -> int:
    return len(url)


def sync_calls() -> None:
    submitted: Submitted = send.submit(to="a", copies=2)
    send.submit(to=1)  # type: ignore[arg-type]
    send.submit(copies=1)  # type: ignore[call-arg]
    app.submit("t", prioritty=1)  # type: ignore[call-arg]
    send.options(delay="soon")  # type: ignore[arg-type]
    new: NewJob = send.options(delay=1).new("a")
    app.submit_batch([new, {"type": "other"}], atomic=True)
    text: str = send("a")
    number: int = send("a")  # type: ignore[assignment]
    job: Job = app.wait(submitted.id, 1.5)
    state: str = job.state
    print(job.stat)  # type: ignore[attr-defined]
    context: Context = current()
    print(text, number, state, context.job.checkpoint)


def specifications() -> None:
    settings: QueueSettingsInput = {"max_ready": 5, "retention": {"dead_ms": 1000}}
    app.put_queue("mail", settings)
    app.put_queue("mail", {"max_raedy": 5})  # type: ignore[typeddict-unknown-key]
    app.patch_queue("mail", {"max_ready": "5"})  # type: ignore[typeddict-item]
    app.put_limit("api", {"rate": {"limit": 100, "per_ms": 1000}})
    app.put_limit("api", {"concurency": 5})  # type: ignore[typeddict-unknown-key]
    app.put_schedule("nightly", {"cron": "0 3 * * *", "job": {"type": "report"}})
    app.put_schedule("weekly", {"cron": "0 3 * * 1", "job": send.new(to="ada@example.org")})
    app.put_schedule("nightly", {"cron": "0 3 * * *"})  # type: ignore[typeddict-item]
    app.apply_schedules(
        {"managed_by": "me", "schedules": {"a": {"every_ms": 1, "job": {"type": "t"}}}}
    )
    app.bulk({"action": "retyr", "ids": []})  # type: ignore[typeddict-item]
    app.submit({"type": "other", "prioritty": 1})  # type: ignore[arg-type]
    send.options(limits=[{"nam": "api"}])  # type: ignore[typeddict-item, typeddict-unknown-key]
    send.options(retry={"strategy": "linear", "base_ms": 100})
    app.list(state=["dead", "ready"], queue="mail")
    app.list(staet="dead")  # type: ignore[call-arg]
    answer: Any = app.call("GET", "/v1/findings")
    limit: Limit = app.limit("api")
    print(answer, limit.in_use)


def workflows() -> None:
    flow = NewWorkflow("nightly", queue="sales", timeout=60, on_member_failed="stop")
    NewWorkflow(on_member_failed="halt")  # type: ignore[arg-type]
    first: NewMember = flow.add("first", send.new("a"))
    flow.add("next", {"type": "other"}, needs=[first, first.failed, "ref"], needs_any=True)
    flow.add("bad", {"type": "other", "prioritty": 1})  # type: ignore[arg-type]
    flow.add("bad", send.new("a"), needs=[1])  # type: ignore[list-item]
    flow.on_failure = NewJob("page.me")
    app.create_workflow(flow)
    app.create_workflow({"members": [{"ref": "a", "job": send.new("a"), "needs": ["b"]}]})
    app.create_workflow({"membres": []})  # type: ignore[arg-type]
    made: Workflow = app.create_workflow({"queue": "q", "open": True}).workflow
    state: str = app.wait_workflow(made.id, 5).state
    app.workflows(state=["failed"], queue="q")
    app.workflows(stat="failed")  # type: ignore[call-arg]
    member: MemberDetail = app.workflow_member(made.id, "a", include=["job"], wait=5)
    for each in app.all_members(made.id):
        job: Job | None = each.job
        print(job, each.jobs)  # type: ignore[attr-defined]
    number: int = current().parent("a", int)
    text: str = current().parent("a", int)  # type: ignore[assignment]
    current().add("b", send.new("b"), needs=[first])
    print(state, member.waits_for, number, text)


async def async_calls() -> None:
    submitted: Submitted = await fetch.submit(url="a")
    await fetch.submit(1)  # type: ignore[arg-type]
    size: int = await fetch("a")
    async for job in aio.list_all(queue="pages"):
        print(job.id, submitted.is_new, size)
    created: Workflow = (await aio.create_workflow(NewWorkflow())).workflow
    async for member in aio.all_members(created.id):
        print(member.ref)
