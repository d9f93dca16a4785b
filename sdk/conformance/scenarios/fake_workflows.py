"""Workflows of the fake."""

from scenarios.fake import comparable, drain, fake, job_of
from suite.failure import expect, expect_equal
from suite.scenario import scenario

COUNTS = ("blocked", "active", "succeeded", "failed", "skipped")


def member(ref, *script, needs=(), type="work", **others):
    named = {} if ref is None else {"ref": ref}
    needed = {"needs": list(needs)} if needs else {}
    return {**named, **needed, "job": job_of(*script, type=type), **others}


def flow(*members, **others):
    return {"queue": "q", "defaults": {"max_attempts": 1}, "members": list(members), **others}


def create(program, *members, **others):
    """The id of a new workflow."""
    return program.do("create_workflow", workflow=flow(*members, **others))["workflow"]["id"]


def ended(program, workflow):
    """The workflow after its end, with its result."""
    return program.do("wait_workflow", workflow=workflow, timeout_ms=1000)


def states(program, workflow):
    """{ref: state} of its members."""
    page = program.do("workflow_members", workflow=workflow)
    return {each["ref"]: each["state"] for each in page["items"]}


def ran(program):
    """The refs of the members whose handlers ran, in order."""
    return [event["workflow"]["ref"] for event in program.seen("start") if event["workflow"]]


@scenario(history=False)
def a_diamond(stage):
    """`drain` runs members once what they need has ended, with the results of their parents, and
    the workflow ends with the last.
    """
    program = fake(stage)
    sides = [member("left", ["parent", "top"], needs=["top"]), member("right", ["return", [2]], needs=["top"])]
    bottom = member("bottom", ["parent", "right"], needs=["left", "right"])
    workflow = create(program, bottom, *sides, member("top", ["return", 1]), result_from="bottom", name="diamond")
    before = program.do("workflow", workflow=workflow)
    expect_equal([before["counts"][name] for name in COUNTS], [3, 1, 0, 0, 0], "the counts before")
    expect_equal(drain(program), 4, "attempts that ran")
    expect_equal(sorted(ran(program)[1:3]), ["left", "right"], "what ran in the middle")
    done = ended(program, workflow)
    came = (done["state"], done["result"], [done["counts"][name] for name in COUNTS])
    expect_equal(came, ("succeeded", [2], [0, 0, 4, 0, 0]), "the end")
    last = program.seen("start")[-1]
    parents = {ref: (each["state"], each["result"]) for ref, each in last["parents"].items()}
    expect_equal(parents, {"left": ("succeeded", 1), "right": ("succeeded", [2])}, "the parents of the last")
    seen = {name: last["workflow"][name] for name in ("id", "name", "ref", "number", "role", "state")}
    wanted = {"id": workflow, "name": "diamond", "ref": "bottom", "number": 0, "role": "member", "state": "running"}
    expect_equal(seen, wanted, "the workflow that it sees")


@scenario(history=False)
def needs_of_each_kind(stage):
    """A need that can't be met skips a member, and so on down the graph; a need of a failure
    catches it; `needs_any` takes the first that is met.
    """
    program = fake(stage)
    members = [
        member("card", ["fail", "no money"]),
        member("thank", needs=["card"]),
        member("praise", needs=["thank"]),
        member("invoice", needs=[{"ref": "card", "on": "failed"}]),
        member("ship", needs=["card", "invoice"], needs_any=True),
        member("count", needs=[{"ref": "praise", "on": "ended"}, {"ref": "card", "on": "ended"}]),
        member("refund", needs=[{"ref": "ship", "on": "failed"}]),
    ]
    workflow = create(program, *members)
    drain(program)
    wanted = {
        "card": "failed",
        "thank": "skipped",
        "praise": "skipped",
        "invoice": "succeeded",
        "ship": "succeeded",
        "count": "succeeded",
        "refund": "skipped",
    }
    expect_equal(states(program, workflow), wanted, "the members")
    expect_equal(ended(program, workflow)["state"], "succeeded", "the end of a caught failure")


@scenario(history=False)
def policies_for_failures(stage):
    """An uncaught failure fails the workflow once the rest has run; with `stop` the rest is
    cancelled, with `ignore` it succeeds. A member's own retries come first.
    """
    program = fake(stage)

    def story(policy):
        members = [member("bad", ["fail", "no"]), member("after", needs=["bad"])]
        # A job in the future waits while `bad` fails.
        later = member("later")
        later["job"]["delay_ms"] = 1000
        workflow = create(program, *members, later, on_member_failed=policy)
        drain(program)
        program.do("advance", ms=1000)
        drain(program)
        done = ended(program, workflow)
        return done["state"], done["reason"], states(program, workflow)

    ends = {"bad": "failed", "after": "skipped", "later": "succeeded"}
    expect_equal(story("continue"), ("failed", "member_failed", ends), "the end with continue")
    expect_equal(story("stop"), ("failed", "member_failed", {**ends, "later": "failed"}), "the end with stop")
    expect_equal(story("ignore"), ("succeeded", None, ends), "the end with ignore")
    again = member("again", ["on_attempt", 1, [["fail", "once"]]])
    again["job"]["max_attempts"] = 2
    workflow = create(program, again)
    drain(program)
    expect_equal(states(program, workflow), {"again": "active"}, "between two attempts")
    program.do("advance", ms=5000)
    drain(program)
    expect_equal(ended(program, workflow)["state"], "succeeded", "the end after a retry")


@scenario(history=False)
def callbacks_of_the_fake(stage):
    """Each callback that applies is submitted once, and sees the state, the counts and what
    failed.
    """
    program = fake(stage)
    called = {name: job_of(type="other") for name in ("on_success", "on_failure", "on_end")}
    good = create(program, member("a"), **called)
    bad = create(program, member("a"), member("b", ["fail", "no"]), **called)
    expect_equal(drain(program), 7, "attempts that ran")
    for workflow, names in ((good, {"on_success", "on_end"}), (bad, {"on_failure", "on_end"})):
        expect_equal(set(ended(program, workflow)["callbacks"]), names, "the callbacks")
    seen = [event["workflow"] for event in program.seen("start", type="other")]
    came = {(each["id"], each["role"], each["state"], tuple(each["failed"])) for each in seen}
    wanted = {(good, "callback", "succeeded", ()), (bad, "callback", "failed", ("b",))}
    expect_equal(sorted(came), sorted(wanted), "what they saw")
    counts = [each["counts"]["succeeded"] for each in seen]
    expect_equal(counts, [1, 1, 1, 1], "the counts that they saw")


@scenario(history=False)
def open_workflows_of_the_fake(stage):
    """An open workflow takes members until it is closed, a ref only once; a closed one takes them
    from a member that is active.
    """
    program = fake(stage)
    workflow = create(program, open=True)
    request = {"members": [member("a"), member("b", needs=["a"])]}
    answers = [program.do("add_members", workflow=workflow, request=request) for _ in range(2)]
    wanted = [{"added": 2, "existing": 0, "members": 2}, {"added": 0, "existing": 2, "members": 2}]
    expect_equal(answers, wanted, "the answers")
    drain(program)
    expect_equal(program.do("workflow", workflow=workflow)["state"], "running", "the state while it is open")
    expect_equal(program.refuse("wait_workflow", workflow=workflow, timeout_ms=10).class_name, "WaitTimeout", "a wait")
    expect_equal(program.do("close_workflow", workflow=workflow)["open"], False, "open, once closed")
    expect_equal(ended(program, workflow)["state"], "succeeded", "the end")
    request = {"members": [member("c")]}
    refused = program.refuse("add_members", workflow=workflow, request=request)
    expect_equal(refused.class_name, "InvalidState", "the error of an addition after that")
    workflow = create(program, member("one"))
    answer = program.do("add_members", workflow=workflow, request={**request, "by": "one"})
    expect_equal(answer["members"], 2, "members after an addition by a member")
    drain(program)
    expect_equal(states(program, workflow), {"one": "succeeded", "c": "succeeded"}, "the members")


@scenario(history=False)
def cancelled_and_skipped(stage):
    """`cancel_workflow` cancels what waits; `skip_member` skips a blocked member, and what needs
    its success.
    """
    program = fake(stage)
    chain = [member("a"), member("b", needs=["a"]), member("c", needs=["b"])]
    workflow = create(program, *chain, on_end=job_of(type="other"))
    program.do("cancel_workflow", workflow=workflow, reason="not needed")
    done = ended(program, workflow)
    came = (done["state"], done["reason"], done["cancel_reason"])
    expect_equal(came, ("cancelled", "cancelled", "not needed"), "the end")
    expect_equal(states(program, workflow), {"a": "failed", "b": "skipped", "c": "skipped"}, "the members")
    expect_equal(drain(program), 1, "attempts: of the callback alone")
    refused = program.refuse("cancel_workflow", workflow=workflow)
    expect_equal(refused.class_name, "InvalidState", "the error of another cancellation")
    workflow = create(program, *chain, member("d", needs=[{"ref": "b", "on": "ended"}]))
    counts = program.do("skip_member", workflow=workflow, ref="b")["counts"]
    expect_equal(counts["skipped"], 2, "members that are skipped")
    refused = program.refuse("skip_member", workflow=workflow, ref="a")
    expect_equal(refused.class_name, "InvalidState", "the error of one that is not blocked")
    drain(program)
    wanted = {"a": "succeeded", "b": "skipped", "c": "skipped", "d": "succeeded"}
    expect_equal(states(program, workflow), wanted, "the members")
    expect_equal(ended(program, workflow)["state"], "succeeded", "the end of the skipped")


@scenario(history=False)
def bounds_and_keys_of_the_fake(stage):
    """`max_active` bounds what is released; a `unique` key is held until the end; an id and an
    idempotency key give the same workflow again.
    """
    program = fake(stage)
    body = flow(*[member(None)] * 5, max_active=2, unique={"key": "u"})
    first = program.do("create_workflow", workflow=body)
    workflow = first["workflow"]["id"]
    counts = program.do("workflow", workflow=workflow)["counts"]
    expect_equal([counts[name] for name in COUNTS], [3, 2, 0, 0, 0], "the counts")
    again = program.do("create_workflow", workflow=body)
    came = (first["is_new"], again["is_new"], again["workflow"]["id"])
    expect_equal(came, (True, False, workflow), "of a unique key: new, again new, id")
    rejecting = {**body, "unique": {"key": "u", "on_conflict": "reject"}}
    refused = program.refuse("create_workflow", workflow=rejecting)
    expect_equal(refused.class_name, "DuplicateWorkflow", "the error with reject")
    expect_equal(drain(program), 5, "attempts that ran")
    expect_equal(ended(program, workflow)["state"], "succeeded", "the end")
    other = program.do("create_workflow", workflow=rejecting)
    expect_equal(other["is_new"], True, "is_new, once the holder has ended")
    keyed = {**flow(open=True), "idempotency_key": "k"}
    new = [program.do("create_workflow", workflow=keyed)["is_new"] for _ in range(2)]
    expect_equal(new, [True, False], "is_new of an idempotency key")
    listed = program.do("workflows", filter={"state": "succeeded"})["items"]
    expect_equal([each["id"] for each in listed], [workflow], "the ended ones")


@scenario(history=False)
def inline_workflows(stage):
    """In the mode `inline` a workflow whose members are due has ended when it is created."""
    program = fake(stage, "inline")
    workflow = create(program, member("a", ["return", 1]), member("b", ["parent", "a"], needs=["a"]), result_from="b")
    done = ended(program, workflow)
    expect_equal((done["state"], done["result"]), ("succeeded", 1), "state and result")
    workflow = create(program, open=True)
    request = {"members": [member("a")], "close": True}
    program.do("add_members", workflow=workflow, request=request)
    expect_equal(ended(program, workflow)["state"], "succeeded", "the end of one that got its members later")


@scenario(history=False)
def members_that_handlers_add(stage):
    """`context.add` and `context.skip` do so with a success, and with that alone; what they add
    may need any member, also the one that adds.
    """
    program = fake(stage)
    grown = [member("x", ["return", 1], needs=["plan"]), member("y", ["parent", "x"], needs=["x"])]
    plan = member("plan", ["grow", {"members": grown, "skip": ["idle"]}])
    workflow = create(program, plan, member("idle", needs=["plan"]))
    expect_equal(drain(program), 3, "attempts that ran")
    wanted = {"plan": "succeeded", "idle": "skipped", "x": "succeeded", "y": "succeeded"}
    expect_equal(states(program, workflow), wanted, "the members")
    expect_equal(ended(program, workflow)["state"], "succeeded", "the end")
    failing = member("plan", ["grow", {"members": grown}], ["fail", "no"])
    workflow = create(program, failing)
    drain(program)
    expect_equal(states(program, workflow), {"plan": "failed"}, "the members, where it failed")
    for bad in ({"members": [member("x", needs=["nobody"])]}, {"skip": ["other"]}):
        workflow = create(program, member("plan", ["grow", bad]), member("other"))
        drain(program)
        plan = program.do("workflow_member", workflow=workflow, ref="plan", include=["job"])
        expect_equal(plan["job"]["last_error"]["type"], "outcome_refused", "the error of what can't be added")
    alone = program.do("submit", job=job_of(["grow", {"members": grown}], max_attempts=1))["job"]["id"]
    drain(program)
    expect_equal(program.do("get", job=alone)["state"], "dead", "a job of no workflow that adds")


@scenario(history=False)
def what_the_fake_lacks(stage):
    """What the fake of workflows does not have is an error that says so: retries, and timeouts."""
    program = fake(stage)
    workflow = create(program, member("a", ["fail", "no"]))
    drain(program)
    for refused in (
        program.refuse("retry_workflow", workflow=workflow),
        program.refuse("create_workflow", workflow=flow(timeout_ms=60_000)),
    ):
        expect("fake" in refused.message, f"it does not say that the fake lacks it: {refused.message}")


@scenario
def workflows_as_the_server_answers(stage):
    """The same story of workflows on the server and on the fake gives the same answers, member by
    member.
    """
    called = {"on_end": {"type": "other", "queue": "q"}}
    members = [
        member("a", ["return", 1]),
        member("b", needs=["a", {"ref": "a/x", "on": "ended"}], needs_any=True),
        member("a/x", needs=[{"ref": "a", "on": "failed"}]),
    ]
    settings = {"name": "n", "tags": ["t"], "meta": {"m": "1"}, "max_active": 3, "result_from": "b"}

    def story(program):
        def refusal(do, **members):
            refused = program.refuse(do, **members)
            return refused.class_name, refused.code, refused.status, [fault["where"] for fault in refused.errors or ()]

        def settled(workflow, active):
            """The workflow, once so many members are active: the server needs a moment."""

            def there():
                read = program.do("workflow", workflow=workflow)
                return read if read["counts"]["active"] == active else None

            return stage.eventually(there, f"{active} active members")

        made = program.do("create_workflow", workflow=flow(*members, open=True, **settings, **called))
        workflow = made["workflow"]["id"]
        yield made
        yield settled(workflow, 1)
        yield program.do("workflow_members", workflow=workflow)
        yield program.do("workflow_members", workflow=workflow, state="blocked", limit=1)["items"]
        yield program.do("workflow_member", workflow=workflow, ref="b")
        yield program.do("workflow_member", workflow=workflow, ref="@2", include=["job", "result"])
        more = {"members": [member("a"), member("z", needs=["a"])]}
        yield program.do("add_members", workflow=workflow, request=more)
        yield program.do("workflow_member", workflow=workflow, ref="z")
        yield refusal("add_members", workflow=workflow, request={"members": [member("y", needs=["nobody"])]})
        yield refusal("skip_member", workflow=workflow, ref="a")
        yield refusal("skip_member", workflow=workflow, ref="nobody")
        yield program.do("skip_member", workflow=workflow, ref="z")
        yield program.do("close_workflow", workflow=workflow)
        yield refusal("add_members", workflow=workflow, request={"members": [member("q")]})
        program.do("cancel_workflow", workflow=workflow, reason="no")
        done = program.do("wait_workflow", workflow=workflow, timeout_ms=20_000)
        yield done
        yield program.do("get", job=done["callbacks"]["on_end"])
        yield program.do("workflow_members", workflow=workflow, include=["result"])
        yield refusal("cancel_workflow", workflow=workflow)
        yield refusal("workflow", workflow="0195a1b2-c3d4-7e5f-8899-aabbccddeeff")
        yield program.do("create_workflow", workflow={"queue": "q"})
        yield refusal("create_workflow", workflow=flow(member("a", needs=["b"]), member("b", needs=["a"])))
        yield refusal("create_workflow", workflow=flow(member("a"), member("a")))
        yield refusal("create_workflow", workflow=flow(member("a", needs=["b"])))
        yield refusal("create_workflow", workflow=flow(member("a"), result_from="b"))

    on_server = [comparable_of(each) for each in story(stage.program)]
    on_fake = [comparable_of(each) for each in story(fake(stage))]
    for number, (real, faked) in enumerate(zip(on_server, on_fake), 1):
        expect_equal(faked, real, f"answer {number} of the fake, and what the server answers")
    expect_equal((len(on_server), len(on_fake)), (24, 24), "answers")


def comparable_of(value):
    """A value without what differs from one run to the next: ids and times."""
    if isinstance(value, (list, tuple)):
        return [comparable_of(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {name: comparable_of(each) for name, each in comparable(value).items()}
    for name in {"job_id", "ended_at", "on_end"} & kept.keys():
        kept[name] = "null" if kept[name] is None else "given"
    return kept
