"""The calls of workflows, as minimal as the rest of the reference."""

import time
import urllib.parse

from client import MUTANT, Problem, make_id

MOST_MEMBERS = 10_000  # of one call
FINAL = ("succeeded", "failed", "cancelled")


def path(*parts):
    """The path of the workflows, of one, or of a part of it. A ref is one part."""
    safe = "/" if MUTANT == "refs-unquoted" else ""
    return "/".join(["/v1/workflows", *(urllib.parse.quote(part, safe=safe) for part in parts)])


class Workflows:
    """Of one client."""

    def __init__(self, client):
        self.client = client

    def create(self, workflow):
        """(the workflow, whether it is new)."""
        workflow = harmed(workflow)
        key = workflow.pop("idempotency_key", None)
        if "id" not in workflow and key is None and MUTANT != "workflow-without-id":
            workflow["id"] = make_id(workflow.get("queue"))
        # Defaults hold for the members of their own call.
        usual = workflow.get("defaults", {}) if MUTANT != "parts-without-defaults" else {}
        rest = [{**m, "job": {**usual, **m["job"]}} for m in workflow["members"][MOST_MEMBERS:]]
        if not rest:
            made, got = self.post("/v1/workflows", workflow, key, MUTANT != "creation-tried-once")
            return made, got[":status"] == 201
        if key is not None:
            raise Problem("bad_argument", None, "a workflow of so many members takes no idempotency key")
        closes = not workflow.get("open") or MUTANT == "parts-closed-anyway"
        first = {**workflow, "members": workflow["members"][:MOST_MEMBERS], "open": True}
        made, got = self.post("/v1/workflows", first)
        if made["id"] == first["id"]:
            self.add_parts(made["id"], rest, closes and MUTANT != "parts-not-closed")
            made = self.get(made["id"])
        return made, got[":status"] == 201

    def add_parts(self, workflow, members, closes):
        for begin in range(0, len(members), MOST_MEMBERS):
            part = {"members": members[begin : begin + MOST_MEMBERS]}
            if closes and begin + MOST_MEMBERS >= len(members):
                part["close"] = True
            self.add(workflow, part, f"{workflow}.{MOST_MEMBERS + begin}")

    def add(self, workflow, request, key=None):
        request = dict(request)
        if MUTANT == "by-lost":
            request.pop("by", None)
        if key is None and any("ref" not in each for each in request["members"]):
            key = make_id("")
        if MUTANT == "additions-without-keys":
            key = None
        return self.post(path(workflow, "members"), request, key)[0]

    def post(self, path, body=None, key=None, safe=True):
        return self.client.call("POST", path, body, {"Idempotency-Key": key} if key else None, safe=safe)

    def get(self, workflow, include=None):
        return self.client.call("GET", path(workflow), query={"include": include and ",".join(include)})[0]

    def wait(self, workflow, timeout):
        began = time.monotonic()
        while True:
            left = began + timeout - time.monotonic()
            if left <= 0:
                raise Problem("wait_timeout", None, f"{workflow} has not ended")
            query = {"wait_ms": int(min(left, 60) * 1000), "until": "final", "include": "result"}
            if MUTANT == "waits-without-result":
                del query["include"]
            try:
                read = self.client.call("GET", path(workflow), query=query, timeout=left + 5)[0]
            except Problem as problem:
                late = time.monotonic() > began + 2 or MUTANT == "waits-for-no-workflow"
                if problem.code != "not_found" or late:
                    raise
                time.sleep(0.1)
                continue
            if read["state"] == "failed" and MUTANT == "failed-workflow-is-an-error":
                raise Problem("failed", None, f"{workflow} has failed")
            if read["state"] in FINAL:
                return read

    def cancel(self, workflow, reason):
        body = {"reason": reason} if reason and MUTANT != "workflow-reason-lost" else {}
        return self.or_done(
            lambda: self.post(path(workflow, "cancel"), body)[0],
            lambda read: read["state"] == "cancelled" and MUTANT != "cancel-workflow-409",
            lambda: self.get(workflow),
            lambda: self.get(workflow),
        )

    def skip(self, workflow, ref):
        return self.or_done(
            lambda: self.post(path(workflow, "members", ref, "skip"))[0],
            lambda read: read["state"] == "skipped" and MUTANT != "skip-409",
            lambda: self.member(workflow, ref),
            lambda: self.get(workflow),
        )

    @staticmethod
    def or_done(act, is_done, ask, answer):
        """What `act` gives, or `answer` if an earlier try did it and its answer was lost."""
        try:
            return act()
        except Problem as problem:
            if problem.code == "invalid_state" and problem.again and is_done(ask()):
                return answer()
            raise

    def close(self, workflow):
        return self.post(path(workflow, "close"), None, None, MUTANT != "close-tried-once")[0]

    def delete(self, workflow):
        return self.client.call("DELETE", path(workflow))[0]

    def retry(self, workflow, request):
        safe = MUTANT == "retry-workflow-again"
        return self.post(path(workflow, "retry"), {} if MUTANT == "retry-without-refs" else request, None, safe)[0]

    def member(self, workflow, ref, include=None, wait_ms=None):
        query = {"include": include and ",".join(include), "wait_ms": wait_ms}
        return self.client.call("GET", path(workflow, "members", ref), query=query)[0]

    def page(self, *parts, **query):
        """A page of a list, whose path has these parts."""
        query = {name: ",".join(value) if isinstance(value, list) else value for name, value in query.items()}
        return self.client.call("GET", path(*parts), query=query)[0]


def harmed(workflow):
    """A copy of a workflow, which a bug may have changed."""
    workflow = {**workflow, "members": workflow.get("members", [])}
    if MUTANT == "workflow-options-lost":
        workflow.pop("meta", None)
    for lost in ("needs", "needs_any"):
        if MUTANT == f"{lost}-lost":
            workflow["members"] = [{k: v for k, v in m.items() if k != lost} for m in workflow["members"]]
    return workflow


def every(page_at, limit):
    """The items of all pages."""
    items, cursor = [], None
    while True:
        page = page_at(limit, cursor)
        items += page["items"]
        cursor = page["next_cursor"]
        if not cursor or MUTANT == "one-page-of-workflows":
            return items
