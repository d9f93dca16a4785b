"""Leases: what a worker may still do."""

from suite.failure import expect, expect_equal
from suite.scenario import scenario


@scenario
def a_long_handler_keeps_its_lease(stage):
    """A handler that runs three times as long as its lease keeps it by heartbeats, one each third of
    the lease.
    """
    job = stage.submit(["sleep", 4500], ["return", "done"], lease_ms=1500)
    stage.worker()
    ended = stage.final(job, state="succeeded")
    expect_equal([a["outcome"] for a in ended["attempts"]], ["succeeded"], "the attempts")
    beats = [e.at for e in stage.way.requests() for item, _ in e.heartbeats if item["id"] == job]
    expect(7 <= len(beats) <= 14, f"{len(beats)} heartbeats in 4.5 s of a lease of 1.5 s")
