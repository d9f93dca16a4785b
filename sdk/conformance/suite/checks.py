"""Compares the actions of a scenario's program with its server's state, trusting neither.

A check is a function over the Record that yields sentences about broken promises.
"""

import collections
import json
import time

from .failure import Failure

LEASE_SLACK_S = 1.0  # after the end of a lease: a second, by the contract
BUSY_S = 3.0  # the additional delay of a busy machine before an event is read here
AGAIN_S = 0.5  # the time in which messages under way arrive
RESUME_S = 0.25  # the time in which a process that was paused checks its leases


class Record:
    """The programs' events and the ways' exchanges, by (job, token)."""

    def __init__(self, programs, ways):
        # Their answers were certainly read, because another request followed on the connection.
        self.read = set()
        for way in ways:
            last = {exchange.connection: exchange for exchange in way.seen}
            self.read |= set(way.seen) - set(last.values())
        self.starts, self.ends = {}, {}
        self.tolds = collections.defaultdict(list)
        self.killed = set()  # keys of handlers that died with their process
        self.pauses = [(start, end or time.monotonic()) for p in programs for start, end in p.pauses]
        self.double_starts = []
        for program in programs:
            died = program.process.poll() not in (None, 0)
            for event in program.events:
                self._take(event, died)
        self.exchanges = sorted((e for way in ways for e in way.seen), key=lambda each: each.at)
        # key -> [(sent, until)], as the worker knew them
        self.grants = collections.defaultdict(list)
        self.lengths = {}
        self.refused = set()  # keys whose heartbeats were answered with lease_lost
        self.acks = collections.defaultdict(list)  # key -> [(exchange, item, result)]
        for exchange in self.exchanges:
            self._read(exchange)

    def _take(self, event, died):
        key = (event.get("job"), event.get("token"))
        if event["event"] == "start":
            if died:
                self.killed.add(key)
            if key in self.starts:
                self.double_starts.append(key)
            self.starts[key] = event
        elif event["event"] == "end":
            self.ends.setdefault(key, event)
        elif event["event"] == "told":
            self.tolds[key].append(event)

    def _read(self, exchange):
        delivered = exchange.delivered_at is not None
        for job in exchange.jobs if delivered else ():
            key = (job["id"], job["lease"]["token"])
            self.lengths[key] = job["lease"]["lease_ms"] / 1000
            self.grants[key].append((exchange.at, exchange.at + self.lengths[key]))
        for item, result in exchange.heartbeats:
            key = (item.get("id"), item.get("token"))
            if delivered and result and result.get("status") == 200 and key in self.lengths:
                length = item.get("extend_ms", self.lengths[key] * 1000) / 1000
                self.grants[key].append((exchange.at, exchange.at + length))
        for item, result in exchange.acks:
            key = (item.get("id"), item.get("token"))
            self.acks[key].append((exchange, item, result if delivered else None))
        for item, result in exchange.heartbeats:
            if delivered and result and _lost(result):
                self.refused.add((item.get("id"), item.get("token")))

    def certain_until(self, key):
        return max((until for _, until in self.grants.get(key, ())), default=None)

    def was_told(self, key, reason):
        return any(event.get("reason") == reason for event in self.tolds.get(key, ()))


def one_start_a_lease(record):
    """A lease allows only one run of a handler."""
    for job, token in record.double_starts:
        yield f"job {job} was started twice under the token {token}"
    for key in record.starts:
        if key not in record.grants:
            yield f"job {key[0]} was started with the token {key[1]}, which no answer had brought"


def every_handler_ends(record):
    for job, token in record.starts.keys() - record.ends.keys() - record.tolds.keys() - record.killed:
        yield f"the handler of job {job} (token {token}) started, and its end was not told"


def told_once(record):
    for (job, token), events in record.tolds.items():
        if len(events) > 1:
            reasons = [event.get("reason") for event in events]
            yield f"the handler of job {job} (token {token}) was told more than once: {reasons}"


def no_run_past_a_lease(record):
    """No handler begins after its lease, or runs on after it without having been told."""
    for key, start in record.starts.items():
        until = record.certain_until(key)
        if until is None:
            continue
        late = _after_pauses(until, record.pauses)
        known = [until for sent, until in record.grants[key] if sent <= start["at"]]
        if known and start["at"] > _after_pauses(max(known), record.pauses):
            yield f"job {key[0]} was started {start['at'] - max(known):.3f} s after its lease"
        end = record.ends.get(key)
        if end is None and key in record.killed:
            continue
        ran_until = end["at"] if end else time.monotonic()
        told = min((event["at"] for event in record.tolds.get(key, ())), default=None)
        if ran_until > late and (told is None or told > late):
            when = "never" if told is None else f"{told - until:.3f} s after it"
            yield (
                f"the handler of job {key[0]} ran until {ran_until - until:.3f} s after its lease; it was told {when}"
            )


def _after_pauses(until, pauses):
    """By when a handler must have been told of a lease that was certain until then."""
    for start, end in pauses:
        if start <= until + LEASE_SLACK_S and end >= until:
            until = max(until, end)
    return until + LEASE_SLACK_S + BUSY_S


def no_outcome_lost(record):
    """Each handler's outcome is sent until it is answered."""
    for key in record.ends:
        if key not in record.starts or key in record.refused or key in record.killed:
            continue
        # The server itself knows that an attempt has timed out.
        if record.was_told(key, "lease_lost") or record.was_told(key, "timeout"):
            continue
        # A process that resumes may tell its handler at the moment when the handler ends.
        since = [record.ends[key]["at"] - end for _, end in record.pauses]
        if any(0 <= each < RESUME_S for each in since):
            continue
        if not any(result is not None for _, _, result in record.acks.get(key, ())):
            sent = len(record.acks.get(key, ()))
            name = f"job {key[0]} (token {key[1]})"
            yield f"the outcome of {name} was sent {sent} times, and never answered"


def no_outcome_told_twice(record):
    """Repetitions of an outcome are equal, and an answered outcome is not sent again."""
    for (job, token), sent in record.acks.items():
        said = set()
        for _, item, result in sent:
            said.add(_without_logs(item))
            if len(said) > 1:
                yield f"the outcomes sent for job {job} (token {token}) differ: {sorted(said)}"
                break
            if result and result["status"] >= 400 and not _lost(result):
                said.clear()  # another outcome replaces the refused one
        settled = min(
            (
                exchange.delivered_at
                for exchange, _, result in sent
                if result and (result["status"] < 300 or _lost(result)) and exchange in record.read
            ),
            default=None,
        )
        again = [e for e, _, _ in sent if settled is not None and e.at > settled + AGAIN_S]
        if again:
            yield f"the outcome of job {job} (token {token}) was answered, and sent again"


def _without_logs(item):
    return json.dumps({k: v for k, v in item.items() if k != "logs"}, sort_keys=True)


def _lost(result):
    return (result.get("error") or {}).get("code") == "lease_lost"


def no_outcome_after_a_lost_lease(record):
    for key, events in record.tolds.items():
        lost = [event["at"] for event in events if event.get("reason") == "lease_lost"]
        late = [e for e, _, _ in record.acks.get(key, ()) if lost and e.at > lost[0] + AGAIN_S]
        if late:
            yield f"job {key[0]} was told lease_lost, and yet an outcome was sent for it"


def server_agrees(record, attempts_of):
    """Each outcome that the server has confirmed is among the job's attempts."""
    names = {
        "failed": {"failed", "dead", "timed_out"},
        "dead": {"failed", "dead"},
        "succeeded": {"succeeded"},
        "snoozed": {"snoozed"},
        "released": {"released"},
        "cancelled": {"cancelled"},
    }
    confirmed = collections.defaultdict(collections.Counter)
    for (job, _), sent in record.acks.items():
        for _, item, result in sent:
            if result and result["status"] == 200:
                confirmed[job][item["outcome"]] += 1
                break
    for job, outcomes in confirmed.items():
        kept = attempts_of(job)
        if kept is None:
            continue
        for outcome, number in outcomes.items():
            found = sum(each in names[outcome] for each in kept)
            if found < number:
                yield (f"job {job}: {number} outcomes {outcome} were confirmed, and its attempts are {kept}")


CHECKS = (
    one_start_a_lease,
    every_handler_ends,
    told_once,
    no_run_past_a_lease,
    no_outcome_lost,
    no_outcome_told_twice,
    no_outcome_after_a_lost_lease,
)


def check_history(stage):
    """Raises a Failure with all violations."""
    record = Record(stage.programs, stage.ways)
    found = [sentence for check in CHECKS for sentence in check(record)]
    if record.acks and stage.server.process.poll() is None:

        def attempts_of(job_id):
            reply = stage.api.get(f"/v1/jobs/{job_id}", include="attempts")
            if reply.status != 200:
                return None
            return [attempt["outcome"] for attempt in reply.json["attempts"]]

        found += server_agrees(record, attempts_of)
    if found:
        raise Failure("the history breaks promises:\n  " + "\n  ".join(found[:10]))
