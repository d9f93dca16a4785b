"""Ids that the client makes."""

import hashlib
import time
import uuid

from suite.failure import expect, expect_between, expect_equal
from suite.scenario import scenario


def bits_of(queue):
    """The 12 bits that a queue's name gives to the ids of its jobs."""
    return hashlib.sha256(queue.encode()).hexdigest()[:3]


def expect_id(text, queue):
    """`text` is an id that a client makes for a job of this queue."""
    made = uuid.UUID(text)
    expect_equal(str(made), text, "an id in the canonical form, in lower case")
    expect_equal((made.version, made.variant), (7, uuid.RFC_4122), f"version and variant of {text}")
    expect_equal(text[15:18], bits_of(queue), f"the 12 bits after the version of {text}, for {queue!r}")


@scenario
def made_for_a_queue(stage):
    """`make_id` gives a UUIDv7 of now, whose 12 bits after the version are the first 12 bits of the
    SHA-256 of its queue's name.
    """
    for queue in ("emails", "default", "a", "reports/daily:eu.1-x_y", "q" * 128):
        made = stage.program.do("make_id", queue=queue)["id"]
        expect_id(made, queue)
        expect_between(-5, time.time() - int(made[:8] + made[9:13], 16) / 1000, 30, "seconds since its time")


@scenario
def never_the_same_twice(stage):
    """Two thousand ids that are made as fast as the program can differ all."""
    calls = [stage.program.send("make_id", queue="busy") for _ in range(2000)]
    made = [call.result()["id"] for call in calls]
    expect_equal(len(set(made)), 2000, "how many of 2,000 ids are different")


@scenario
def a_submission_gets_one(stage):
    """A job that is submitted without id and key is sent with an id of its queue's, `default` if it
    names none, and keeps it.
    """
    for queue in (stage.queue, None):
        job = {"type": "work", **({"queue": queue} if queue else {})}
        stored = stage.program.do("submit", job=job)["job"]
        sent = stage.way.requests("POST", "^/v1/jobs$")[-1].said
        expect("id" in sent, f"the submission has no id: {sent}")
        expect_id(sent["id"], queue or "default")
        expect_equal(stored["id"], sent["id"], "the id of the stored job")
