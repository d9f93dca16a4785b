"""Calls of the client that go well."""

import time

from suite.failure import expect, expect_between, expect_equal
from suite.program import START_S
from suite.scenario import scenario

NOBODY = "0195a1b2-c3d4-7e5f-8899-aabbccddeeff"


@scenario
def submit_and_get(stage):
    """A submitted job is new, and can be read with its payload; the same id again is not new."""
    job = {
        "type": "work",
        "queue": stage.queue,
        "payload": {"to": "Ada", "n": [1, 2.5, None, True]},
    }
    first = stage.program.do("submit", job=job)
    expect_equal(first["is_new"], True, "is_new of the first submission")
    read = stage.program.do("get", job=first["job"]["id"], include=["payload"])
    expect_equal(read["payload"], job["payload"], "the payload that comes back")
    expect_equal((read["state"], read["queue"]), ("ready", stage.queue), "state and queue")
    again = stage.program.do("submit", job={**job, "id": first["job"]["id"]})
    expect_equal(again["is_new"], False, "is_new of the second submission of the same id")
    expect_equal(again["job"]["id"], first["job"]["id"], "its id")


@scenario
def all_members_of_a_submission(stage):
    """Every member that a submission may have arrives at the server as it was given."""
    given = {
        "type": "report.daily",
        "queue": stage.queue,
        "payload": [1],
        "priority": -7,
        "run_at": "2031-05-06T07:08:09.123Z",
        "expires_at": "2032-01-02T03:04:05.678Z",
        "max_attempts": 7,
        "retry": {"strategy": "list", "delays_ms": [100, 2000]},
        "lease_ms": 12_345,
        "timeout_ms": 65_432,
        "unique": {"key": "report:acme", "for_ms": 5000, "on_conflict": "reject"},
        "tags": ["vip", "eu-1"],
        "meta": {"tenant": "acme", "empty": ""},
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }
    job = stage.program.do("submit", job=given)["job"]
    kept = stage.job(job["id"], "payload")
    came = {name: kept.get(name) for name in given}
    expect_equal(came, given, "the job that the server keeps")
    expect_equal(kept["state"], "scheduled", "its state")
    later = stage.program.do(
        "submit",
        job={
            "type": "work",
            "queue": stage.queue,
            "delay_ms": 3_600_000,
            "expires_in_ms": 7_200_000,
        },
    )["job"]
    expect_equal(later["state"], "scheduled", "the state of a job with delay_ms")
    expect(later["expires_at"] is not None, "a job with expires_in_ms has no expires_at")


@scenario
def any_json_as_payload(stage):
    """Payloads are any JSON value: also null, texts of any script, deep nesting, empty things."""
    values = [
        None,
        False,
        0,
        -1.5e-7,
        "",
        'é "quoted" \\ / \u2028 \u0000 😀 \ttab',
        [],
        {},
        [[[[[[[[{"deep": [None]}]]]]]]]],
        {"": 1, "ключ": "значение", "a.b/c~d": [{}]},
    ]
    for value in values:
        job = {"type": "work", "queue": stage.queue, "payload": value}
        made = stage.program.do("submit", job=job)["job"]["id"]
        expect_equal(stage.job(made, "payload")["payload"], value, "the payload at the server")
        read = stage.program.do("get", job=made, include=["payload"])
        expect_equal(read["payload"], value, "the payload that the client reads")


@scenario
def integers_keep_their_digits(stage):
    """Integers up to 2^53 - 1 keep all their digits, in payloads both ways."""
    values = [9007199254740991, -9007199254740991, 4503599627370497]
    made = stage.program.do("submit", job={"type": "work", "queue": stage.queue, "payload": values})["job"]["id"]
    expect_equal(stage.job(made, "payload")["payload"], values, "the integers at the server")
    read = stage.program.do("get", job=made, include=["payload"])
    expect_equal(read["payload"], values, "the integers that the client reads")


@scenario
def idempotency_key(stage):
    """A submission with an idempotency key carries it in the header and has no id; the same again
    is not new and gives the same job.
    """
    job = {"type": "work", "queue": stage.queue, "payload": 1, "idempotency_key": "order-1815"}
    first = stage.program.do("submit", job=job)
    again = stage.program.do("submit", job=job)
    sent = stage.way.requests("POST", "^/v1/jobs$")
    expect_equal([e.headers.get("idempotency-key") for e in sent], ["order-1815"] * 2, "the headers")
    expect_equal([e.said.get("id") for e in sent], [None, None], "the ids sent")
    expect_equal((first["is_new"], again["is_new"]), (True, False), "is_new of the two")
    expect_equal(again["job"]["id"], first["job"]["id"], "the id of the second")


@scenario
def a_pruned_job(stage):
    """A repetition by idempotency key of a job that retention has removed gives its id and the
    state `pruned`, and is not new.
    """
    keep_none = {"retention": {f"{s}_ms": 0 for s in ("succeeded", "dead", "cancelled", "expired")}}
    stage.api.put(f"/v1/queues/{stage.queue}", keep_none)
    job = {"type": "work", "queue": stage.queue, "idempotency_key": "once"}
    first = stage.program.do("submit", job=job)
    stage.api.post(f"/v1/jobs/{first['job']['id']}/cancel", {})
    gone = f"/v1/jobs/{first['job']['id']}"
    stage.eventually(lambda: stage.api.get(gone).status == 404, "the job is pruned")
    again = stage.program.do("submit", job=job)
    expect_equal(again["is_new"], False, "is_new of the repetition")
    came = {name: again["job"].get(name) for name in ("id", "state")}
    expect_equal(came, {"id": first["job"]["id"], "state": "pruned"}, "the job")


@scenario
def unique_keys(stage):
    """A second job with a unique key gives the holder, and is not new."""
    job = {"type": "work", "queue": stage.queue, "unique": {"key": "report"}}
    first = stage.program.do("submit", job=job)
    second = stage.program.do("submit", job=job)
    expect_equal((first["is_new"], second["is_new"]), (True, False), "is_new of the two")
    expect_equal(second["job"]["id"], first["job"]["id"], "the id of the second")


@scenario
def a_batch(stage):
    """A batch gives a result for each job in order, also for a refused one, whose error
    has a code.
    """
    jobs = [
        {"type": "work", "queue": stage.queue, "payload": 1},
        {"type": "work", "queue": stage.queue, "priority": 99_999},
        {"type": "work", "queue": stage.queue, "delay_ms": 60_000},
    ]
    items = stage.program.do("submit_batch", jobs=jobs)["items"]
    expect_equal([item["status"] for item in items], [201, 422, 201], "the statuses")
    expect_equal([items[0]["state"], items[2]["state"]], ["ready", "scheduled"], "the states")
    expect_equal(items[1]["error"]["code"], "validation_failed", "the code of the refused one")
    expect_equal(stage.job(items[0]["id"], "payload")["payload"], 1, "the payload of the first")


@scenario
def ids_of_a_batch(stage):
    """Each job of a batch gets an id with the bits of its own queue; one that has an id or an
    idempotency key is sent as it is.
    """
    from scenarios.ids import expect_id

    own = stage.program.do("make_id", queue=stage.queue)["id"]
    jobs = [
        {"type": "work", "queue": stage.queue},
        {"type": "work", "queue": "another"},
        {"type": "work"},
        {"type": "work", "queue": stage.queue, "id": own},
        {"type": "work", "queue": stage.queue, "idempotency_key": "k1"},
    ]
    items = stage.program.do("submit_batch", jobs=jobs)["items"]
    sent = stage.way.requests("POST", "^/v1/jobs/batch$")[-1].said["jobs"]
    for job, queue in zip(sent, (stage.queue, "another", "default")):
        expect("id" in job, f"a job of a batch was sent without id: {job}")
        expect_id(job["id"], queue)
    expect_equal(sent[3]["id"], own, "the id that the job had")
    expect_equal((sent[4].get("id"), sent[4]["idempotency_key"]), (None, "k1"), "id and key")
    expect_equal([item["id"] for item in items][:4], [job["id"] for job in sent[:4]], "the results' ids")


@scenario
def an_atomic_batch(stage):
    """An atomic batch with one bad job fails as a whole, naming the fault, and stores nothing; a
    good one stores all.
    """
    good = {"type": "debit", "queue": stage.queue}
    refused = stage.program.refuse("submit_batch", jobs=[good, {**good, "priority": 99_999}], atomic=True)
    expect_equal((refused.class_name, refused.status), ("ValidationFailed", 422), "the error")
    listed = stage.api.get("/v1/jobs", queue=stage.queue, fresh="true").json["items"]
    expect_equal(listed, [], "the jobs of the queue after the refusal")
    items = stage.program.do("submit_batch", jobs=[good, {**good, "type": "credit"}], atomic=True)
    expect_equal([item["status"] for item in items["items"]], [201, 201], "the statuses")


@scenario
def a_thousand_in_a_batch(stage):
    """A batch of 1,000 jobs is one request."""
    jobs = [{"type": "work", "queue": stage.queue, "payload": n} for n in range(1000)]
    items = stage.program.do("submit_batch", jobs=jobs)["items"]
    expect_equal(len({item["id"] for item in items}), 1000, "different ids in the results")
    expect_equal({item["status"] for item in items}, {201}, "the statuses")
    expect_equal(len(stage.way.requests("POST", "/batch$")), 1, "requests")


@scenario
def wait_for_a_result(stage):
    """`wait` returns as soon as the job has ended, with its result, and asks with `until=final`."""
    job = stage.submit(["sleep", 700], ["return", {"sum": 42}])
    call = stage.program.send("wait", job=job, timeout_ms=60_000)
    stage.worker()
    ended = call.result()
    expect_equal((ended["state"], ended["result"]), ("succeeded", {"sum": 42}), "state and result")
    finished = stage.final(job)["finished_at"]
    asked = stage.way.requests("GET", f"^/v1/jobs/{job}$")
    expect(all("until=final" in each.target for each in asked), f"asked {asked[0].target}")
    expect(len(asked) <= 3, f"{len(asked)} requests for a wait")
    expect(finished is not None, "finished_at is null")


@scenario
def wait_for_a_bad_end(stage):
    """`wait` returns jobs that are dead or cancelled as it returns others: `state` tells."""
    dead = stage.submit(["non_retryable", "no such address"])
    cancelled = stage.submit(type="other")
    stage.api.post(f"/v1/jobs/{cancelled}/cancel", {})
    stage.worker()
    ended = stage.program.do("wait", job=dead, timeout_ms=60_000)
    expect_equal(ended["state"], "dead", "the state of the dead job")
    expect_equal(ended["last_error"]["message"], "no such address", "its error")
    ended = stage.program.do("wait", job=cancelled, timeout_ms=60_000)
    expect_equal(ended["state"], "cancelled", "the state of the cancelled job")


@scenario
def wait_for_a_job_to_come(stage):
    """`wait` asks again for a while where there is no such job: one of a transaction comes a moment
    after the commit. A job that does not come is `NotFound`.
    """
    job = stage.program.do("make_id", queue=stage.queue)["id"]
    call = stage.program.send("wait", job=job, timeout_ms=60_000)
    stage.eventually(lambda: stage.way.requests("GET", f"^/v1/jobs/{job}"), "the first request of the wait")
    stage.submit(["return", 1], id=job)
    stage.worker()
    expect_equal(call.result()["state"], "succeeded", "the state of the job that came")
    nobody = stage.program.do("make_id", queue=stage.queue)["id"]
    expect_equal(stage.program.refuse("wait", job=nobody, timeout_ms=60_000).class_name, "NotFound", "the error")


@scenario
def wait_gives_up(stage):
    """`wait` fails with `WaitTimeout` when its time is over, and not long after."""
    job = stage.submit(type="nobody")
    call = stage.program.send("wait", job=job, timeout_ms=1000)
    try:
        value = call.result()
    except Exception as error:
        expect_equal((error.class_name, error.code), ("WaitTimeout", "wait_timeout"), "the error")
    else:
        raise AssertionError(f"a wait for a job that does not end gave {value}")
    expect_between(0.8, call.took_s, 15, "seconds that it took")


@scenario(history=False, end=False)
def wait_asks_for_a_minute_at_most(stage):
    """A `wait` of ten minutes asks the server for 60 s a request at most."""
    job = stage.submit(type="nobody")
    stage.program.send("wait", job=job, timeout_ms=600_000)
    stage.eventually(lambda: stage.way.requests("GET", f"/{job}$"), "the request of the wait")
    time.sleep(0.3)  # a refusal would come by now
    asked = stage.way.requests("GET", f"/{job}$")
    waits = [int(e.target.split("wait_ms=")[1].split("&")[0]) for e in asked if "wait_ms" in e.target]
    expect_equal(len(waits), 1, "requests that wait")
    expect_between(1000, waits[0], 60_000, "wait_ms")


@scenario
def lists(stage):
    """`list` gives a page by state, type, tag, queue or search, newest first, and a cursor to the
    next.
    """
    first = stage.submit(type="a", tags=["red"])
    second = stage.submit(type="b", tags=["red", "round"], delay_ms=60_000)
    third = stage.submit(type="b")
    stage.api.get("/v1/jobs", fresh="true")

    def ids(**filter):
        asked = {"queue": stage.queue, **filter}
        return [job["id"] for job in stage.program.do("list", filter=asked)["items"]]

    expect_equal(ids(), [third, second, first], "all of the queue")
    expect_equal(ids(type="b"), [third, second], "of the type b")
    expect_equal(ids(tag="red"), [second, first], "with the tag red")
    expect_equal(ids(state="scheduled"), [second], "scheduled ones")
    expect_equal(ids(q="tag:round type:b"), [second], "found by a search")
    page = stage.program.do("list", filter={"queue": stage.queue}, limit=2)
    expect_equal([job["id"] for job in page["items"]], [third, second], "the first page")
    rest = stage.program.do("list", filter={"queue": stage.queue}, limit=2, cursor=page["next_cursor"])
    expect_equal([job["id"] for job in rest["items"]], [first], "the second page")
    expect_equal(rest["next_cursor"], None, "the cursor of the last page")


@scenario
def an_iterator_over_all(stage):
    """The iterator over a list gives every job once, page by page."""
    jobs = stage.submit_many(25)
    stage.api.get("/v1/jobs", fresh="true")
    came = stage.program.do("list_all", filter={"queue": stage.queue}, limit=10)["ids"]
    expect_equal(came, jobs[::-1], "the ids, newest first")
    pages = stage.way.requests("GET", "^/v1/jobs$")
    expect_equal(len(pages), 3, "requests for 25 jobs, 10 a page")


@scenario
def cancel_retry_delete(stage):
    """`cancel` ends a waiting job, `retry` makes it ready again as a new generation, `delete`
    removes it.
    """
    job = stage.submit()
    cancelled = stage.program.do("cancel", job=job, reason="not needed")
    expect_equal(cancelled["state"], "cancelled", "the state after cancel")
    sent = stage.way.requests("POST", "/cancel$")[-1].said
    expect_equal(sent, {"reason": "not needed"}, "what cancel sent")
    again = stage.program.do("retry", job=job)
    expect_equal(again["state"], "ready", "the state after retry")
    expect_equal(again["generation"], cancelled["generation"] + 1, "the generation after retry")
    expect_equal(stage.program.do("delete", job=job), {}, "what delete gives")
    expect_equal(stage.api.get(f"/v1/jobs/{job}").status, 404, "the status of the deleted job")


@scenario
def logs_of_a_job(stage):
    """`logs` gives a job's lines, oldest first, with level, attempt and time."""
    job = stage.submit(["log", "info", "one"], ["log", "error", "two"])
    stage.worker()
    stage.final(job)
    items = stage.eventually(lambda: len(got := stage.program.do("logs", job=job)["items"]) >= 2 and got, "two lines")
    came = [(line["level"], line["message"], line["attempt"]) for line in items]
    expect_equal(came, [("info", "one", 1), ("error", "two", 1)], "the lines")


@scenario
def calls_side_by_side(stage):
    """A call that waits holds up no other: eight gets are answered while a wait is open."""
    job = stage.submit(type="nobody")
    wait = stage.program.send("wait", job=job, timeout_ms=60_000)
    stage.eventually(lambda: stage.way.requests("GET", where=lambda e: "until" in e.target), "the wait")
    calls = [stage.program.send("get", job=job) for _ in range(8)]
    for call in calls:
        call.result()
    expect(not wait.came.is_set(), "the wait was over before")
    stage.api.post(f"/v1/jobs/{job}/cancel", {})
    expect_equal(wait.result()["state"], "cancelled", "what the wait gives")


@scenario
def connections_are_kept(stage):
    """A hundred calls in a row use one connection."""
    job = stage.submit()
    before = stage.way.connections
    for _ in range(100):
        stage.program.do("get", job=job)
    opened = stage.way.connections - before
    expect(opened <= 1, f"100 calls in a row opened {opened} connections")


@scenario(program=False)
def address_and_token_of_the_environment(stage):
    """Without the options, the client takes `MILLRACE_URL` and `MILLRACE_TOKEN`; the token goes out
    as `Authorization: Bearer`.
    """
    env = {"MILLRACE_URL": stage.way.url, "MILLRACE_TOKEN": "mlr_not-a-token"}
    program = stage.start_program(configure=False, env=env)
    program.do("configure", timeout_s=300)
    refused = program.refuse("get", job=stage.submit())
    expect_equal((refused.class_name, refused.status), ("Unauthenticated", 401), "the error")
    sent = stage.way.seen[-1].headers.get("authorization")
    expect_equal(sent, "Bearer mlr_not-a-token", "the header Authorization")
    other = stage.new_way()
    program.do("configure", url=other.url, token="mlr_another")
    program.refuse("get", job=stage.submit())
    sent = other.seen[-1].headers.get("authorization")
    expect_equal(sent, "Bearer mlr_another", "the header, with the options")


@scenario(program=False)
def a_certificate_authority_of_its_own(stage):
    """Over TLS the client trusts the CA file that it is given, and without it no certificate of
    that CA.
    """
    with stage.tls() as front:
        program = stage.start_program(url=front.url, ca_file=front.ca_file, timeout_ms=60_000)
        job = program.do("submit", job={"type": "work", "queue": stage.queue})["job"]
        expect_equal(stage.job(job["id"])["state"], "ready", "the state of the job")
        program.do("configure", url=front.url, timeout_ms=700)
        refused = program.refuse("get", job=job["id"])
        expect_equal(refused.class_name, "Unreachable", "the error without the CA file")


@scenario
def an_untrusted_certificate_is_tried_once(stage):
    """A certificate that is not trusted fails the call at once with `Unreachable`: no further try
    could help.
    """
    with stage.tls() as front:
        stage.program.do("configure", url=front.url, timeout_ms=30_000)
        refused = stage.program.refuse("get", job=stage.submit())
        expect_equal(refused.class_name, "Unreachable", "the error")
        expect(front.connections <= 2, f"{front.connections} connections for a call that can't succeed")


@scenario(program=False)
def blanks_around_a_token(stage):
    """Blanks and line ends around a token, as files and secrets have them, are taken off: those of
    the option and of `MILLRACE_TOKEN`.
    """
    program = stage.start_program(configure=False, env={"MILLRACE_TOKEN": "mlr_environment\n"})
    for token, wanted in ((None, "mlr_environment"), (" \tmlr_option\r\n", "mlr_option")):
        program.do("configure", timeout_s=START_S, url=stage.way.url, **({"token": token} if token else {}))
        program.refuse("get", job=NOBODY)
        sent = stage.way.seen[-1].headers.get("authorization")
        expect_equal(sent, f"Bearer {wanted}", "the header Authorization")


@scenario
def a_token_that_can_be_none(stage):
    """A token with a line end, a control character or a blank within it is refused when the client
    is made, by an error that does not show it. Nothing is sent.
    """
    for token in ("mlr_hidden\r\nX-Other: hidden", "mlr_hid\nden", "mlr_hid\x00den", "mlr_hid den", "mlr_hid\x7fden"):
        refused = stage.program.refuse("configure", url=stage.way.url, token=token)
        expect(refused.message.strip(), "the error has no message")
        expect("hid" not in refused.message, f"the error shows the token: {refused.message}")
    stage.program.do("configure", url=stage.way.url)
    stage.program.do("queues")
    expect_equal(len(stage.way.seen), 1, "requests")
    expect("mlr_hid" not in stage.program.stderr, "the program's standard error shows the token")
