"""The quantities that are doubled, and the options of a run at each step."""

import dataclasses
import math

# The values of quantities that do not grow.
BASE = {"batch": 100, "payload": 200, "producers": 8, "workers": 8, "queues": 1, "backlog": 0}
JOBS, QUICK_JOBS = 200_000, 2_000
QUICK_STEPS = 3
# The least calls per connection on average; with fewer, mainly the beginning and the end would be measured.
LEAST_CALLS = 8
QUEUES_OF_A_CLAIM = 100  # it names no more
# The most payload stored by one run; with large payloads there are fewer jobs.
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
        """The values from the first to the last, each twice the previous one."""
        values = [self.first]
        while values[-1] * 2 <= self.last and not (quick and len(values) == QUICK_STEPS):
            values.append(values[-1] * 2)
        return values

    def jobs(self, value, least, last):
        """The number of jobs of a run: at least `least`, equal for all steps up to `last`; fewer with large payloads."""
        if self.name == "payload":
            return min(least, MOST_BYTES // value)
        calls = {"queues": last, "connections": last // 2 * LEAST_CALLS}  # each queue gets a batch
        return max(least, calls.get(self.name, 0) * BASE["batch"])

    def settings(self, value, last):
        """The options of a run at this step, except the number of jobs."""
        if self.name == "connections":  # half of them submit, half of them work
            return {**BASE, "producers": value // 2, "workers": value // 2}
        if self.name == "queues":  # as many workers at each step as the last one needs
            return {**BASE, "queues": value, "workers": max(BASE["workers"], math.ceil(last / QUEUES_OF_A_CLAIM))}
        return {**BASE, self.name: value}


DIMENSIONS = [
    Dimension("backlog", 1_000, 1_024_000, "first", unit="ready jobs"),
    Dimension("queues", 1, 8_192, "first"),
    # A single producer and worker wait for every sync, and with small payloads the cost of a job dominates. There the
    # first step says little about the expected cost of the others.
    Dimension("connections", 2, 512, "cheapest"),
    Dimension("payload", 64, 64 * 1024, "cheapest", per="byte", unit="bytes"),
]
