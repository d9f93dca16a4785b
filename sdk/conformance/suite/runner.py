"""Plays scenarios concurrently and reports their outcomes."""

import concurrent.futures
import dataclasses
import time
import traceback

from .failure import Failure, Skipped
from .program import Refused
from .stage import Stage

SHOWN_EVENTS = 14
SHOWN_REQUESTS = 14


@dataclasses.dataclass
class Result:
    scenario: object
    outcome: str  # "passed", "failed", "skipped"
    took_s: float
    text: str = ""


def play(scenario, command):
    begin = time.monotonic()
    stage = None
    try:
        stage = Stage(command, scenario.title, **scenario.options)
        with stage:
            scenario.play(stage)
    except Skipped as why:
        return Result(scenario, "skipped", time.monotonic() - begin, str(why))
    except (Failure, Refused) as failure:
        place = traceback.extract_tb(failure.__traceback__)
        lines = [f.lineno for f in place if f.filename == scenario.play.__code__.co_filename]
        where = f" (line {lines[-1]})" if lines else ""
        text = f"{failure}{where}\n{around(stage)}"
        return Result(scenario, "failed", time.monotonic() - begin, text)
    except Exception:
        text = f"{traceback.format_exc()}\n{around(stage)}"
        return Result(scenario, "failed", time.monotonic() - begin, text)
    return Result(scenario, "passed", time.monotonic() - begin)


def around(stage):
    """The context of a failure for people: requests, events, standard error."""
    if stage is None:
        return ""
    parts = []
    exchanges = sorted((e for way in stage.ways for e in way.seen), key=lambda e: e.at)
    if exchanges:
        lines = [exchange.told(stage.begin) for exchange in exchanges[-SHOWN_REQUESTS:]]
        parts.append("the last requests:\n    " + "\n    ".join(lines))
    for program in stage.programs:
        if program.events:
            lines = [
                f"{event['at'] - stage.begin:7.3f} s  "
                + " ".join(f"{k}={v}" for k, v in event.items() if k != "at" and v is not None)
                for event in program.events[-SHOWN_EVENTS:]
            ]
            parts.append("the last events:\n    " + "\n    ".join(lines))
        if program.stderr:
            lines = program.stderr.rstrip().splitlines()[-25:]
            parts.append("the program's standard error:\n    " + "\n    ".join(lines))
    return "\n".join(f"  {part}" for part in parts)


def play_all(scenarios, command, parallel, report):
    """Plays them, those marked as long first, and calls report(result) for each."""
    order = sorted(scenarios, key=lambda each: -LONG.get(each.subject, 0))
    with concurrent.futures.ThreadPoolExecutor(parallel) as pool:
        futures = [pool.submit(play, scenario, command) for scenario in order]
        results = []
        for future in concurrent.futures.as_completed(futures):
            results.append(future.result())
            report(results[-1])
    return sorted(results, key=lambda result: scenarios.index(result.scenario))


# Subjects that wait for leases and servers begin first.
LONG = {"server_away": 3, "history": 3, "leases": 2, "stop": 1, "told": 1}
