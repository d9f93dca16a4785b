"""Clients of workflows, in queues of their own: they create, grow, cancel and retry workflows, and
work on their jobs. Their requests are records whose operations begin with "flow"; flows_checker.py
reads them.
"""

import actor
import history

QUEUES = ("flow-a", "flow-b", "flow-c")
CLAIM_WAIT_MS = 200
LEASE_MS = 1500
KNOWN = 20  # workflows that a client remembers
CALLBACKS = ("on_success", "on_failure", "on_end")


class Weaver(actor.Actor):
    """Creates workflows and operates them, and works on the jobs of all. What got no answer is sent
    again.
    """

    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        self.serial = 0
        self.known = []  # [id, name, the number of members sent]
        self.open = []  # (op, path, args, body, headers) to repeat

    def act(self):
        draw = self.dice.random()
        if self.open and draw < 0.3:
            self.send(*self.open.pop(self.dice.randrange(len(self.open))))
        elif draw < 0.1:
            self.create()
        elif draw < 0.16 and self.known:
            self.operate(*self.dice.choice(self.known))
        else:
            self.work()
        self.rest(0, 0.01)

    def send(self, op, path, args, body, headers=None):
        record = self.call(op, "POST", path, args, body, headers, view=seen)
        if record is None or record.outcome == "maybe":
            self.open.append((op, path, args, body, headers))
        elif record.outcome == "ok" and op == "flow_create":
            self.known = [*self.known, (record.reply["id"], args["name"], args["open"])][-KNOWN:]

    # Owners.

    def create(self):
        self.serial += 1
        name = f"{self.name}:{self.serial}"
        body = {
            "name": name,
            "queue": self.dice.choice(QUEUES),
            "on_member_failed": self.dice.choice(("continue", "continue", "stop", "ignore")),
            "open": self.dice.random() < 0.3,
            "members": self.members(0, self.dice.randint(1, 8)),
        }
        for callback in CALLBACKS:
            if self.dice.random() < 0.5:
                body[callback] = {"queue": self.dice.choice(QUEUES), "type": callback}
        if self.dice.random() < 0.2:
            body["max_active"] = self.dice.randint(1, 3)
        headers = {"Idempotency-Key": name}
        self.send("flow_create", "/v1/workflows", {"name": name, "open": body["open"], "body": body}, body, headers)

    def members(self, first, count):
        members = []
        for number in range(first, first + count):
            before = [f"m{other}" for other in range(max(0, number - 4), number)]
            refs = self.dice.sample(before, min(len(before), self.dice.choice((0, 1, 1, 2, 3))))
            ons = [self.dice.choice(("succeeded", "succeeded", "succeeded", "failed", "ended")) for _ in refs]
            member = {
                "ref": f"m{number}",
                "job": {"queue": self.dice.choice(QUEUES), "type": "flow", "max_attempts": 20},
            }
            if refs:
                member["needs"] = [{"ref": ref, "on": on} for ref, on in zip(refs, ons)]
                member["needs_any"] = self.dice.random() < 0.2
            members.append(member)
        return members

    def operate(self, flow, name, is_open):
        way = self.dice.choice(("grow", "close", "cancel", "retry", "retry"))
        body = None
        if way == "grow" and is_open:
            # The refs make a repetition harmless; needs name members of the first call.
            body = {"members": self.members(10, 3)[:1], "close": self.dice.random() < 0.5}
            body["members"][0].pop("needs", None)
            body["members"][0].pop("needs_any", None)
            way = "members"
        elif way == "cancel" and self.dice.random() < 0.5:
            body = {"reason": "tired"}
        elif way in ("grow", "cancel"):
            return
        self.send(f"flow_{way}", f"/v1/workflows/{flow}/{way}", {"id": flow, "name": name, "body": body}, body)

    # Workers.

    def work(self):
        jobs = self.claim()
        self.rest(0, 0.01)
        if not jobs or self.dice.random() < 0.03:
            return
        items = [self.verdict(job) for job in jobs]
        for _ in range(3):
            if self.ack(items) != "maybe":
                return

    def claim(self, limit=None):
        queues = list(QUEUES)
        self.dice.shuffle(queues)
        body = {
            "queues": queues,
            "limit": limit or self.dice.choice((1, 5, 30)),
            "wait_ms": CLAIM_WAIT_MS,
            "lease_ms": LEASE_MS,
            "worker": {"id": self.name},
        }
        record = self.call("flow_claim", "POST", "/v1/claim", {"worker": self.name}, body, view=granted)
        return record.reply["jobs"] if record and record.outcome == "ok" else []

    def verdict(self, job):
        dead = self.dice.random() < 0.12
        item = {"id": job["id"], "token": job["token"], "outcome": "dead" if dead else "succeeded"}
        if dead:
            item["error"] = {"type": "Oops", "message": "no luck"}
        else:
            item["result"] = history.result_of(job["id"], job["token"])
        return item

    def ack(self, items):
        record = self.call("flow_ack", "POST", "/v1/ack", {"items": items}, {"items": items}, view=actor.results)
        return record.outcome if record else "maybe"


class FlowDrainer(Weaver):
    """Finishes the jobs of workflows."""

    def act(self):
        self.work()

    def verdict(self, job):
        result = history.result_of(job["id"], job["token"])
        return {"id": job["id"], "token": job["token"], "outcome": "succeeded", "result": result}


def seen(reply, _status):
    return {name: reply[name] for name in ("id", "state", "generation") if name in reply}


def granted(reply, _status):
    """The part of a claim's answer that a record keeps."""
    return {
        "jobs": [
            {
                "id": job["id"],
                "token": job["lease"]["token"],
                "attempt": job["attempt"],
                "type": job["type"],
                "workflow": job["workflow"],
                "parents": job.get("parents", {}),
            }
            for job in reply["jobs"]
        ]
    }


def listed(api, path):
    """All items of a list, page by page; None if the server has no such list."""
    items, cursor = [], ""
    while True:
        reply = api.get(path + cursor)
        if reply.status == 404:
            return None
        if reply.status != 200:
            raise RuntimeError(f"GET {path}: {reply}")
        items += reply.json["items"]
        if reply.json["next_cursor"] is None:
            return items
        cursor = f"&cursor={reply.json['next_cursor']}"


def unfinished(api):
    """The workflows that have not ended; those that are open are closed."""
    left = [flow for flow in listed(api, "/v1/workflows?limit=1000&fresh=true") or [] if flow["ended_at"] is None]
    for flow in left:
        if flow["open"]:
            api.post(f"/v1/workflows/{flow['id']}/close")
    return left


def final(api):
    """All workflows with their members, as the server shows them in the end."""
    flows = listed(api, "/v1/workflows?limit=1000&fresh=true") or []
    for flow in flows:
        flow["list"] = listed(api, f"/v1/workflows/{flow['id']}/members?limit=1000")
    return flows
