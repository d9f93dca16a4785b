"""How a worker ends."""

from suite.failure import expect, expect_between, expect_equal
from suite.scenario import scenario


@scenario
def running_handlers_finish(stage):
    """A stopped worker lets its handlers finish within the grace time, sends their outcomes, says
    goodbye and claims no more.
    """
    job = stage.submit(["sleep", 800], ["return", 7])
    worker = stage.worker(grace_ms=10_000)
    stage.program.await_event("start", job=job)
    call = stage.program.send("stop", name="w")
    later = stage.submit()
    call.result()
    expect_between(0.3, call.took_s, 5, "seconds that the stop took")
    expect_equal(stage.job(job, "result")["result"], 7, "the result, once the stop is answered")
    expect_equal(stage.job(later)["state"], "ready", "the state of a job that came after the stop")
    workers = [each["id"] for each in stage.api.get("/v1/workers").json["items"]]
    expect(worker not in workers, f"the worker said no goodbye: the server lists {workers}")
    expect_equal(stage.program.await_event("worker_ended", worker="w")["error"], None, "its error")
