"""The clients' observations, and the facts about each job that follow from them.

Every request is one record, a line of JSON: the client, the request, its begin and end on the
machine's monotonic clock, and its outcome: "ok" (it happened), "no" (refused: it did not happen),
"maybe" (no answer, or a 5xx that leaves it open). A Book sorts the records of all clients by job,
together with the server's final list.
"""

import collections
import dataclasses
import json
import os
import pathlib
import zlib

# A claim that ended this shortly before a fault, or began this shortly after it, may be affected.
BEFORE_FAULT_S, AFTER_FAULT_S = 0.5, 3.0
TERMINAL = {"succeeded", "dead", "cancelled", "expired"}
# The type of jobs that only the newer program of an upgrade accepts (src/base/tomorrow.h), if any.
TYPE_OF_TOMORROW = os.environ.get("CRASH_TYPE_OF_TOMORROW")
# The limits that some jobs name: slots by key, and a rate of starts.
LIMITS = {
    "keyed": {"per_key": True, "concurrency": 3},
    "paced": {"rate": {"limit": 100, "per_ms": 1000, "burst": 30}},
}
LIMIT_KEYS = ("a", "b", "c")
limits_come_later = False  # the servers began as a program without limits
ENDING_ACKS = {"succeeded": "succeeded", "dead": "dead", "cancelled": "cancelled"}


def payload_of(nonce):
    """The payload of the submission `nonce`, "client:serial:size". Its bytes depend on the nonce,
    so that changes are detected.
    """
    size = int(nonce.rsplit(":", 1)[1])
    word = f"{zlib.crc32(nonce.encode()):08x}"
    return {"nonce": nonce, "pad": (word * (size // 8 + 1))[:size]}


def result_of(job_id, token):
    """The result that a worker with this lease reports."""
    return {"job": job_id, "token": token}


@dataclasses.dataclass(slots=True)
class Record:
    client: str
    op: str
    start: float
    end: float
    outcome: str
    args: dict
    reply: dict | None = None
    status: int = 0
    code: str | None = None

    def line(self):
        return json.dumps(dataclasses.asdict(self), separators=(",", ":"))


def read_records(directory):
    """All records of the files in `directory`, sorted by their begin."""
    records = []
    for path in sorted(pathlib.Path(directory).glob("*.jsonl")):
        with path.open() as lines:
            records += [Record(**json.loads(line)) for line in lines]
    records.sort(key=lambda record: record.start)
    return records


@dataclasses.dataclass(slots=True)
class Fact:
    """The content of one record about one job."""

    op: str
    start: float
    end: float
    outcome: str
    client: str
    data: dict

    def told(self, begin):
        """A line for people."""
        details = " ".join(f"{name}={value}" for name, value in self.data.items() if value is not None)
        return (
            f"{self.start - begin:9.3f} to {self.end - begin:9.3f}  {self.client:<14} "
            f"{self.op:<8} {self.outcome:<6} {details}"
        )


class Story:
    """All facts about one job, each kind sorted by its begin."""

    def __init__(self, job_id):
        self.id = job_id
        self.facts = []
        self.submits, self.claims, self.extends, self.acks = [], [], [], []
        self.operations, self.reads = [], []

    def add(self, fact):
        self.facts.append(fact)
        kinds = {
            "submit": self.submits,
            "claim": self.claims,
            "extend": self.extends,
            "ack": self.acks,
            "read": self.reads,
        }
        kinds.get(fact.op, self.operations).append(fact)

    def touched_by(self, *ops):
        """The operators' facts of these kinds that happened or may have."""
        return [fact for fact in self.operations if fact.op in ops and fact.outcome != "no"]

    @property
    def queue(self):
        for fact in self.submits:
            return fact.data["queue"]
        return None


class Book:
    """The history, job by job, with the server's final state."""

    def __init__(self, records, final):
        self.records = records
        self.final = final
        self.listing = {job["id"]: job for job in final["jobs"]}
        self.stories = {}
        self.submissions = collections.defaultdict(list)  # nonce -> facts, with any outcome
        self.ids_of = collections.defaultdict(set)  # nonce -> ids that the server showed for it
        self.maybe_claims = collections.Counter()  # worker -> claims without an answer
        self.empty_claims = collections.Counter()  # worker -> claims that brought no job
        self.flow_records = []  # of the clients of workflows
        self.queue_ops = collections.defaultdict(list)  # queue -> pause, resume and purge records
        self.faults = []  # (start, end)
        self.steps = []  # of the wall clock: when it was moved, at some moment from start to end
        self.first_start = records[0].start if records else 0.0
        for record in records:
            self._take(record)
        if final.get("sharded"):
            self._count_torn_claims()
        for job in final["jobs"]:
            self.story(job["id"])
            self._show(job["payload"], job["id"])
        self._add_unknown_submits()

    def story(self, job_id):
        if job_id not in self.stories:
            self.stories[job_id] = Story(job_id)
        return self.stories[job_id]

    def forward(self, start, end):
        """By how much the wall clock was set ahead in a period."""
        return sum(max(0, step.args["seconds"]) for step in self.steps if step.start <= end and step.end >= start)

    def told(self, job_id):
        """The story of a job as text for people, in order."""
        facts = sorted(self.story(job_id).facts, key=lambda fact: fact.start)
        lines = [fact.told(self.first_start) for fact in facts]
        job = self.listing.get(job_id)
        return "\n".join([*lines, f"in the end: {json.dumps(job) if job else 'not listed'}"])

    # Records to facts.

    def _take(self, record):
        if record.op.startswith("flow"):
            self.flow_records.append(record)
        elif record.op == "submit":
            self._take_submit(record)
        elif record.op == "claim":
            self._take_claim(record)
        elif record.op in ("ack", "extend"):
            self._take_items(record, record.args["items"])
        elif record.op in ("pause", "resume", "purge"):
            self.queue_ops[record.args["queue"]].append(record)
        elif record.op == "fault":
            self.faults.append((record.start, record.end))
        elif record.op == "step":
            self.steps.append(record)
        elif record.op == "read":
            for seen in (record.reply or {}).get("items", []):
                self._fact(record, seen["id"], record.outcome, seen)
        else:
            self._take_items(record, [{"id": job_id} for job_id in record.args["ids"]])

    def _count_torn_claims(self):
        """A claim over several shards is answered with the jobs of some of them even if another
        shard's answer was lost; that shard's jobs come back when their leases are over.
        """
        for record in self.records:
            if record.op == "claim" and record.outcome == "ok" and len(record.args["queues"]) > 1:
                self.maybe_claims[record.args["worker"]] += any(
                    start - BEFORE_FAULT_S < record.end and record.start < end + AFTER_FAULT_S
                    for start, end in self.faults
                )

    def _fact(self, record, job_id, outcome, data):
        fact = Fact(record.op, record.start, record.end, outcome, record.client, data)
        self.story(job_id).add(fact)
        return fact

    def _take_submit(self, record):
        results = (record.reply or {}).get("items") or [{}] * len(record.args["jobs"])
        for job, result in zip(record.args["jobs"], results):
            outcome = item_outcome(record, result)
            data = {
                **job,
                "queue": record.args["queue"],
                "key": record.args.get("key"),
                "atomic": record.args.get("atomic", False),
                "shown": result.get("id"),
                "version": result.get("version"),
            }
            shown = result.get("id") if outcome == "ok" else job.get("id")
            fact = Fact("submit", record.start, record.end, outcome, record.client, data)
            self.submissions[job["nonce"]].append(fact)
            if shown:
                self.story(shown).add(fact)
            if outcome == "ok":
                self.ids_of[job["nonce"]].add(result["id"])

    def _take_claim(self, record):
        if record.outcome == "maybe":
            self.maybe_claims[record.args["worker"]] += 1
        elif not (record.reply or {}).get("jobs"):
            self.empty_claims[record.args["worker"]] += 1
        for job in (record.reply or {}).get("jobs", []):
            data = {**job, "worker": record.args["worker"], "lease_s": job["lease_s"]}
            payload = data.pop("payload")
            self._fact(record, job["id"], "ok", data)
            self._show(payload, job["id"])

    def _take_items(self, record, items):
        results = (record.reply or {}).get("items") or [{}] * len(items)
        for item, result in zip(items, results):
            data = {**record.args.get("shared", {}), **item, **result}
            self._fact(record, item["id"], item_outcome(record, result), data)

    def _show(self, payload, job_id):
        if isinstance(payload, dict) and "nonce" in payload:
            self.ids_of[payload["nonce"]].add(job_id)

    def _add_unknown_submits(self):
        """Assigns unanswered submissions to the job that has their payload."""
        for nonce, facts in self.submissions.items():
            for job_id in self.ids_of.get(nonce, ()):
                story = self.story(job_id)
                for fact in facts:
                    if fact not in story.submits:
                        story.add(fact)
        for story in self.stories.values():
            story.submits.sort(key=lambda fact: fact.start)


def item_outcome(record, result):
    """The outcome of one item of a request: its result's, if there is one, else the request's."""
    status = result.get("status")
    if record.outcome != "ok" or status is None:
        return record.outcome
    return "ok" if status < 300 else "no" if status < 500 else "maybe"
