"""Computes a step's cost from its runs, and the growth from the costs of all steps."""

GREW = 1.5  # times as much as what it is held against: no noise
COSTS = ["cost", "cpu"]  # of the clock on the wall, of the server's CPU


def run_costs(report):
    """Microseconds per job from one run's report; None if the server does not report it."""
    server, waited = report["server"], report["latency_ms"]["hand_out"]
    cpu_s, jobs = server["cpu_seconds"], report["jobs"]
    return {
        "cost_us": 1e6 / report["lifecycles_per_s"],
        "cpu_us": None if cpu_s is None else 1e6 * cpu_s / jobs,
        "waited_ms": None if waited is None else waited["p50"],
        "resident_bytes": server["resident_bytes"],
        "jobs": jobs,
    }


def best(runs, what):
    """The fastest run: other load on the machine can only make a run slower."""
    return min((run[what] for run in runs if run[what] is not None), default=None)


def step(value, runs, per="job"):
    """A step's cost per job or per byte of payload."""
    entry = {
        "value": value,
        "jobs": runs[0]["jobs"],
        "runs": runs,
        **{what: best(runs, what) for what in ("cost_us", "cpu_us", "waited_ms", "resident_bytes")},
    }
    if per == "byte":
        entry.update(
            {
                f"{cost}_ns_a_byte": None if entry[f"{cost}_us"] is None else 1e3 * entry[f"{cost}_us"] / value
                for cost in COSTS
            }
        )
    return entry


def ratio(figure, reference):
    return None if figure is None or not reference else figure / reference


def judge(steps, against, per="job"):
    """Adds to each step the ratio of its costs to the previous ones, and names those that grew."""
    measured = [entry for entry in steps if "skipped" not in entry]
    unit = "ns_a_byte" if per == "byte" else "us"
    for number, entry in enumerate(measured):
        entry["grew"] = []
        for cost in COSTS:
            key = f"{cost}_{unit}"
            before = [other[key] for other in measured[:number] if other[key] is not None]
            reference = None
            if before:
                reference = before[0] if against == "first" else min(before)
            entry[f"{cost}_to_before"] = ratio(entry[key], before[-1] if before else None)
            entry[f"{cost}_to_first"] = ratio(entry[key], before[0] if before else None)
            entry[f"{cost}_held"] = ratio(entry[key], reference)
            if (entry[f"{cost}_held"] or 0) > GREW:
                entry["grew"].append(cost)
    return steps


def verdict(steps):
    """The costs that grew, as of the last step; None if there is nothing to compare."""
    measured = [entry for entry in steps if "skipped" not in entry]
    return measured[-1]["grew"] if len(measured) > 1 and steps[-1] is measured[-1] else None
