#!/usr/bin/env python3
"""One large workflow over three queues on three nodes runs to its callback, while each node is killed
in turn. Then its history is checked (flows_checker.py).

    flow_through_kills.py [--members 3000] [--seed S]

Member N needs the end of member N / 8, so each end releases up to eight others. A node is killed
each time that another quarter of the members has ended. Exit 1 on a violation.
"""

import argparse
import random
import sys
import threading
import time

import flows
import flows_checker
import history
from rig import QUEUE

from nodes_rig import NodesRig  # after the rig, which adds the folders that it needs

NODES = 3
WORKERS = 3
MEMBERS_A_CALL = 1_000
WIDTH = 8
NAME = "large"
PATIENCE_S = 120  # without any end


class Owner(flows.Weaver):
    """Creates the workflow and adds its members. What got no answer is sent again."""

    def send_until_done(self, op, path, args, body, headers=None):
        while True:
            record = self.call(op, "POST", path, args, body, headers, timeout_s=30, view=flows.seen)
            if record is not None and record.outcome == "ok":
                return record.reply
            if record is not None and record.outcome == "no":
                raise RuntimeError(f"{op} was refused: {record.status} {record.code}")
            self.rest(0.05, 0.2)

    def weave(self, count):
        on_end = {"queue": flows.QUEUES[0], "type": "on_end"}
        policy = {"on_member_failed": "ignore", "open": True, "on_end": on_end}
        body = {"name": NAME, "queue": flows.QUEUES[0], "members": [], **policy}
        args = {"name": NAME, "open": True, "body": body}
        flow = self.send_until_done("flow_create", "/v1/workflows", args, body, {"Idempotency-Key": NAME})["id"]
        for first in range(0, count, MEMBERS_A_CALL):
            numbers = range(first, min(first + MEMBERS_A_CALL, count))
            body = {"members": [member(number) for number in numbers], "close": numbers[-1] == count - 1}
            args = {"id": flow, "name": NAME, "body": body}
            self.send_until_done("flow_members", f"/v1/workflows/{flow}/members", args, body)
        return flow


class Runner(flows.Weaver):
    """Works on the jobs, of which one in a hundred is dead."""

    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        self.done = 0

    def act(self):
        jobs = self.claim(limit=100)
        items = [self.verdict(job) for job in jobs]
        while items and self.ack(items) == "maybe" and not self.stop.is_set():
            pass
        self.done += len(items)

    def verdict(self, job):
        if self.dice.random() < 0.01:
            error = {"type": "Oops", "message": "no luck"}
            return {"id": job["id"], "token": job["token"], "outcome": "dead", "error": error}
        result = history.result_of(job["id"], job["token"])
        return {"id": job["id"], "token": job["token"], "outcome": "succeeded", "result": result}


def member(number):
    job = {"queue": flows.QUEUES[number % len(flows.QUEUES)], "type": "flow", "max_attempts": 20}
    needs = [{"ref": f"m{number // WIDTH}", "on": "ended"}] if number > 0 else []
    return {"ref": f"m{number}", "job": job, **({"needs": needs} if needs else {})}


def has_ended(rig, flow):
    for server in rig.servers:
        api = server.client()
        try:
            reply = api.get(f"/v1/workflows/{flow}")
            if reply.status == 200:
                counts = [rig.counts_of(api, name) for name in flows.QUEUES]
                live = sum(n for states in counts for state, n in states.items() if state not in history.TERMINAL)
                return reply.json["ended_at"] is not None and live == 0
        finally:
            api.close()
    return False


def run(rig, count):
    rig.start()
    api = rig.server.client()
    for name in flows.QUEUES:
        assert api.put(f"/v1/queues/{name}", QUEUE).status in (200, 201)
    api.close()
    stop = threading.Event()
    owner = Owner("owner-0", rig.targets, rig.records, rig.seed)
    flow = owner.weave(count)
    owner.close()
    runners = [Runner(f"runner-{n}", rig.targets, rig.records, rig.seed, stop) for n in range(WORKERS)]
    for runner in runners:
        runner.start()
    kills = [count * (number + 1) // (NODES + 1) for number in range(NODES)]
    done, since = 0, time.monotonic()
    while not (done >= count and has_ended(rig, flow)):
        time.sleep(0.2)
        now = sum(runner.done for runner in runners)
        if now > done:
            done, since = now, time.monotonic()
        if time.monotonic() - since > PATIENCE_S:
            print(f"nothing has ended for {PATIENCE_S} s, after {done} of {count}")
            break
        if kills and done >= kills[0]:
            server = rig.servers[len(kills) - 1]
            rig.note(f"{server.url} is killed after {done} ends")
            kills.pop(0)
            rig.kill_one(server)
            rig.start()
    stop.set()
    for runner in runners:
        runner.join()
    api = rig.server.client()
    final = {"jobs": [], "workflows": flows.final(api)}
    api.close()
    return history.Book(history.read_records(rig.records), final)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    rig = NodesRig(options.seed, random.Random(options.seed), NODES)
    found = []
    try:
        book = run(rig, options.members)
        found = [text for _, text, _ in flows_checker.check(book)]
        shown = {flow["name"]: flow["counts"] for flow in book.final["workflows"]}
        if sum(shown.get(NAME, {}).values()) != options.members:
            found.append(f"the workflow has other members than it was given: {shown}")
    finally:
        rig.close(keep=bool(found))
    print(*(f"VIOLATION {text}" for text in found[:5]), sep="\n", end="\n" if found else "")
    print(f"{options.members} members, {rig.kills} kills, {time.monotonic() - began:.0f} s: {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
