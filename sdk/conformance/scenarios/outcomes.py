"""What becomes of what a handler does."""

from suite.failure import expect_equal
from suite.scenario import scenario


@scenario
def a_value_is_the_result(stage):
    """A handler that returns a value succeeds, and the value is the result; a script's end returns
    null.
    """
    values = [{"bytes": 4711, "names": ["a", "é", "😀"]}, [], "text", 0, False, 1.5, None]
    jobs = [stage.submit(["return", value]) for value in values] + [stage.submit()]
    stage.worker()
    for job, value in zip(jobs, [*values, None]):
        ended = stage.final(job, state="succeeded")
        expect_equal(ended["result"], value, "the result")
        expect_equal(len(ended["attempts"]), 1, "attempts")


@scenario
def an_error_is_tried_again(stage):
    """A handler that throws fails its attempt, with the error's type and message, and runs again until
    the attempts are used up; then the job is dead.
    """
    fixed = {"strategy": "fixed", "base_ms": 50, "jitter": 0}
    job = stage.submit(["fail", "the disk is full"], max_attempts=3, retry=fixed)
    stage.worker()
    ended = stage.final(job, state="dead")
    expect_equal([a["outcome"] for a in ended["attempts"]], ["failed"] * 3, "the attempts")
    expect_equal([e["attempt"] for e in stage.program.seen("start")], [1, 2, 3], "the handler's runs")
    expect_equal(ended["last_error"]["message"], "the disk is full", "the error's message")
