"""H20: the promises of workflows, as their clients see them (W1, W3, W4 and W7).

All bounds favour the server, as in checker.py: an end that may have been acknowledged counts if it
excuses the server.
"""

import collections

import history

ENDED = {"succeeded", "failed", "cancelled"}


class Flow:
    """All records about one workflow, by its name."""

    def __init__(self):
        self.created = []  # records
        self.calls = collections.defaultdict(list)  # op -> records
        self.claims = collections.defaultdict(list)  # ref -> [(record, job)]
        self.callbacks = collections.defaultdict(list)  # (generation, role) -> [(record, job)]
        self.members = {}  # ref -> as sent

    def was_asked(self, *ops):
        return any(record.outcome != "no" for op in ops for record in self.calls[f"flow_{op}"])


class Flows:
    def __init__(self, book):
        self.by_name = collections.defaultdict(Flow)
        self.acks = collections.defaultdict(list)  # job id -> [(record, item, its result)]
        self.final = {flow["name"]: flow for flow in book.final.get("workflows", ())}
        self.unanswered = any(r.op == "flow_claim" and r.outcome == "maybe" for r in book.flow_records)
        for record in book.flow_records:
            self.take(record)

    def take(self, record):
        if record.op == "flow_claim":
            for job in (record.reply or {}).get("jobs", ()):
                workflow, flow = job["workflow"], self.by_name[job["workflow"]["name"]]
                if workflow["role"] == "member":
                    flow.claims[workflow["ref"]].append((record, job))
                else:
                    flow.callbacks[workflow["generation"], job["type"]].append((record, job))
        elif record.op == "flow_ack":
            results = (record.reply or {}).get("items") or [{}] * len(record.args["items"])
            for item, result in zip(record.args["items"], results):
                self.acks[item["id"]].append((record, item, result))
        else:
            flow = self.by_name[record.args["name"]]
            (flow.created if record.op == "flow_create" else flow.calls[record.op]).append(record)
            for member in (record.args["body"] or {}).get("members", ()):
                flow.members.setdefault(member["ref"], member)

    def may_have_ended(self, job_ids, outcome, by):
        """Whether a job may have been acknowledged so before an instant."""
        return any(
            item["outcome"] == outcome and outcome_of(record, result) != "no" and record.start < by
            for job_id in job_ids
            for record, item, result in self.acks[job_id]
        )


def outcome_of(record, result):
    return history.item_outcome(record, result)


def check(book):
    flows = Flows(book)
    for name, flow in flows.by_name.items():
        yield from is_there(flows, name, flow)
        for one in (released_when_met, runs_once, ends_as_its_members, calls_back, same_parents):
            for text, kind in one(flows, name, flow):
                yield None, f"workflow {name}: {text}", kind
    for name in flows.final:
        if name not in flows.by_name or not any(r.outcome != "no" for r in flows.by_name[name].created):
            yield None, f"workflow {name}: nobody created it, or all who did were refused", "invented"


def is_there(flows, name, flow):
    """W8: what was accepted is there; W6: with the members of accepted calls, each once."""
    accepted = any(record.outcome == "ok" for record in flow.created)
    if accepted and name not in flows.final:
        yield None, f"workflow {name}: acknowledged, and not in the final list", "lost"
    if name not in flows.final or not accepted:
        return
    refs = [member["ref"] for member in flows.final[name]["list"]]
    if len(refs) != len(set(refs)):
        yield None, f"workflow {name}: a member is there twice: {sorted(refs)}", "duplicated"
    sure = [record for record in flow.created + flow.calls["flow_members"] if record.outcome == "ok"]
    wanted = {member["ref"] for record in sure for member in record.args["body"]["members"]}
    if missing := wanted - set(refs):
        yield None, f"workflow {name}: its members {sorted(missing)} are gone", "lost"


def released_when_met(flows, _name, flow):
    """W1: a member starts only when its needs are met."""
    by_calls = flow.was_asked("cancel") or stops(flow)
    for ref, claims in list(flow.claims.items()):
        needs = flow.members.get(ref, {}).get("needs", ())
        if not needs:
            continue
        any_of = flow.members[ref].get("needs_any", False)
        for record, job in claims:
            met = [may_be_met(flows, flow, need, record.end, by_calls) for need in needs]
            if not (any(met) if any_of else all(met)):
                yield f"{ref} ({job['id']}) was handed out, and its needs were not met", "early"


def stops(flow):
    return any(record.args["body"].get("on_member_failed") == "stop" for record in flow.created)


def may_be_met(flows, flow, need, by, by_calls):
    ids = {job["id"] for _, job in flow.claims[need["ref"]]}
    succeeded = flows.may_have_ended(ids, "succeeded", by)
    dead = flows.may_have_ended(ids, "dead", by)
    if need["on"] == "succeeded":
        return succeeded
    if need["on"] == "failed":
        return dead or by_calls
    # One that was skipped was never handed out in this generation.
    return succeeded or dead or by_calls or not ids or bool(flow.members.get(need["ref"], {}).get("needs"))


def runs_once(flows, _name, flow):
    """W1: once a generation, and never again after a success that was acknowledged."""
    for ref, claims in flow.claims.items():
        ids = {job["id"] for _, job in claims}
        if len(ids) > 1:
            yield f"{ref} is {len(ids)} jobs: {sorted(ids)}", "duplicated"
        for job_id in ids:
            for record, item, result in flows.acks[job_id]:
                ends = item["outcome"] == "succeeded" or not flow.was_asked("retry")
                if outcome_of(record, result) != "ok" or not ends:
                    continue
                if any(claim.start > record.end for claim, job in claims if job["id"] == job_id):
                    yield f"{ref} ({job_id}) was handed out after its end was acknowledged", "duplicated"


def ends_as_its_members(flows, name, flow):
    """W3: once the faults are over it has ended, and its state follows from its members'."""
    final = flows.final.get(name)
    if final is None:
        return
    if final["state"] not in ENDED:
        yield f"still {final['state']} after the faults stopped", "stuck"
        return
    states = {member["ref"]: member["state"] for member in final["list"]}
    for ref, state in states.items():
        if state in ("blocked", "active"):
            yield f"it has ended, and {ref} is {state}", "stuck"
        yield from ends_as_acked(flows, flow, ref, state)
    counts = collections.Counter(states.values())
    if any(final["counts"][state] != counts[state] for state in final["counts"]):
        yield f"it counts {final['counts']}, and its members are {dict(counts)}", "miscounted"
    policy = final["on_member_failed"]
    failed = [ref for ref, state in states.items() if state == "failed" and policy != "ignore"]
    uncaught = [ref for ref in failed if not caught(flow, states, ref)]
    allowed = {"failed" if uncaught else "succeeded"}
    if flow.was_asked("cancel"):
        allowed.add("cancelled")
    if policy == "stop" and counts["failed"]:
        allowed.add("failed")
    if final["state"] not in allowed:
        yield f"it is {final['state']}, with {dict(counts)}", "lost"


def caught(flow, states, failed):
    """Whether a member that needs the failure ran."""
    for ref, member in flow.members.items():
        wanted = {"ref": failed, "on": "failed"}
        if wanted in member.get("needs", ()) and states.get(ref) in ("succeeded", "failed"):
            return True
    return False


def ends_as_acked(flows, flow, ref, state):
    for _, job in flow.claims[ref]:
        for record, item, result in flows.acks[job["id"]]:
            if outcome_of(record, result) == "ok" and item["outcome"] == "succeeded" and state != "succeeded":
                yield f"the success of {ref} was acknowledged, and it is {state}", "lost"
                return


def calls_back(flows, name, flow):
    """W4: a callback that applies is submitted once a generation, another never."""
    for (generation, role), claims in flow.callbacks.items():
        ids = {job["id"] for _, job in claims}
        if len(ids) > 1:
            yield f"{role} of generation {generation} is {len(ids)} jobs", "duplicated"
        for _, job in claims:
            state = job["workflow"]["state"]
            if state not in ENDED or role != "on_end" and (role == "on_success") != (state == "succeeded"):
                yield f"{role} of generation {generation} ran, and it was {state}", "invented"
    final = flows.final.get(name)
    created = next((record for record in flow.created if record.outcome != "no"), None)
    if final is None or created is None or final["state"] not in ENDED:
        return
    other = "on_success" if final["state"] == "succeeded" else "on_failure"
    due = {role for role in ("on_end", other) if role in created.args["body"]}
    if set(final["callbacks"]) != due:
        yield f"it is {final['state']} with the callbacks {sorted(final['callbacks'])}", "lost"
    for role in due:
        if not flow.callbacks[final["generation"], role] and not flows.unanswered:
            yield f"{role} of generation {final['generation']} was never handed out", "lost"


def same_parents(flows, _name, flow):
    """W7: each attempt of a round sees the same parents, with results that were reported."""
    for ref, claims in flow.claims.items():
        for rounds in by_round(claims).values():
            shown = [{of: (p["state"], p["id"]) for of, p in job["parents"].items()} for _, job in rounds]
            if any(one != shown[0] for one in shown):
                yield f"the attempts of {ref} saw other parents: {shown}", "lost"
        for _, job in claims:
            for of, parent in job["parents"].items():
                if parent["state"] != "succeeded" or parent.get("omitted"):
                    continue
                sent = [item.get("result") for _, item, _ in flows.acks[parent["id"]]]
                if parent.get("result") not in sent:
                    yield f"{ref} saw the result {parent.get('result')} of {of}, which nobody reported", "invented"


def by_round(claims):
    """A claim has the generation of its workflow; a retry that does not begin one is a round too,
    so that only the attempts between two first attempts are compared.
    """
    rounds, number = collections.defaultdict(list), 0
    for record, job in sorted(claims, key=lambda claim: claim[1]["token"]):
        if job["attempt"] == 1:
            number += 1
        rounds[job["workflow"]["generation"], number].append((record, job))
    return rounds
