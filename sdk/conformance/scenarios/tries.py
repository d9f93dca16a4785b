"""Calls that are tried again."""

from suite import way
from suite.failure import expect_between, expect_equal
from suite.scenario import scenario


@scenario
def lost_answer_of_a_submission(stage):
    """A submission whose answer is lost is sent again, the same one, and makes one job."""
    lost = stage.way.when(way.LOST_ANSWER, "POST", "^/v1/jobs$", times=2)
    job = {"type": "work", "queue": stage.queue, "payload": 1}
    stored = stage.program.do("submit", job=job)["job"]
    expect_equal(len(lost.hits), 2, "how many answers were lost")
    sent = [exchange.said for exchange in stage.way.requests("POST", "^/v1/jobs$")]
    expect_equal(sent, [sent[0]] * 3, "what was sent")
    expect_equal(stored["id"], sent[0]["id"], "the id of the stored job")
    listed = stage.api.get("/v1/jobs", queue=stage.queue, fresh="true").json["items"]
    expect_equal([each["id"] for each in listed], [stored["id"]], "the jobs of the queue")


@scenario
def retry_after_of_a_503(stage):
    """After a 503 with `Retry-After: 1` the client waits that second, and then succeeds."""
    stage.way.when(way.problem(503, "overloaded", 1), "POST", "^/v1/jobs$")
    stage.program.do("submit", job={"type": "work", "queue": stage.queue})
    first, second = stage.way.requests("POST", "^/v1/jobs$")
    expect_between(0.99, second.at - first.at, 3, "seconds between the tries")
