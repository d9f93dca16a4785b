"""Requests of a worker whose answers are lost, doubled, late."""

from suite import way
from suite.failure import expect_equal
from suite.scenario import scenario


@scenario
def of_an_outcome(stage):
    """An outcome whose answer is lost is sent again, the same one, until it is answered; the job has
    one attempt.
    """
    lost = stage.way.when(way.LOST_ANSWER, "POST", where=lambda e: e.acks, times=2)
    job = stage.submit(["return", "once"])
    stage.worker()
    ended = stage.final(job, state="succeeded")
    stage.eventually(
        lambda: any(
            result and exchange.delivered_at
            for exchange in stage.way.requests()
            for item, result in exchange.acks
            if item["id"] == job
        ),
        "an answered outcome",
    )
    expect_equal(len(lost.hits), 2, "how many answers were lost")
    expect_equal([a["outcome"] for a in ended["attempts"]], ["succeeded"], "the attempts")
