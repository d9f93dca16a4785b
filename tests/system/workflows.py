"""Methods for tests of workflows, in addition to the harness's."""

import urllib.parse

from harness import eventually

FINAL = {"succeeded", "failed", "cancelled"}


class WorkflowWords:
    """A mix-in for harness.MillraceCase."""

    def path(self, workflow, call=""):
        identifier = workflow if isinstance(workflow, str) else workflow["id"]
        return f"/v1/workflows/{identifier}{call}"

    def member(self, ref=None, *needs, type="work", **members):
        """A member of this test's queue; `needs` are refs or objects."""
        job = {"type": type, "queue": self.queue, **members.pop("job", {})}
        return {**({"ref": ref} if ref else {}), **({"needs": list(needs)} if needs else {}), "job": job, **members}

    def create(self, *listed, headers=None, api=None, **members):
        """The reply to a POST of a workflow of these members."""
        body = {"queue": self.queue, "members": list(listed), **members}
        return (api or self.api).post("/v1/workflows", body, headers=headers)

    def made(self, *listed, **members):
        reply = self.create(*listed, **members)
        self.assertEqual(reply.status, 201, reply)
        return reply.json

    def workflow(self, workflow, **query):
        reply = self.api.get(self.path(workflow), **query)
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def ended(self, workflow, wait_ms=30_000, **query):
        """The workflow after it has ended."""
        found = self.workflow(workflow, wait_ms=wait_ms, until="final", **query)
        self.assertIn(found["state"], FINAL, found)
        return found

    def members(self, workflow, **query):
        """All members, page by page."""
        found = []
        while True:
            reply = self.api.get(self.path(workflow, "/members"), **query)
            self.assertEqual(reply.status, 200, reply)
            found += reply.json["items"]
            if reply.json["next_cursor"] is None:
                return found
            query["cursor"] = reply.json["next_cursor"]

    def states(self, workflow):
        """The members' states by ref, or by number."""
        return {member["ref"] or member["number"]: member["state"] for member in self.members(workflow)}

    def await_states(self, workflow, **states):
        return eventually(lambda: self.states(workflow) == states, what=f"the states {states}")

    def one(self, workflow, ref, **query):
        reply = self.api.get(self.path(workflow, "/members/" + urllib.parse.quote(ref, safe="")), **query)
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def call(self, workflow, call, body=None, headers=None):
        reply = self.api.post(self.path(workflow, "/" + call), body, headers=headers)
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def add(self, workflow, *listed, headers=None, **members):
        body = {"members": list(listed), **members}
        return self.api.post(self.path(workflow, "/members"), body, headers=headers)

    def ack_with(self, job, api=None, **members):
        """The result of an ack of the job's success."""
        item = {"id": job["id"], "token": job["lease"]["token"], "outcome": "succeeded", **members}
        reply = (api or self.api).post("/v1/ack", {"items": [item]})
        self.assertEqual(reply.status, 200, reply)
        return reply.json["results"][0]

    def run_one(self, ref=None, **members):
        """Claims the next job, which must be that of member `ref`, and acks it. Returns the claim."""
        job = self.claim_within(queues=members.pop("queues", None))
        if ref is not None:
            self.assertEqual(job["workflow"]["ref"], ref)
        self.finish(job, **members)
        return job

    def fail_one(self, ref=None):
        """The same, but the job is dead."""
        return self.run_one(ref, outcome="dead", error={"type": "Oops", "message": "no luck"})
