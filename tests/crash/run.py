#!/usr/bin/env python3
"""Real clients load a real server to which bad things happen; then its history is checked.

    run.py --rounds 30                 so many rounds, two at a time
    run.py --forever [--minutes 60]    until stopped, or for so long
    run.py --seed 7 --rounds 1         the round of seed 7 again: the same load, the same faults
    run.py --only disk-full            this fault alone (see --list)
    run.py --each                      a round of each fault, with nothing on top
    run.py --each --no-skips           and a fault that this machine can't make fails the run
    run.py --nodes 3                   several nodes on PostgreSQL, with faults of their own
    run.py --nodes 3 --upgrade-from F  they begin as an older program, and are upgraded under load
    run.py --hostile                   attacks instead of faults; --no-latency judges no claim's time;
                                       with MILLRACE_STORE=postgres also on several --nodes
    MILLRACE_STORE=postgres run.py     one server, on PostgreSQL

Round N of a run has seed S + N. Each draws its load and its faults from its seed: one that goes
round among all kinds, and some on top. On a violation the command that repeats the round and the
stories of the jobs are printed, the round's directory is kept, and the run ends with status 1.
"""

import argparse
import collections
import concurrent.futures
import os
import random
import sys
import time
import traceback

import checker
import history
import rig as rigs
from rig import Trouble, harness

import faults
import hostile
import node_faults  # after the rig, which adds the folders that it needs
from nodes_rig import NodesRig

STORIES_SHOWN = 3
WORDS = ("lost", "invented", "duplicated", "out of order", "fencing violations", "early", "stuck")


class Round:
    """One server's run under load and faults, and the verdict. `sabotage(rig)` does forbidden
    damage between the last kill and the last start, after which the verdict must not be good.
    """

    def __init__(
        self,
        seed,
        only=None,
        sabotage=None,
        nodes=0,
        bare=False,
        older=None,
        hostile=False,
        latency=False,
        workflows=False,
    ):
        self.seed, self.sabotage, self.nodes, self.bare = seed, sabotage, nodes, bare
        self.workflows = workflows  # whether clients make some
        self.hostile = hostile
        self.latency = latency  # whether the latency of claims is judged
        self.dice = random.Random(seed)
        self.only = only
        self.older = older  # the program that the servers run until an upgrade
        self.faults = collections.Counter()
        self.skipped = {}
        self.figures = collections.Counter()
        self.findings = []  # texts; empty: all well
        self.log = []
        self.plan = self.draw()

    @property
    def kinds(self):
        return kinds_of(self)

    def draw(self):
        """The names of the faults, in order: the round's own, and some before or after it."""
        if self.only:
            return [self.only] * self.dice.randint(1, 3)
        kinds = list(self.kinds.FAULTS)
        own = "upgrade" if self.older else kinds[self.seed % len(kinds)]
        if self.bare:
            return [own]
        plan = self.dice.choices(self.kinds.COMPANIONS, k=self.dice.randint(0, 2))
        plan.insert(self.dice.randint(0, len(plan)), own)
        return plan

    def run(self):
        servers = hostile.make_servers(self.nodes or 1) if self.hostile else None
        if self.nodes:
            rig = NodesRig(self.seed, self.dice, self.nodes, servers)
        elif self.hostile:
            rig = rigs.Rig(self.seed, self.dice, servers)
        else:
            rig = rigs.Rig(self.seed, self.dice)
        rig.judges_latency = self.latency
        self.home = rig.home
        try:
            self.live(rig)
        except Trouble as trouble:
            self.findings.append(str(trouble))
        except Exception:
            self.findings.append(f"the test itself failed:\n{traceback.format_exc()}")
        finally:
            self.figures["kills"] += rig.kills
            self.figures.update(rig.figures)
            self.log = rig.log
            rig.close(keep=bool(self.findings))
        return self

    def live(self, rig):
        for name in dict.fromkeys(self.plan):
            try:
                self.kinds.PREPARE.get(name, lambda _: None)(rig)
            except faults.Skipped as reason:
                self.skipped[name] = str(reason)
        if self.older:
            # The older program's contract does not describe the newer one's answers.
            harness.client.Client.contract = lambda _: harness.client.AnyContract()
            for server in rig.servers:
                server.binary = self.older
        rig.start()
        rig.make_queues()
        threads = {"producer": self.dice.randint(2, 4), "worker": self.dice.randint(4, 7), "operator": 1}
        if self.workflows:
            threads["weaver"] = 2
        rig.start_clients(threads)
        time.sleep(self.dice.uniform(0.6, 1.2))
        for name in self.plan:
            if name in self.skipped:
                continue
            with rig.fault(name):
                self.kinds.FAULTS[name](rig)
            rig.must_live(name)
            self.faults[name] += 1
            time.sleep(self.dice.uniform(0.3, 0.9))
        rig.stop_clients()
        rig.note("the faults are over")
        backlog, took = rig.drain()
        self.figures["drain at most, ms"] = round(took * 1000)
        rig.kill()  # the list then shows only durable jobs
        if self.sabotage:
            self.sabotage(rig)
        rig.start()
        final = rig.final(backlog)
        rig.probe.close()
        self.judge(rig, final)

    def judge(self, rig, final):
        book = history.Book(history.read_records(rig.records), final)
        verdict = checker.check(book)
        self.figures.update(verdict.figures)
        for violation in verdict.violations[:STORIES_SHOWN]:
            story = book.told(violation.job) if violation.job else ""
            self.findings.append(f"{violation.check}: {violation.job}: {violation.text}\n{story}")
        if len(verdict.violations) > STORIES_SHOWN:
            self.findings.append(f"... and {len(verdict.violations) - STORIES_SHOWN} more")
        if not verdict.ok:
            rig.save(final)


class Tally:
    """The figures of all rounds."""

    def __init__(self):
        self.rounds = 0
        self.figures = collections.Counter()
        self.faults = collections.Counter()
        self.skipped = {}
        self.failed = 0

    def add(self, done):
        self.rounds += 1
        for name, number in done.figures.items():
            if "at most" in name:
                self.figures[name] = max(self.figures[name], number)
            else:
                self.figures[name] += number
        self.faults.update(done.faults)
        self.skipped.update(done.skipped)
        self.failed += bool(done.findings)

    def headline(self):
        words = ", ".join(f"{self.figures[word]:,} {word}" for word in WORDS)
        return (
            f"{self.rounds} rounds, {self.figures['kills']:,} kills, "
            f"{self.figures['acknowledged']:,} jobs acknowledged, {words}"
        )

    def details(self):
        done = ", ".join(f"{name} {number}" for name, number in sorted(self.faults.items()))
        other = ", ".join(
            f"{name} {number:,}"
            for name, number in sorted(self.figures.items())
            if name not in (*WORDS, "kills", "acknowledged")
        )
        lines = [f"faults: {done}", f"also: {other}"]
        lines += [f"skipped: {name}: {why}" for name, why in sorted(self.skipped.items())]
        return "\n".join(lines)


def report(done, tell):
    """Prints one line per round, or everything if there are violations or it is requested."""
    figures = done.figures
    print(
        f"seed {done.seed}: {' '.join(done.plan)}: {figures['acknowledged']} acknowledged, "
        f"{figures['unanswered']} of {figures['requests']} requests unanswered"
        + "".join(f", {name} skipped" for name in done.skipped),
        flush=True,
    )
    if tell:
        print(*done.log, sep="\n", flush=True)
    if done.findings:
        only = f" --only {done.only}" if done.only else ""
        only += f" --nodes {done.nodes}" if done.nodes else ""
        only += " --bare" if done.bare else ""
        only += " --hostile" if done.hostile else ""
        only += " --workflows" if done.workflows else ""
        only += "" if done.latency or not done.hostile else " --no-latency"
        only += f" --upgrade-from {done.older}" if done.older else ""
        print("VIOLATION", *done.findings, sep="\n")
        store = f"MILLRACE_STORE={harness.STORE} "
        print(f"again: {store}python3 -B tests/crash/run.py --rounds 1 --seed {done.seed}{only}")
        print(f"kept: {done.home}", flush=True)


def run(options, tally=None):
    """Plays the rounds, adds them to `tally`, and returns it."""
    tally = tally or Tally()
    ends = time.monotonic() + options.minutes * 60 if options.minutes else float("inf")
    last = sys.maxsize if options.forever else options.seed + options.rounds
    seeds = iter(range(options.seed, last))
    with concurrent.futures.ProcessPoolExecutor(options.parallel) as pool:
        pending = set()

        def refill():
            while len(pending) < options.parallel and time.monotonic() < ends and not tally.failed:
                seed = next(seeds, None)
                if seed is None:
                    return
                pending.add(pool.submit(one_round, seed, options))

        try:
            refill()
            while pending:
                finished, pending_left = concurrent.futures.wait(
                    pending, return_when=concurrent.futures.FIRST_COMPLETED
                )
                pending = set(pending_left)
                for future in finished:
                    done = future.result()
                    tally.add(done)
                    report(done, options.tell)
                refill()
        except KeyboardInterrupt:
            print("stopped")
    return tally


def one_round(seed, options):
    return Round(
        seed,
        options.only,
        nodes=options.nodes,
        bare=options.bare,
        older=options.upgrade_from,
        hostile=options.hostile,
        latency=options.hostile and not options.no_latency,
        workflows=options.workflows,
    ).run()


def kinds_of(options):
    """The module with the faults of the run."""
    return hostile if options.hostile else node_faults if options.nodes else faults


def arguments(given=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--forever", action="store_true")
    parser.add_argument("--minutes", type=float, help="begin no round after so long")
    parser.add_argument("--seed", type=int, help="the first round's; drawn where not given")
    parser.add_argument("--only", metavar="FAULT")
    parser.add_argument("--nodes", type=int, default=0, help="so many, on PostgreSQL")
    parser.add_argument("--hostile", action="store_true", help="attacks instead of faults")
    parser.add_argument("--workflows", action="store_true", help="clients that make workflows, too")
    parser.add_argument("--no-latency", action="store_true", help="judge no claim's time")
    parser.add_argument("--upgrade-from", metavar="BINARY", type=os.path.abspath)
    parser.add_argument("--bare", action="store_true", help="one fault a round")
    parser.add_argument("--each", action="store_true", help="as many rounds, bare, as there are faults")
    parser.add_argument("--no-skips", action="store_true", help="fail where a fault can't be made")
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--tell", action="store_true", help="tell what was done in each round")
    parser.add_argument("--list", action="store_true", help="name the faults")
    options = parser.parse_args(given)
    kinds = kinds_of(options).FAULTS
    if options.only and options.only not in kinds:
        parser.error(f"there is no {options.only}; there are: {', '.join(kinds)}")
    if options.hostile and options.nodes and harness.STORE != "postgres":
        parser.error("several nodes share a PostgreSQL: set MILLRACE_STORE=postgres")
    if options.each:
        options.rounds, options.bare = len(kinds), True
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1_000_000)
    return options


def main():
    options = arguments()
    if options.list:
        print(*kinds_of(options).FAULTS, sep="\n")
        return 0
    print(f"the first round's seed is {options.seed}", flush=True)
    tally = run(options)
    print(tally.details())
    print(tally.headline())
    if options.no_skips and tally.skipped:
        print("nothing was to be skipped (--no-skips)")
        return 1
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
