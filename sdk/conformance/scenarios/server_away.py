"""A server that is killed, restarted, drained."""

from suite.failure import expect
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
    loud = [line for line in lines if line[0] in ("warn", "warning", "error")]
    expect(loud and loud[0] == lines[0], f"the first line was to be a warning: {lines}")
    expect(len(lines) >= 2, f"no line says that the server is back: {lines}")
    expect(len(loud) <= 2, f"more than a warning and a line: {lines}")
