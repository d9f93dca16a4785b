"""What is doubled, and what a run is told at each step."""

import dataclasses
import math

# What stays as it is while something else grows.
BASE = {"batch": 100, "payload": 200, "producers": 8, "workers": 8, "queues": 1, "backlog": 0}
JOBS, QUICK_JOBS = 200_000, 2_000
QUICK_STEPS = 3
# A connection makes at least so many calls on average, or the beginning and the end are all that is measured.
LEAST_CALLS = 8
QUEUES_OF_A_CLAIM = 100  # it names no more
# One run stores no more than so much payload: with large ones there are fewer jobs.
MOST_BYTES = 1 << 30


@dataclasses.dataclass(frozen=True)
class Dimension:
    name: str
    first: int
    last: int
    against: str  # what a step's cost is held against: that of the "first", or of the "cheapest" before it
    per: str = "job"  # what should cost the same at every step: a "job", or a "byte" of its payload
    unit: str = ""

    def values(self, quick=False):
        """From the first to the last, each twice the one before."""
        values = [self.first]
        while values[-1] * 2 <= self.last and not (quick and len(values) == QUICK_STEPS):
            values.append(values[-1] * 2)
        return values

    def jobs(self, value, least, last):
        """How many a run has: `least` or more, the same at each step up to `last`; fewer with large payloads."""
        if self.name == "payload":
            return min(least, MOST_BYTES // value)
        calls = {"queues": last, "connections": last // 2 * LEAST_CALLS}  # each queue gets a batch
        return max(least, calls.get(self.name, 0) * BASE["batch"])

    def settings(self, value, last):
        """What a run is told at this step, besides the number of jobs."""
        if self.name == "connections":  # half of them submit, half of them work
            return {**BASE, "producers": value // 2, "workers": value // 2}
        if self.name == "queues":  # as many workers at each step as the last one needs
            return {**BASE, "queues": value, "workers": max(BASE["workers"], math.ceil(last / QUEUES_OF_A_CLAIM))}
        return {**BASE, self.name: value}


DIMENSIONS = [
    Dimension("backlog", 1_000, 1_024_000, "first", unit="ready jobs"),
    Dimension("queues", 1, 8_192, "first"),
    # One producer and one worker wait for every sync alone, and small payloads cost what a job does: there the first
    # step says little of what the others should cost.
    Dimension("connections", 2, 512, "cheapest"),
    Dimension("payload", 64, 64 * 1024, "cheapest", per="byte", unit="bytes"),
]
