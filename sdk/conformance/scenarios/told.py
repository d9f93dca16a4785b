"""What a handler is told while it runs."""

from suite.failure import expect_equal
from suite.scenario import scenario


@scenario
def cancelled_by_a_command(stage):
    """The cancellation of a running job reaches the handler of a worker whose claim waits, at once;
    the job is cancelled.
    """
    job = stage.submit(["sleep", 20_000])
    stage.worker(poll_wait_ms=20_000)
    stage.program.await_event("start", job=job)
    stage.api.post(f"/v1/jobs/{job}/cancel", {"reason": "not needed"})
    told = stage.program.await_event("told", timeout_s=3, job=job)
    expect_equal(told["reason"], "cancelled", "the reason that the handler is told")
    stage.final(job, state="cancelled")
