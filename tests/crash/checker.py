"""Reads a history and reports the broken promises.

Each check is a function over the Book that yields violations, and has a number. No check searches:
each job's facts are sorted once and scanned, so a check takes time linear in the history. All
bounds favour the server: an event that may have happened counts if it would excuse the server.
"""

import bisect
import collections
import dataclasses

import flows_checker
import history

EPSILON_S = 0.02  # the server's clock counts whole milliseconds, and its threads take turns
FAILED_DELAY_S = 0.1  # the queues' backoff, fixed; see rig.QUEUES


@dataclasses.dataclass(slots=True)
class Violation:
    check: str
    job: str | None
    text: str
    kind: str  # the figure in which it is counted


class Verdict:
    """The results of the checks: figures and single violations."""

    def __init__(self):
        self.violations = []
        self.figures = collections.Counter()

    @property
    def ok(self):
        return not self.violations


def check(book):
    verdict = Verdict()
    for name, one in CHECKS.items():
        for job, text, kind in one(book):
            verdict.violations.append(Violation(name, job, text, kind))
            verdict.figures[kind] += 1
    count(book, verdict.figures)
    return verdict


# Parts of a story that several checks use.


def excused_absence(book, story):
    """Why an accepted job may be gone; None if nothing excuses it."""
    if story.touched_by("delete"):
        return "deleted"
    queue = story.queue
    accepted = min((f.start for f in story.submits if f.outcome != "no"), default=0)
    for record in book.queue_ops.get(queue, ()):
        # An unanswered one may still be under way, and affect jobs that come meanwhile.
        may_go_on = record.outcome == "maybe" or record.end > accepted
        if record.op == "purge" and record.outcome != "no" and may_go_on:
            return "purged"
    if queue in book.final.get("brief_queues", ()):
        ended = any(f.outcome != "no" for f in story.acks)
        cancelled = story.touched_by("cancel")
        if ended or cancelled or story.claims or book.maybe_claims:
            return "retention"
    return None


def enacted(story, outcome="ok"):
    """The acks with this outcome, each (token, outcome) once: its first time."""
    first = {}
    for fact in story.acks:
        if fact.outcome == outcome:
            first.setdefault((fact.data["token"], fact.data["outcome"]), fact)
    return list(first.values())


def first_try(story, ack):
    """When an ack was sent for the first time, as it may have taken effect then."""
    return min(
        other.start
        for other in story.acks
        if (other.data["token"], other.data["outcome"]) == (ack.data["token"], ack.data["outcome"])
    )


def accepted_by(story):
    """The earliest instant by which the job certainly existed; None if there is none."""
    return min((fact.end for fact in story.submits if fact.outcome == "ok"), default=None)


# The checks.


def no_loss(book):
    """H1: an acknowledged job exists, or is gone for a known reason."""
    for story in book.stories.values():
        if accepted_by(story) is None or story.id in book.listing:
            continue
        if not excused_absence(book, story):
            yield story.id, "acknowledged, and not in the final listing", "lost"
    for nonce, facts in book.submissions.items():
        if any(fact.outcome == "ok" for fact in facts):
            continue
        seen = [story for i in book.ids_of.get(nonce, ()) if (story := book.story(i)).claims]
        for story in seen:
            if story.id not in book.listing and not excused_absence(book, story):
                yield story.id, "was handed out, and is not in the final listing", "lost"


def nothing_invented(book):
    """H2: every job comes from a submission that happened or may have, with the content sent."""
    for story in book.stories.values():
        claimed = [fact for fact in story.claims if fact.outcome == "ok"]
        if not claimed and story.id not in book.listing:
            continue
        if not any(fact.outcome != "no" for fact in story.submits):
            yield story.id, "nobody submitted it, or all who did were refused", "invented"
    for job in book.listing.values():
        payload = job["payload"]
        nonce = payload.get("nonce") if isinstance(payload, dict) else None
        if nonce is None or payload != history.payload_of(nonce):
            yield job["id"], f"its payload is not what was sent: {str(payload)[:80]}", "invented"
        wanted = [fact.data for fact in book.submissions.get(nonce, ())]
        if wanted and job["queue"] != wanted[0]["queue"]:
            yield job["id"], f"is in {job['queue']}, not {wanted[0]['queue']}", "invented"


def conservation(book):
    """H3: the queues' counters agree with the listing, and purges with the deleted jobs."""
    listed = collections.Counter((job["queue"], job["state"]) for job in book.listing.values())
    for queue, counts in book.final["counts"].items():
        for state, number in counts.items():
            if listed[queue, state] != number:
                text = f"{queue} counts {number} {state}, {listed[queue, state]} are listed"
                yield None, text, "miscounted"
    yield from purged_as_told(book)


def purged_as_told(book):
    """The reported number of purged and deleted jobs is gone, except for unanswered calls."""
    for queue, records in book.queue_ops.items():
        purges = [record for record in records if record.op == "purge" and record.outcome != "no"]
        if not purges or queue in book.final.get("brief_queues", ()):
            continue
        stories = [story for story in book.stories.values() if story.queue == queue]
        gone = [s for s in stories if s.id not in book.listing and accepted_by(s) is not None]
        deletes = [fact for story in stories for fact in story.touched_by("delete")]
        sure = sum(record.reply["deleted"] for record in purges if record.outcome == "ok")
        sure += sum(fact.outcome == "ok" for fact in deletes)
        open_ended = any(r.outcome == "maybe" for r in purges)
        possible = sum(fact.outcome == "maybe" for fact in deletes)
        if not open_ended and len(gone) > sure + possible:
            yield None, f"{queue}: {len(gone)} are gone, {sure} were removed", "lost"


def exclusive_lease(book):
    """H4: no worker gets a job while another worker's lease on it is live."""
    for story in book.stories.values():
        claims = sorted(story.claims, key=lambda fact: fact.data["token"])
        for held, taken in zip(claims, claims[1:]):
            token = held.data["token"]
            until = held.start + held.data["lease_s"]
            for extend in story.extends:
                if extend.outcome == "ok" and extend.data["token"] == token:
                    until = max(until, extend.start + extend.data["extend_ms"] / 1000)
            given_up = any(
                ack.data["token"] == token and ack.outcome != "no" and ack.start < taken.end for ack in story.acks
            )
            if not given_up and taken.end < until - EPSILON_S:
                text = f"lease {token} had {until - taken.end:.3f} s left when it was handed out"
                yield story.id, text, "fencing violations"


def token_order(book):
    """H5: tokens rise over the whole store or, if it has several shards, over each queue."""
    claims = collections.defaultdict(list)
    for story in book.stories.values():
        for fact in story.claims:
            claims[fact.data["queue"] if book.final.get("sharded") else None].append(fact)
    for some in claims.values():
        yield from tokens_rise(some)


def tokens_rise(claims):
    ended = sorted(claims, key=lambda fact: fact.end)
    highest, position = None, 0
    for claim in sorted(claims, key=lambda fact: fact.start):
        while position < len(ended) and ended[position].end < claim.start:
            if highest is None or ended[position].data["token"] > highest.data["token"]:
                highest = ended[position]
            position += 1
        if highest is not None and claim.data["token"] <= highest.data["token"]:
            text = f"token {claim.data['token']} after {highest.data['token']}"
            yield claim.data["id"], text, "fencing violations"


def fencing(book):
    """H6: a token that a later one has replaced has no effect."""
    for story in book.stories.values():
        for fact in [*story.acks, *story.extends]:
            token = fact.data["token"]
            newer = [c for c in story.claims if c.data["token"] > token and c.end < fact.start]
            if fact.outcome != "ok" or not newer or repeated(story, fact):
                continue
            text = f"token {token} was honoured after {newer[0].data['token']} was given out"
            yield story.id, text, "fencing violations"
        held = {claim.data["token"] for claim in story.claims}
        for fact in story.acks:
            if fact.outcome == "ok" and fact.data["token"] not in held:
                text = f"token {fact.data['token']} was honoured, and never given out"
                yield story.id, text, "fencing violations"


def repeated(story, fact):
    """Whether the same ack was sent before, so that its answer must be the same."""
    return fact.op == "ack" and any(
        earlier.start < fact.start
        and earlier.outcome != "no"
        and (earlier.data["token"], earlier.data["outcome"]) == (fact.data["token"], fact.data["outcome"])
        for earlier in story.acks
    )


def one_completion(book):
    """H7: each generation ends once, with a final state and result."""
    for story in book.stories.values():
        endings = [a for a in enacted(story) if a.data.get("state") in history.TERMINAL]
        retries = story.touched_by("retry")
        if len(endings) > 1 + len(retries):
            texts = ", ".join(f"{a.data['outcome']} by {a.data['token']}" for a in endings)
            yield story.id, f"ended {len(endings)} times: {texts}", "duplicated"
        yield from final_state(book, story, endings, retries)


def final_state(book, story, endings, retries):
    job = book.listing.get(story.id)
    if job is None:
        return
    last = max(endings, key=lambda ack: ack.data["token"], default=None)
    undone = last and any(retry.end > first_try(story, last) for retry in retries)
    if last and not undone and job["state"] != last.data["state"]:
        text = f"its end was {last.data['state']}, and it is {job['state']}"
        yield story.id, text, "lost"
    if job["state"] != "succeeded":
        return
    able = [ack.data["token"] for ack in story.acks if ack.outcome != "no" and ack.data["outcome"] == "succeeded"]
    if job["result"] not in [history.result_of(story.id, token) for token in able]:
        yield story.id, f"nobody reported its result {str(job['result'])[:80]}", "invented"
    elif last and not undone and job["result"] != last.data["result"]:
        yield story.id, "its result is another lease's", "duplicated"


def attempts(book):
    """H8: no more attempts than allowed, and the server knows each attempt handed out."""
    for story in book.stories.values():
        allowed = max((fact.data["max_attempts"] for fact in story.submits), default=None)
        if allowed is not None and not story.touched_by("edit"):
            for claim in story.claims:
                if claim.data["attempt"] > allowed:
                    text = f"attempt {claim.data['attempt']} of {allowed}"
                    yield story.id, text, "duplicated"
        rows = book.final["attempts"].get(story.id)
        if rows is None:
            continue
        known = collections.Counter(row["worker"] for row in rows)
        handed = collections.Counter(claim.data["worker"] for claim in story.claims)
        for worker, number in handed.items():
            if known[worker] < number:
                text = f"{worker} got it {number} times, the server knows of {known[worker]}"
                yield story.id, text, "lost"
        # A server without room for the answer releases the jobs, and answers without them.
        returned = collections.Counter(row["worker"] for row in rows if row.get("outcome") == "released")
        for worker, number in known.items():
            least = handed[worker] + (returned[worker] if book.empty_claims[worker] else 0)
            if number > least and not book.maybe_claims[worker]:
                yield story.id, f"an attempt by {worker}, who never got it", "invented"


def not_early(book):
    """H9: no job is handed out before its time or the end of its backoff."""
    for story in book.stories.values():
        if story.touched_by("edit", "retry"):
            continue
        for cause, due in due_times(story):
            later = [claim for claim in story.claims if claim.data["token"] > cause]
            if not later:
                continue
            first = min(later, key=lambda claim: claim.data["token"])
            start, delay = due
            early = start + delay - book.forward(start, first.end) - first.end
            if early > EPSILON_S:
                yield story.id, f"handed out {early * 1000:.0f} ms early", "early"


def due_times(story):
    """(token before, (from when, how long)) of each wait that the job certainly had to observe."""
    sent = [fact for fact in story.submits if fact.outcome != "no"]
    if sent:
        yield 0, (min(fact.start for fact in sent), sent[0].data["delay_ms"] / 1000)
    for ack in enacted(story):
        if ack.data["outcome"] == "failed" and ack.data.get("state") == "retrying":
            delay = ack.data.get("delay_ms", FAILED_DELAY_S * 1000) / 1000
        elif ack.data["outcome"] == "snoozed":
            delay = ack.data["delay_ms"] / 1000
        else:
            continue
        yield ack.data["token"], (first_try(story, ack), delay)


def in_order(book):
    """H10: at the same priority, a job whose submission ended before another's began goes first."""
    lanes = collections.defaultdict(list)
    for story in book.stories.values():
        entry = lane_entry(book, story)
        if entry:
            lanes[story.queue, story.submits[0].data["priority"]].append(entry)
    for entries in lanes.values():
        earlier = sorted(entries, key=lambda entry: entry["there_by"])
        position, latest = 0, None
        for entry in sorted(entries, key=lambda entry: entry["sent_at"]):
            while position < len(earlier) and earlier[position]["there_by"] < entry["sent_at"]:
                if latest is None or earlier[position]["claim_start"] > latest["claim_start"]:
                    latest = earlier[position]
                position += 1
            if latest and latest["claim_start"] > entry["claim_end"]:
                yield latest["id"], f"was overtaken by {entry['id']}", "out of order"


def limits_of(story):
    """The limits named in the job's submission."""
    return next((fact.data["limits"] for fact in story.submits if fact.data.get("limits")), ())


def limited_claims(book):
    """The claims by their bound: (limit, key)."""
    claims = collections.defaultdict(list)
    for story in book.stories.values():
        for claim in story.claims:
            for limit in limits_of(story):
                claims[limit["name"], limit.get("key")].append((story, claim))
    return claims


def held_for_certain(book, story, claim):
    """From when to when the lease was certainly live, despite requests under way; None: unknown."""
    token = claim.data["token"]
    # A pause of the server or another client's ack may have ended it earlier.
    until = claim.start + claim.data["lease_s"] - EPSILON_S
    for fact in [*story.acks, *story.operations]:
        ends = fact.op != "ack" or fact.data["token"] == token
        if ends and fact.outcome != "no" and fact.end > claim.start:
            until = min(until, fact.start)
    for other in story.claims:
        if other.data["token"] > token:
            until = min(until, other.start)
    if until <= claim.end or book.forward(claim.start, until):
        return None
    return claim.end, until


def limits_hold(book):
    """H13: no key ever exceeds its limit, and no bucket its rate."""
    for (name, key), claims in limited_claims(book).items():
        settings = history.LIMITS[name]
        if "concurrency" in settings:
            yield from too_many_at_once(book, f"{name} {key}", claims, settings["concurrency"])
        if "rate" in settings:
            yield from too_many_starts(book, name, claims, settings["rate"])


def too_many_at_once(book, name, claims, most):
    steps = []
    for story, claim in claims:
        held = held_for_certain(book, story, claim)
        if held:
            steps += [(held[0], 1, story.id), (held[1], -1, story.id)]
    running = 0
    for at, step, job in sorted(steps):
        running += step
        if step > 0 and running > most:
            yield job, f"{running} jobs hold {name} at once, of {most}", "limits exceeded"


def too_many_starts(book, name, claims, rate):
    """Checks each period of time by the claims that began and were answered within it."""
    ends = []
    for start, end in sorted(((claim.start, claim.end) for _, claim in claims), reverse=True):
        bisect.insort(ends, end)
        # Each window ends with an answer; distant ones have room enough.
        for count, until in enumerate(ends[: 20 * rate["burst"]], 1):
            length = until - start + EPSILON_S + book.forward(start, until)
            if count > rate["burst"] + rate["limit"] * 1000 / rate["per_ms"] * length:
                text = f"{count} starts under {name} in {length:.3f} s"
                yield None, text, "limits exceeded"
                return


def lane_entry(book, story):
    """When a job that always waited in line entered and left it; None for others."""
    there_by = accepted_by(story)
    if there_by is None or not story.claims or story.operations:
        return None
    job = book.listing.get(story.id)
    first = min(story.claims, key=lambda claim: claim.data["token"])
    # Its first start was seen: the server counts no attempt before it.
    if any(fact.data["delay_ms"] for fact in story.submits) or first.data["attempt"] != 1:
        return None
    # It waits for its limits too, while others pass.
    if limits_of(story):
        return None
    rows = book.final["attempts"].get(story.id)
    # A claim that was lost and released shows there, and in the version.
    if rows is None and book.final.get("sharded") and (job is None or job["version"] > 3):
        return None
    starts = len(rows) if rows is not None else job["attempt"] if job else None
    if starts != 1 or len(story.claims) != 1:
        return None
    return {
        "id": story.id,
        "sent_at": min(fact.start for fact in story.submits),
        "there_by": there_by,
        "claim_start": first.start,
        "claim_end": first.end,
    }


def monotone_reads(book):
    """H11: a request sent after an answer sees at least the state in that answer."""
    for story in book.stories.values():
        facts = [
            fact
            for fact in [*story.submits, *story.operations, *story.reads]
            if fact.outcome == "ok" and fact.data.get("version") is not None
        ]
        job = book.listing.get(story.id)
        versions = []  # (end, highest version until then)
        for fact in sorted(facts, key=lambda fact: fact.end):
            highest = max(fact.data["version"], versions[-1][1] if versions else 0)
            versions.append((fact.end, highest))
        ends = [end for end, _ in versions]
        for fact in facts:
            before = bisect.bisect_left(ends, fact.start)
            if before and versions[before - 1][1] > fact.data["version"]:
                text = f"version {fact.data['version']} after {versions[before - 1][1]}"
                yield story.id, text, "lost"
        if job and versions and job["version"] < versions[-1][1]:
            text = f"version {job['version']} in the end, after {versions[-1][1]}"
            yield story.id, text, "lost"


def idempotency(book):
    """H12: a submission creates one job, however often it is sent; so does each without a name."""
    for nonce, ids in book.ids_of.items():
        if len(ids) > 1:
            yield sorted(ids)[0], f"{nonce} is {len(ids)} jobs: {sorted(ids)}", "duplicated"


def progress(book):
    """H16: once the faults have stopped, every job ends."""
    for job in book.listing.values():
        if job["state"] not in history.TERMINAL:
            yield job["id"], f"still {job['state']} after the faults stopped", "stuck"
    if book.final.get("backlog"):
        yield None, f"a backlog of {book.final['backlog']} did not end in time", "stuck"


def maybes(book):
    """H18: an unanswered atomic batch is stored as a whole or not at all."""
    batches = collections.defaultdict(list)
    for record in book.records:
        if record.op == "submit" and record.args.get("atomic"):
            batches[record.args["jobs"][0]["nonce"]].append(record)
    for records in batches.values():
        nonces = [job["nonce"] for job in records[0].args["jobs"]]
        there = [nonce for nonce in nonces if book.ids_of.get(nonce)]
        if there and len(there) < len(nonces):
            missing = set(nonces) - set(there)
            text = f"{len(there)} of {len(nonces)} jobs of an atomic batch, without {missing}"
            yield next(iter(book.ids_of[there[0]])), text, "lost"
    for nonce, facts in book.submissions.items():
        refused = facts and all(fact.outcome == "no" for fact in facts)
        if refused and book.ids_of.get(nonce):
            yield next(iter(book.ids_of[nonce])), "refused, and there all the same", "invented"


def transactions(book):
    """H19: a job whose transaction committed exists; its effects and completion come once,
    together.
    """
    effects = collections.Counter(book.final.get("effects", ()))
    for story in book.stories.values():
        if story.touched_by("enqueued") and story.id not in book.listing:
            yield story.id, "its transaction committed, and it is not in the final listing", "lost"
        if story.touched_by("finished") and not effects[story.id]:
            yield story.id, "its transaction committed, and its effects are gone", "lost"
    for job_id, number in effects.items():
        if number > 1:
            yield job_id, f"{number} transactions with its effects committed", "fencing violations"
        if book.listing.get(job_id, {}).get("state") != "succeeded":
            yield job_id, "its effects are committed, and it has not succeeded", "lost"


def paused(book):
    """R5: no lease is granted in a queue that is certainly paused."""
    stretches = collections.defaultdict(list)
    for queue, records in book.queue_ops.items():
        begin = None
        for record in sorted(records, key=lambda record: record.start):
            if record.op == "pause" and record.outcome == "ok" and begin is None:
                begin = record.end
            elif record.op == "resume" and record.outcome != "no" and begin is not None:
                stretches[queue].append((begin, record.start))
                begin = None
    for story in book.stories.values():
        for claim in story.claims:
            for begin, end in stretches.get(claim.data["queue"], ()):
                if begin < claim.start and claim.end < end:
                    yield story.id, "handed out while its queue was paused", "fencing violations"


def leases_last(book):
    """L4, L5: a lease is not lost before its time, not even by a crash."""
    for story in book.stories.values():
        by_token = {claim.data["token"]: claim for claim in story.claims}
        for fact in [*story.acks, *story.extends]:
            claim = by_token.get(fact.data["token"])
            if fact.outcome != "no" or claim is None or fact.data.get("status") != 409:
                continue
            until = claim.start + claim.data["lease_s"]
            over = any(
                ack.data["token"] == fact.data["token"] and ack.outcome != "no" and ack is not fact
                for ack in story.acks
            )
            if not over and fact.end < until - EPSILON_S:
                text = f"lease {fact.data['token']} was lost {until - fact.end:.3f} s early"
                yield story.id, text, "early"


def expected_answers(book):
    """Every answer conforms to the contract; above all, none is a 500."""
    for record in book.records:
        too_new = history.TYPE_OF_TOMORROW or history.limits_come_later
        if too_new and (record.op, record.status) == ("submit", 422):
            continue  # answered by a node that is not upgraded yet
        if record.status >= 500 and record.status != 503 or record.status in (400, 413, 422):
            text = f"{record.client}: {record.op} got {record.status} {record.code}"
            yield None, text, "surprising"


CHECKS = {
    "H1": no_loss,
    "H2": nothing_invented,
    "H3": conservation,
    "H4": exclusive_lease,
    "H5": token_order,
    "H6": fencing,
    "H7": one_completion,
    "H8": attempts,
    "H9": not_early,
    "H10": in_order,
    "H11": monotone_reads,
    "H12": idempotency,
    "H13": limits_hold,
    "H16": progress,
    "H18": maybes,
    "H19": transactions,
    "H20": flows_checker.check,
    "R5": paused,
    "L4": leases_last,
    "answers": expected_answers,
}


# Figures without a verdict.


def count(book, figures):
    """Counts the events."""
    for story in book.stories.values():
        if accepted_by(story) is not None:
            figures["acknowledged"] += 1
        figures["leases"] += len(story.claims)
        figures["leases under limits"] += len(story.claims) if limits_of(story) else 0
        figures["submitted by transactions"] += len(story.touched_by("enqueued"))
        figures["finished by transactions"] += len(story.touched_by("finished"))
        figures["completions acknowledged"] += sum(
            1 for ack in enacted(story) if ack.data.get("state") in history.TERMINAL
        )
        figures["stale tokens refused"] += sum(
            1 for fact in [*story.acks, *story.extends] if fact.data.get("status") == 409
        )
        waits = [claim.end for claim in story.claims]
        sent = [fact for fact in story.submits if fact.data["delay_ms"] and fact.outcome == "ok"]
        if waits and sent and not story.operations:
            late = min(waits) - sent[0].end - sent[0].data["delay_ms"] / 1000
            figures["late at most, ms"] = max(figures["late at most, ms"], round(late * 1000))
    for nonce, facts in book.submissions.items():
        if facts[-1].outcome == "maybe" and not any(fact.outcome == "ok" for fact in facts):
            happened = bool(book.ids_of.get(nonce))
            figures["maybes that happened" if happened else "maybes that did not"] += 1
    figures["workflows"] += len(book.final.get("workflows", ()))
    figures["members handed out"] += sum(
        len(record.reply["jobs"]) for record in book.flow_records if record.op == "flow_claim" and record.reply
    )
    figures["requests"] += len(book.records)
    figures["unanswered"] += sum(record.outcome == "maybe" for record in book.records)
