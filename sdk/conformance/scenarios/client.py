"""Calls of the client that go well."""

from suite.failure import expect, expect_equal
from suite.scenario import scenario


@scenario
def submit_and_get(stage):
    """A submitted job is new, and can be read with its payload; the same id again is not new."""
    job = {"type": "work", "queue": stage.queue, "payload": {"to": "Ada", "n": [1, 2.5, None, True]}}
    first = stage.program.do("submit", job=job)
    expect_equal(first["is_new"], True, "is_new of the first submission")
    read = stage.program.do("get", job=first["job"]["id"], include=["payload"])
    expect_equal(read["payload"], job["payload"], "the payload that comes back")
    expect_equal((read["state"], read["queue"]), ("ready", stage.queue), "state and queue")
    again = stage.program.do("submit", job={**job, "id": first["job"]["id"]})
    expect_equal(again["is_new"], False, "is_new of the second submission of the same id")
    expect_equal(again["job"]["id"], first["job"]["id"], "its id")


@scenario
def connections_are_kept(stage):
    """A hundred calls in a row use one connection."""
    job = stage.submit()
    before = stage.way.connections
    for _ in range(100):
        stage.program.do("get", job=job)
    expect(
        stage.way.connections - before <= 1,
        f"100 calls in a row opened {stage.way.connections - before} connections",
    )
