"""A server that is killed, restarted, drained."""

from suite.failure import expect, expect_equal
from suite.scenario import scenario


@scenario
def killed_and_started_again(stage):
    """A worker survives the server's death: it goes on when the server is back, and says so in one
    warning and one line.
    """
    before = stage.submit_many(5, ["sleep", 100])
    stage.worker(poll_wait_ms=1000)
    for job in before:
        stage.final(job, state="succeeded")
    stage.kill_server()
    stage.eventually(lambda: stage.program.seen("log"), "a warning that the server is lost")
    stage.start_server()
    after = stage.submit_many(5, ["sleep", 100])
    for job in after:
        stage.final(job, state="succeeded")
    lines = [(event["level"], event["message"]) for event in stage.program.seen("log")]
    warnings = [line for line in lines if line[0].startswith("warn")]
    expect(len(warnings) == 1, f"one warning was expected; the log has {lines}")
    expect_equal(len(lines), 2, f"lines in the log: {lines}")
