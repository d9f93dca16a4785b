#!/usr/bin/env python3
"""Random schedules: the program's instants against a calculator that looks at each minute, and against cronsim.

    tools/soak calendar                        100,000 cases with fresh seeds
    tools/soak calendar --minutes 60           as many as there is time for
    tools/soak calendar --seed 7 --count 1     the case of seed 7 again
    tools/soak calendar --no-cronsim           without cronsim, and so without a network

A case is an expression, a zone, policies for daylight saving and an instant to start from, mostly near a change of
the clock. cronsim comes from PyPI, into a virtual environment below build/. The first thousand cases with a
difference are the last: each difference is printed, and the exit code is 1.
"""

import argparse
import collections
import dataclasses
import datetime
import os
import sys
import time
import zoneinfo

import calculator
import cases
import cronsim_peer

BATCH = 1000
COUNT = 100_000


def first_difference(expected, answered):
    """A line that says what differs."""
    if isinstance(answered, str):
        return answered
    if expected is None or answered is None:
        return "expected: {}, answered: {}".format(
            *("never comes" if found is None else f"{len(found)} instants" for found in (expected, answered))
        )
    missing, extra = sorted(set(expected) - set(answered)), sorted(set(answered) - set(expected))
    parts = [f"{len(expected)} expected, {len(answered)} answered"]
    for what, found in (("missing", missing), ("too many", extra)):
        if found:
            parts.append(f"{what}: {', '.join(map(cases.shown, found[:3]))}{', ...' if len(found) > 3 else ''}")
    return "; ".join(parts)


class Soak:
    def __init__(self, probe, with_cronsim):
        self.probe, self.with_cronsim = probe, with_cronsim
        self.cases = self.changes = self.instants = self.never = 0
        self.by_cronsim = self.instants_by_cronsim = 0
        self.left_out = collections.Counter()  # why cronsim was not asked
        self.differences = 0

    def batch(self, seeds):
        drawn = [(seed, cases.draw(seed)) for seed in seeds]
        answered = cases.answers(self.probe, [case for _, case in drawn])
        for (seed, case), answer in zip(drawn, answered):
            expected = case.expected()
            self.judge("zoneinfo", seed, case, expected, answer)
            self.cases += 1
            self.never += expected is None
            self.instants += len(expected or [])
            self.changes += any(calculator.changes(zoneinfo.ZoneInfo(case.zone), case.start, case.end))
        if self.with_cronsim:
            self.compare_with_cronsim(drawn)

    def compare_with_cronsim(self, drawn):
        asked = []
        for seed, case in drawn:
            expected, until, why = cronsim_peer.answer(case)
            if why:
                self.left_out[why] += 1
                continue
            # Debian's policies, and the stretch of time in which cronsim has these instants and no others.
            asked.append((seed, dataclasses.replace(case, gap="run", overlap="once", end=until), expected))
        answered = cases.answers(self.probe, [case for _, case, _ in asked])
        for (seed, case, expected), answer in zip(asked, answered):
            self.judge("cronsim", seed, case, expected, answer)
            self.by_cronsim += 1
            self.instants_by_cronsim += len(expected or [])

    def judge(self, peer, seed, case, expected, answered):
        if expected == answered:
            return
        self.differences += 1
        print(
            f"DIFFERENCE from {peer}: seed {seed}: {case}\n  {first_difference(expected, answered)}\n"
            f"  again: tools/soak calendar --seed {seed} --count 1",
            flush=True,
        )

    def summary(self, first, minutes):
        print(
            f"calendar: {self.cases:,} cases from seed {first} (tzdata {cases.zones()[1]}) in {minutes:.1f} minutes, "
            f"{self.differences} differences"
        )
        print(
            f"  zoneinfo: {self.cases:,} compared, {self.instants:,} instants; {self.changes:,} cases with a change "
            f"of the clock, {self.never:,} that never come"
        )
        if self.with_cronsim:
            reasons = ", ".join(f"{why} {count:,}" for why, count in self.left_out.most_common())
            print(
                f"  cronsim {cronsim_peer.VERSION}: {self.by_cronsim:,} compared, {self.instants_by_cronsim:,} "
                f"instants; left out: {reasons or 'none'}"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="the first case's; each next one has the next")
    parser.add_argument("--count", type=int, help=f"so many cases (default {COUNT:,})")
    parser.add_argument("--minutes", type=float, help="for so long, unless --count is reached before")
    parser.add_argument("--no-cronsim", action="store_true", help="compare with the calculator alone")
    options = parser.parse_args()
    if not options.no_cronsim:
        cronsim_peer.enter()
    started = time.monotonic()
    first = options.seed if options.seed is not None else int(datetime.datetime.now().timestamp()) * 1000
    count = options.count if options.count is not None else None if options.minutes else COUNT
    print(f"the first case's seed is {first}", flush=True)

    soak = Soak(os.environ["CALENDAR_PROBE"], not options.no_cronsim)
    minutes = lambda: (time.monotonic() - started) / 60
    shown = 0
    try:
        while not soak.differences and (count is None or soak.cases < count):
            if options.minutes and minutes() >= options.minutes:
                break
            begin = first + soak.cases
            soak.batch(range(begin, begin + min(BATCH, count - soak.cases if count else BATCH)))
            if int(minutes()) > shown:
                shown = int(minutes())
                print(f"  {soak.cases:,} cases in {shown} minutes", flush=True)
    except KeyboardInterrupt:
        pass
    soak.summary(first, minutes())
    return 1 if soak.differences else 0


if __name__ == "__main__":
    sys.exit(main())
