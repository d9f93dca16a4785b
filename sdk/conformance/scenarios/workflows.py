"""Workflows: their calls, what handlers see of them, and what becomes of them."""

from scenarios.client import NOBODY
from scenarios.ids import expect_id
from suite import way
from suite.failure import expect, expect_between, expect_equal
from suite.scenario import scenario

CREATION = ("POST", "^/v1/workflows$")
ADDITION = ("POST", "/members$")


def job(stage, *script, **members):
    """The job of a member: what a handler does."""
    return {"type": "work", "queue": stage.queue, "payload": {"script": [list(step) for step in script]}, **members}


def member(stage, ref, *script, needs=(), **others):
    named = {} if ref is None else {"ref": ref}
    needed = {"needs": list(needs)} if needs else {}
    return {**named, **needed, "job": job(stage, *script), **others}


def flow(stage, *members, **others):
    """A workflow of the scenario's queue, whose jobs have one attempt."""
    return {"queue": stage.queue, "defaults": {"max_attempts": 1}, "members": list(members), **others}


def create(stage, *members, **others):
    """The id of a new workflow."""
    return stage.program.do("create_workflow", workflow=flow(stage, *members, **others))["workflow"]["id"]


def ended(stage, workflow):
    """The workflow after its end, with its result."""
    return stage.program.do("wait_workflow", workflow=workflow, timeout_ms=50_000)


def states(stage, workflow):
    """The states of its members."""
    page = stage.program.do("workflow_members", workflow=workflow)
    return [each["state"] for each in page["items"]]


def start_of(stage, ref):
    """The event of the handler of this member."""
    return next(event for event in stage.program.seen("start") if (event["workflow"] or {}).get("ref") == ref)


# Creation


@scenario
def created_and_read(stage):
    """A created workflow is new, and all that it may have arrives as it was given; the same id
    again is not new.
    """
    given = {
        "name": "nightly",
        "tags": ["eu-1", "vip"],
        "meta": {"tenant": "acme"},
        "on_member_failed": "stop",
        "max_active": 7,
        "timeout_ms": 60_000,
        "result_from": "load",
        "keep_members": False,
        "open": True,
    }
    members = [
        {"ref": "load", "job": {"type": "load", "payload": {"n": [1, None]}, "priority": -3, "delay_ms": 5000}},
        {"ref": "make", "needs": ["load", {"ref": "end", "on": "ended"}], "needs_any": True, "job": {"type": "make"}},
        {"ref": "end", "job": {"type": "load"}},
    ]
    own = {"id": stage.program.do("make_id", queue=stage.queue)["id"], "queue": stage.queue}
    body = {**own, **given, "unique": {"key": "one"}, "defaults": {"tags": ["d"]}, "members": members}
    first = stage.program.do("create_workflow", workflow=body)
    expect_equal(first["is_new"], True, "is_new of the first creation")
    read = stage.program.do("workflow", workflow=first["workflow"]["id"])
    expect_equal({name: read[name] for name in given}, given, "the workflow that comes back")
    came = (read["queue"], read["state"], read["members"], read["unique"]["key"])
    expect_equal(came, (stage.queue, "running", 3, "one"), "queue, state, members, unique key")
    load = stage.program.do("workflow_member", workflow=read["id"], ref="load")
    wanted = {"type": "load", "queue": stage.queue, "payload": {"n": [1, None]}, "priority": -3, "delay_ms": 5000}
    came = {name: load["definition"].get(name) for name in [*wanted, "tags"]}
    expect_equal(came, {**wanted, "tags": ["d"]}, "the definition of a member")
    make = stage.program.do("workflow_member", workflow=read["id"], ref="make")
    needs = [(need["ref"], need["on"]) for need in make["needs"]]
    expect_equal((needs, make["needs_any"]), ([("load", "succeeded"), ("end", "ended")], True), "needs of a member")
    expect_equal(read["id"], own["id"], "the id")
    again = stage.program.do("create_workflow", workflow=body)
    expect_equal((again["is_new"], again["workflow"]["id"]), (False, read["id"]), "is_new of the same id, and the id")


@scenario
def a_creation_gets_an_id(stage):
    """A workflow without an id gets one with the bits of its own queue; one with an idempotency key
    has the key in the header, and no id.
    """
    stage.program.do("create_workflow", workflow={"queue": stage.queue, "members": []})
    stage.program.do("create_workflow", workflow={"members": []})
    keyed = {"queue": stage.queue, "open": True, "idempotency_key": "order-1815"}
    first = stage.program.do("create_workflow", workflow=keyed)
    again = stage.program.do("create_workflow", workflow=keyed)
    sent = stage.way.requests(*CREATION)
    for exchange, queue in zip(sent, (stage.queue, "default")):
        expect("id" in exchange.said, f"a workflow was sent without id: {exchange.said}")
        expect_id(exchange.said["id"], queue)
    headers = [e.headers.get("idempotency-key") for e in sent]
    expect_equal(headers, [None, None, "order-1815", "order-1815"], "the headers")
    expect_equal([e.said.get("id") for e in sent[2:]], [None, None], "the ids beside a key")
    came = (first["is_new"], again["is_new"], again["workflow"]["id"])
    expect_equal(came, (True, False, first["workflow"]["id"]), "of a key: new, again new, id")


@scenario
def lost_answer_of_a_creation(stage):
    """A creation whose answer is lost is sent again, with the same id; there is one workflow."""
    lost = stage.way.when(way.LOST_ANSWER, *CREATION, times=2)
    made = stage.program.do("create_workflow", workflow=flow(stage, member(stage, "a"), member(stage, None)))
    expect_equal(len(lost.hits), 2, "how many answers were lost")
    sent = [exchange.said for exchange in stage.way.requests(*CREATION)]
    expect(all(said == sent[0] for said in sent), "the tries differ")
    listed = stage.api.get("/v1/workflows", queue=stage.queue, fresh="true").json["items"]
    expect_equal([each["id"] for each in listed], [made["workflow"]["id"]], "the workflows")


@scenario
def a_duplicate(stage):
    """A second workflow of a unique key gives the holder, and is not new; with `reject` it is
    `DuplicateWorkflow`.
    """
    body = {"queue": stage.queue, "open": True, "unique": {"key": "order-17"}}
    first = stage.program.do("create_workflow", workflow=body)
    second = stage.program.do("create_workflow", workflow=body)
    came = (first["is_new"], second["is_new"], second["workflow"]["id"])
    expect_equal(came, (True, False, first["workflow"]["id"]), "of the two: new, new, the second's id")
    body["unique"] = {"key": "order-17", "on_conflict": "reject"}
    refused = stage.program.refuse("create_workflow", workflow=body)
    came = (refused.class_name, refused.code, refused.status)
    expect_equal(came, ("DuplicateWorkflow", "duplicate_workflow", 409), "the error")


@scenario
def a_circle(stage):
    """Members that need each other in a circle are `ValidationFailed`, and nothing is there."""
    members = [member(stage, "a", needs=["b"]), member(stage, "b", needs=["a"])]
    refused = stage.program.refuse("create_workflow", workflow=flow(stage, *members))
    expect_equal((refused.class_name, refused.status), ("ValidationFailed", 422), "the error")
    expect(refused.errors[0]["where"].startswith("/members/"), f"where the fault is: {refused.errors}")
    listed = stage.api.get("/v1/workflows", queue=stage.queue, fresh="true").json["items"]
    expect_equal(listed, [], "the workflows")


@scenario
def more_than_a_call_takes(stage):
    """A workflow of 10,001 members goes in two calls: the first leaves it open, the last closes it.
    Each is sent again after a lost answer, and none adds a member twice. The defaults hold for all.
    """
    members = [{"job": {"type": "quiet"}} for _ in range(10_000)] + [{"ref": "last", "job": {"type": "quiet"}}]
    lost = [stage.way.when(way.LOST_ANSWER, *CREATION), stage.way.when(way.LOST_ANSWER, *ADDITION)]
    own = stage.program.do("make_id", queue=stage.queue)["id"]
    workflow = {"id": own, "queue": stage.queue, "defaults": {"priority": 5}, "members": members, "max_active": 1}
    made = stage.program.do("create_workflow", workflow=workflow)
    expect_equal([len(rule.hits) for rule in lost], [1, 1], "how many answers were lost")
    came = (made["workflow"]["members"], made["workflow"]["open"])
    expect_equal(came, (10_001, False), "members, open")
    last = stage.program.do("workflow_member", workflow=made["workflow"]["id"], ref="last")
    came = (last["number"], last["definition"].get("priority"))
    expect_equal(came, (10_000, 5), "number and priority of the last")
    sent = stage.way.requests(*CREATION)[0].said
    expect_equal((len(sent["members"]), sent["open"]), (10_000, True), "members and `open` of the first call")
    added = stage.way.requests(*ADDITION)[0].said
    expect_equal((len(added["members"]), added["close"]), (1, True), "members and `close` of the second")
    again = stage.program.do("create_workflow", workflow=workflow)
    came = (again["is_new"], again["workflow"]["members"])
    expect_equal(came, (False, 10_001), "the same again: new, members")


@scenario
def an_open_one_of_many(stage):
    """A workflow of 10,001 members that is to stay open is not closed by its last call; a part
    whose members have no refs carries a key.
    """
    workflow = {"queue": stage.queue, "members": [{"job": {"type": "quiet"}}] * 10_001, "open": True, "max_active": 1}
    stage.way.when(way.LOST_ANSWER, *ADDITION)
    made = stage.program.do("create_workflow", workflow=workflow)["workflow"]
    expect_equal((made["members"], made["open"]), (10_001, True), "members, open")
    keys = [exchange.headers.get("idempotency-key") for exchange in stage.way.requests(*ADDITION)]
    expect(keys[0] and keys == keys[:1] * 2, f"the keys of the tries are {keys}")


# Waits and lists


@scenario
def wait_for_success(stage):
    """`wait_workflow` gives the workflow once it has ended, with the result of the member that
    `result_from` names; it waits at the server.
    """
    members = [member(stage, "a", ["return", 1]), member(stage, "b", ["return", {"sum": 42}], needs=["a"])]
    workflow = create(stage, *members, result_from="b")
    waiting = stage.program.send("wait_workflow", workflow=workflow, timeout_ms=50_000)
    stage.worker()
    done = waiting.result()
    came = (done["state"], done.get("result"), done["counts"]["succeeded"])
    expect_equal(came, ("succeeded", {"sum": 42}, 2), "state, result, members that succeeded")
    asked = stage.way.requests("GET", f"/v1/workflows/{workflow}$")
    expect(len(asked) < 5, f"the wait asked {len(asked)} times")
    expect(all("until=final" in exchange.target for exchange in asked), "a wait without until=final")
    bounds = [int(exchange.target.split("wait_ms=")[1].split("&")[0]) for exchange in asked]
    expect(max(bounds) <= 60_000, f"a wait of more than 60 s: {bounds}")


@scenario
def wait_for_failure(stage):
    """A failed workflow is an answer of `wait_workflow` and no error: its state and its reason say
    so, and what needed the failed member is skipped.
    """
    members = [member(stage, "a", ["fail", "no luck"]), member(stage, "b", needs=["a"])]
    workflow = create(stage, *members)
    stage.worker()
    done = ended(stage, workflow)
    expect_equal((done["state"], done["reason"]), ("failed", "member_failed"), "state and reason")
    expect_equal(states(stage, workflow), ["failed", "skipped"], "the members")


@scenario
def wait_gives_up(stage):
    """A `wait_workflow` whose time is over is `WaitTimeout`; one for a workflow that is not there
    asks for 2 s again, and then is `NotFound`.
    """
    workflow = create(stage, open=True)
    call = stage.program.send("wait_workflow", workflow=workflow, timeout_ms=700)
    refused = stage.program.refuse("wait_workflow", workflow=workflow, timeout_ms=700)
    expect_equal((refused.class_name, refused.code), ("WaitTimeout", "wait_timeout"), "the error")
    call.came.wait(20)
    expect_between(0.6, call.took_s, 10, "seconds of the wait")
    lost = stage.program.send("wait_workflow", workflow=NOBODY, timeout_ms=20_000)
    refused = stage.program.refuse("wait_workflow", workflow=NOBODY, timeout_ms=20_000)
    expect_equal(refused.class_name, "NotFound", "the error where there is none")
    lost.came.wait(20)
    expect_between(1.5, lost.took_s, 15, "seconds until it was told")
    expect_equal(stage.program.refuse("workflow", workflow=NOBODY).class_name, "NotFound", "the error at once")


@scenario
def lists_of_workflows(stage):
    """`workflows` gives pages, newest first, by state, queue, name and tag; the iterator gives
    all, once each.
    """
    made = [create(stage, open=True, name=f"n{n % 2}", tags=[f"t{n % 3}"]) for n in range(5)]
    made.append(create(stage, name="empty"))
    stage.api.get("/v1/workflows", queue=stage.queue, fresh="true")

    def ids(**filters):
        items = stage.program.do("workflows", filter={"queue": stage.queue, **filters})["items"]
        return [each["id"] for each in items]

    expect_equal(ids(), made[::-1], "all, newest first")
    expect_equal(ids(name="n1"), [made[3], made[1]], "of a name")
    expect_equal(ids(tag="t0"), [made[3], made[0]], "of a tag")
    expect_equal(ids(state="succeeded"), made[5:], "of a state")
    expect_equal(ids(state=["succeeded", "cancelled"]), made[5:], "of two states")
    page = stage.program.do("workflows", filter={"queue": stage.queue}, limit=4)
    rest = stage.program.do("workflows", filter={"queue": stage.queue}, limit=4, cursor=page["next_cursor"])
    came = [each["id"] for each in page["items"] + rest["items"]]
    expect_equal(came, made[::-1], "two pages")
    everything = stage.program.do("all_workflows", filter={"queue": stage.queue}, limit=2)["ids"]
    expect_equal(everything, made[::-1], "the iterator")


@scenario
def members_and_their_graph(stage):
    """`workflow_members` gives pages by number, by state, with jobs and results; the iterator
    gives all; `workflow_graph` the needs, and `why_workflow` what it waits for.
    """
    members = [member(stage, "a", ["return", [7]]), *[member(stage, None, needs=["a", "away"]) for _ in range(4)]]
    workflow = create(stage, *members, member(stage, "away", job={"type": "nobody"}))
    stage.worker()
    first = stage.program.do("workflow_member", workflow=workflow, ref="a", include=["job", "result"], wait_ms=50_000)
    came = (first["state"], first["result"], first["job"]["state"], first["job"]["id"] == first["job_id"])
    expect_equal(came, ("succeeded", [7], "succeeded", True), "one member, with its job")
    page = stage.program.do("workflow_members", workflow=workflow, limit=4, include=["result"])
    rest = stage.program.do("workflow_members", workflow=workflow, limit=4, cursor=page["next_cursor"])
    items = page["items"] + rest["items"]
    expect_equal([each["number"] for each in items], list(range(6)), "two pages")
    expect_equal([each["ref"] for each in items], ["a", None, None, None, None, "away"], "refs")
    expect_equal(items[0]["result"], [7], "the result in a page")
    blocked = stage.program.do("workflow_members", workflow=workflow, state="blocked")["items"]
    expect_equal([each["number"] for each in blocked], [1, 2, 3, 4], "the blocked ones")
    numbers = stage.program.do("all_members", workflow=workflow, limit=4)["numbers"]
    expect_equal(numbers, list(range(6)), "the iterator")
    unnamed = stage.program.do("workflow_member", workflow=workflow, ref="@1")
    expect_equal((unnamed["number"], unnamed["waits_for"]), (1, ["away"]), "one by its number")
    graph = stage.program.do("workflow_graph", workflow=workflow)
    line = graph["items"][1]
    expect_equal((len(graph["items"]), graph["next_cursor"]), (6, None), "lines of the graph, the next cursor")
    came = (line["number"], line["state"], [need["ref"] for need in line["needs"]])
    expect_equal(came, (1, "blocked", ["a", "away"]), "a line")
    why = stage.program.do("why_workflow", workflow=workflow)
    expect_equal([each["code"] for each in why["blocking"]], ["active"], "what it waits for")
    expect(why["summary"], f"it says nothing: {why}")


@scenario
def refs_with_slashes(stage):
    """A ref may have slashes and dots: it is one part of the path."""
    refs = ["eu/1.a", "a/b/c:d", ".../x"]
    workflow = create(stage, *[member(stage, ref) for ref in refs], member(stage, "z/end", needs=refs))
    for number, ref in enumerate(refs):
        read = stage.program.do("workflow_member", workflow=workflow, ref=ref)
        expect_equal((read["number"], read["ref"]), (number, ref), "number and ref")
    stage.program.do("skip_member", workflow=workflow, ref="z/end")
    read = stage.program.do("workflow_member", workflow=workflow, ref="z/end")
    expect_equal((read["state"], read["reason"]), ("skipped", "by_call"), "state and reason of a skipped one")
    refused = stage.program.refuse("workflow_member", workflow=workflow, ref="eu/1")
    expect_equal(refused.class_name, "NotFound", "the error of a ref that is not there")


# Handlers


@scenario
def parents_in_a_handler(stage):
    """A handler sees its workflow, its member and its parents: of each the state, and the result by
    its ref. Every attempt sees the same.
    """
    script = [["on_attempt", 1, [["fail", "once"]]], ["parent", "load"]]
    twice = job(stage, *script, max_attempts=2, retry={"strategy": "fixed", "base_ms": 50})
    members = [
        member(stage, "load", ["return", {"rows": 1200}]),
        member(stage, "a/b", ["return", None]),
        member(stage, "sum", needs=["load", "a/b"], job=twice),
    ]
    workflow = create(stage, *members, name="nightly", result_from="sum")
    stage.submit(["return", 1])
    stage.worker()
    done = ended(stage, workflow)
    expect_equal((done["state"], done["result"]), ("succeeded", {"rows": 1200}), "state and result")
    starts = [each for each in stage.program.seen("start") if (each["workflow"] or {}).get("ref") == "sum"]
    expect_equal(len(starts), 2, "attempts of the last")
    for start in starts:
        seen = start["workflow"]
        came = {name: seen[name] for name in ("id", "name", "ref", "number", "generation", "role", "state")}
        wanted = {"id": workflow, "name": "nightly", "ref": "sum", "number": 2, "generation": 1}
        expect_equal(came, {**wanted, "role": "member", "state": "running"}, "the workflow that it sees")
        parents = {ref: (each["state"], each["result"]) for ref, each in start["parents"].items()}
        expect_equal(parents, {"load": ("succeeded", {"rows": 1200}), "a/b": ("succeeded", None)}, "its parents")
    expect_equal(start_of(stage, "load")["parents"], {}, "parents of one without needs")
    alone = stage.program.await_event("start", workflow=None)
    expect_equal(alone["parents"], {}, "parents of a job of no workflow")


@scenario
def a_parent_that_is_none(stage):
    """A lookup of a parent that is none fails, and so does one of the result of a parent that did
    not succeed; the text of each says which it is.
    """
    members = [
        member(stage, "load", ["return", 1]),
        member(stage, "bad", ["fail", "no luck"]),
        member(stage, "none", ["parent", "lode"], needs=["load"]),
        member(stage, "failed", ["parent", "bad"], needs=[{"ref": "bad", "on": "ended"}]),
    ]
    workflow = create(stage, *members)
    stage.worker()
    ended(stage, workflow)
    expect_equal(states(stage, workflow), ["succeeded", "failed", "failed", "failed"], "the members")

    def said(ref):
        read = stage.program.do("workflow_member", workflow=workflow, ref=ref, include=["job"])
        return read["job"]["last_error"]["message"]

    text = said("none")
    expect("lode" in text and "load" in text, f"it names neither the ref nor what there is: {text}")
    bad = stage.program.do("workflow_member", workflow=workflow, ref="bad")["job_id"]
    text = said("failed")
    expect("bad" in text and bad in text, f"it does not name the parent and its job: {text}")


@scenario
def callbacks(stage):
    """The jobs of `on_failure` and `on_end` come once each, and see the state, the counts and the
    refs of what failed; `on_success` does not come.
    """
    called = {name: {"type": name, "queue": stage.queue} for name in ("on_success", "on_failure", "on_end")}
    workflow = create(stage, member(stage, "good"), member(stage, "bad", ["fail", "no"]), **called)
    stage.worker(types=["work", *called])
    starts = [stage.program.await_event("start", type=name) for name in ("on_failure", "on_end")]
    for start in starts:
        seen = start["workflow"]
        came = (seen["id"], seen["role"], seen["state"], seen.get("failed"))
        expect_equal(came, (workflow, "callback", "failed", ["bad"]), "what a callback sees")
        came = (seen["counts"]["succeeded"], seen["counts"]["failed"], start["parents"])
        expect_equal(came, (1, 1, {}), "members that succeeded and failed, parents")
    done = ended(stage, workflow)
    wanted = {"on_failure": starts[0]["job"], "on_end": starts[1]["job"]}
    expect_equal(done["callbacks"], wanted, "the ids of the callbacks")
    expect_equal(stage.program.seen("start", type="on_success"), [], "runs of on_success")


@scenario
def a_caught_failure(stage):
    """A member that needs the failure of another catches it: the workflow succeeds. `needs_any`
    releases a member by the first of its needs.
    """
    members = [
        member(stage, "card", ["fail", "no money"]),
        member(stage, "invoice", needs=[{"ref": "card", "on": "failed"}]),
        member(stage, "thank", needs=["card"]),
        member(stage, "ship", ["return", "sent"], needs=["card", "invoice"], needs_any=True),
    ]
    workflow = create(stage, *members, result_from="ship")
    stage.worker()
    done = ended(stage, workflow)
    came = (done["state"], done["result"], states(stage, workflow))
    expect_equal(came, ("succeeded", "sent", ["failed", "succeeded", "skipped", "succeeded"]), "how it ended")
    parents = start_of(stage, "invoice")["parents"]
    expect_equal((parents["card"]["state"], parents["card"]["reason"]), ("failed", "dead"), "the parent that it sees")


@scenario
def grown_by_a_handler(stage):
    """What a handler adds and skips goes with its success, and not with its failure; it is added
    once, also if the answer is lost.
    """
    grown = [member(stage, "x", ["return", [1]], needs=["plan"]), member(stage, "y", ["parent", "x"], needs=["x"])]
    script = [["grow", {"members": grown, "skip": ["idle"]}], ["on_attempt", 1, [["fail", "once"]]]]
    plan = job(stage, *script, max_attempts=2, retry={"strategy": "fixed", "base_ms": 50})
    workflow = create(stage, member(stage, "plan", job=plan), member(stage, "idle", needs=["plan"]))
    lost = stage.way.when(way.LOST_ANSWER, "POST", where=lambda e: any("grow" in item for item, _ in e.acks))
    stage.worker()
    expect_equal(ended(stage, workflow)["state"], "succeeded", "the end")
    expect_equal(states(stage, workflow), ["succeeded", "skipped", "succeeded", "succeeded"], "the members")
    last = stage.program.do("workflow_member", workflow=workflow, ref="y", include=["result"])
    expect_equal(last["result"], [1], "the result of the last")
    expect_equal(len(lost.hits), 1, "how many answers were lost")
    sent = [item for exchange in stage.way.requests() for item, _ in exchange.acks if "grow" in item]
    expect_equal({item["outcome"] for item in sent}, {"succeeded"}, "outcomes that add members")


@scenario
def growth_that_is_refused(stage):
    """If the server refuses what a handler adds, the attempt fails with the type `outcome_refused`;
    in a job that is no member of a workflow, adding is an error at once.
    """
    grown = {"members": [member(stage, "x", needs=["nobody"])]}
    workflow = create(stage, member(stage, "plan", ["grow", grown], ["return", 1]))
    alone = stage.submit(["grow", grown], ["return", 1], max_attempts=1)
    stage.worker(lease_ms=3000)  # an attempt without an outcome ends soon
    expect_equal(ended(stage, workflow)["state"], "failed", "the end")
    plan = stage.program.do("workflow_member", workflow=workflow, ref="plan", include=["job"])
    expect_equal(plan["job"]["last_error"]["type"], "outcome_refused", "the type of the error")
    error = stage.final(alone, state="dead")["last_error"]
    expect(error["type"] != "outcome_refused", f"it was sent to the server: {error}")


# What operators do


@scenario
def cancelled(stage):
    """`cancel_workflow` keeps the reason; what runs is told, what waits never runs."""
    members = [member(stage, "a", ["sleep", 60_000]), member(stage, "b", needs=["a"])]
    workflow = create(stage, *members)
    stage.worker()
    stage.program.await_event("start")
    answer = stage.program.do("cancel_workflow", workflow=workflow, reason="the customer withdrew")
    expect_equal(answer["state"], "stopping", "the state that the call gives")
    done = ended(stage, workflow)
    came = (done["state"], done["reason"], done.get("cancel_reason"))
    expect_equal(came, ("cancelled", "cancelled", "the customer withdrew"), "the end")
    expect_equal([each["reason"] for each in stage.program.seen("told")], ["cancelled"], "what handlers were told")
    expect_equal(states(stage, workflow), ["failed", "skipped"], "the members")
    refused = stage.program.refuse("cancel_workflow", workflow=workflow)
    expect_equal(refused.class_name, "InvalidState", "the error of another cancellation")


@scenario
def cancel_workflow_is_repeated(stage):
    """A `cancel_workflow` whose answer is lost is sent again; when it then finds the workflow
    cancelled, that is a success.
    """
    workflow = create(stage, open=True)
    lost = stage.way.when(way.LOST_ANSWER, "POST", "/cancel$")
    stage.way.when(way.late_request(1), "POST", "/cancel$")  # the workflow has ended by then
    answer = stage.program.do("cancel_workflow", workflow=workflow)
    expect_equal((answer["id"], answer["state"]), (workflow, "cancelled"), "the answer")
    expect_equal(len(lost.hits), 1, "how many answers were lost")


@scenario
def retried(stage):
    """`retry_workflow` runs what failed again, and what was skipped because of it, as a new
    generation; what succeeded stays. It takes refs.
    """
    script = [["on_attempt", 1, [["fail", "no luck"]]], ["return", 2]]
    members = [member(stage, "a"), member(stage, "b", *script, needs=["a"]), member(stage, "c", needs=["b"])]
    workflow = create(stage, *members)
    refused = stage.program.refuse("retry_workflow", workflow=workflow)
    expect_equal(refused.class_name, "InvalidState", "the error where nothing has failed")
    stage.worker()
    expect_equal(ended(stage, workflow)["state"], "failed", "the first end")
    request = {"refs": ["b"], "reset_attempts": False}
    again = stage.program.do("retry_workflow", workflow=workflow, request=request)
    expect_equal((again["state"], again["generation"]), ("running", 2), "state and generation")
    expect_equal(stage.way.requests("POST", "/retry$")[-1].said, request, "the request")
    done = ended(stage, workflow)
    expect_equal((done["state"], states(stage, workflow)), ("succeeded", ["succeeded"] * 3), "the second end")
    refs = [event["workflow"]["ref"] for event in stage.program.seen("start")]
    expect_equal(refs, ["a", "b", "b", "c"], "what ran")


@scenario
def retry_workflow_is_not_repeated(stage):
    """A `retry_workflow` whose answer is lost is not sent again: what it retried would run once
    more.
    """
    workflow = create(stage, member(stage, "a", ["fail", "no"]))
    stage.worker()
    ended(stage, workflow)
    stage.way.when(way.LOST_ANSWER, "POST", "/retry$")
    refused = stage.program.refuse("retry_workflow", workflow=workflow)
    expect_equal(refused.class_name, "Unreachable", "the error")
    expect_equal(len(stage.way.requests("POST", "/retry$")), 1, "requests")


@scenario
def skip_member_is_repeated(stage):
    """A `skip_member` whose answer is lost is sent again; when it then finds the member skipped,
    that is a success. A member that is not blocked is `InvalidState`.
    """
    away = member(stage, "away", job={"type": "nobody"})
    workflow = create(stage, away, member(stage, "a", needs=["away"]), member(stage, "b", needs=["a"]))
    lost = stage.way.when(way.LOST_ANSWER, "POST", "/skip$")
    answer = stage.program.do("skip_member", workflow=workflow, ref="a")
    expect_equal((answer["id"], answer["counts"]["skipped"] > 0), (workflow, True), "the answer")
    expect_equal(len(lost.hits), 1, "how many answers were lost")
    for ref in ("away", "a"):
        refused = stage.program.refuse("skip_member", workflow=workflow, ref=ref)
        expect_equal(refused.class_name, "InvalidState", f"the error of another skip, of {ref}")


@scenario
def members_are_added_once(stage):
    """Members that are added in a call whose answer is lost are added once: by their refs, without
    refs by an idempotency key that the SDK makes, or by the user's.
    """
    workflow = create(stage, open=True)
    named, unnamed = member(stage, "a"), member(stage, None)

    def add(*members, key=None, **others):
        stage.way.when(way.LOST_ANSWER, *ADDITION)
        request = {"members": list(members), **others}
        before = len(stage.way.requests(*ADDITION))
        answer = stage.program.do("add_members", workflow=workflow, request=request, idempotency_key=key)
        sent = stage.way.requests(*ADDITION)[before:]
        keys = {exchange.headers.get("idempotency-key") for exchange in sent}
        expect_equal((len(sent), len(keys)), (2, 1), "requests and keys of a call")
        return answer["members"], *keys

    total, key = add(named)
    expect_equal(total, 1, "members after one with a ref")
    total, key = add(member(stage, "b"), unnamed)
    expect_equal(total, 3, "members after one without a ref")
    expect(key, "members without a ref, and no Idempotency-Key")
    total, other = add(unnamed)
    expect_equal(total, 4, "members after another")
    expect(other != key, "two calls have one key")
    expect_equal(add(unnamed, key="mine"), (5, "mine"), "members and key of the user's key")
    answer = stage.program.do("add_members", workflow=workflow, request={"members": [named], "close": True})
    expect_equal(answer, {"added": 0, "existing": 1, "members": 5}, "of one that is there")
    expect_equal(stage.program.do("workflow", workflow=workflow)["open"], False, "open, after `close`")


@scenario
def added_by_a_member(stage):
    """A closed workflow takes members from one of its own that is active, which `by` names; else
    it is `InvalidState`.
    """
    workflow = create(stage, member(stage, "away", job={"type": "nobody"}))
    stage.eventually(lambda: states(stage, workflow) == ["active"], "the member is active")
    request = {"members": [member(stage, "a")]}
    refused = stage.program.refuse("add_members", workflow=workflow, request=request)
    expect_equal(refused.class_name, "InvalidState", "the error")
    answer = stage.program.do("add_members", workflow=workflow, request={**request, "by": "away"})
    expect_equal(answer, {"added": 1, "existing": 0, "members": 2}, "the answer")


@scenario
def closed_and_deleted(stage):
    """`close_workflow` lets an open workflow end, and is sent again when its answer is lost, as is
    `delete_workflow`, which then finds nothing more; a running one is not deleted.
    """
    workflow = create(stage, open=True)
    refused = stage.program.refuse("delete_workflow", workflow=workflow)
    expect_equal(refused.class_name, "InvalidState", "the error of a deletion too early")
    lost = stage.way.when(way.LOST_ANSWER, "POST", "/close$")
    answer = stage.program.do("close_workflow", workflow=workflow)
    expect_equal((answer["id"], answer["open"], len(lost.hits)), (workflow, False, 1), "id, open, lost answers")
    expect_equal(ended(stage, workflow)["state"], "succeeded", "the end")
    lost = stage.way.when(way.LOST_ANSWER, "DELETE")
    expect_equal(stage.program.do("delete_workflow", workflow=workflow), {}, "what delete gives")
    expect_equal(len(lost.hits), 1, "how many answers were lost")
    expect_equal(stage.program.refuse("workflow", workflow=workflow).class_name, "NotFound", "the error after it")
