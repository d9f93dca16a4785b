"""Compares the served OpenAPI description with the server. Every suite checks its replies against
it; this one walks through it, and makes sure that the checks can fail.
"""

import copy
import json
import unittest

import contract
import harness
from client import Reply

NOBODY = "0190a0a0-0000-7000-8000-000000000000"


class Description(harness.ServerCase):
    def path_of(self, template, identifier="w"):
        """A path of the template that names nothing that is there."""
        by_uuid = template.startswith(("/v1/jobs/", "/v1/workflows/"))
        path = template.replace("{id}", NOBODY if by_uuid else identifier)
        return path.replace("{name}", self.queue).replace("{ref}", "nobody")

    def test_every_route_answers(self):
        for method, template, operation in self.api.contract().operations():
            path = self.path_of(template)
            with self.subTest(route=f"{method} {template}"):
                reply = self.api.request(method, path, {} if "requestBody" in operation else None)
                self.assertNotEqual(reply.status, 405, reply)
                self.assertLess(reply.status, 500, reply)
                if reply.status == 404:  # what it names is not there, but the route is
                    self.assertTrue("{" in template, reply)
                    self.assertNotEqual(reply.json["detail"], self.api.get("/v1/no/such/path").json["detail"], reply)

    def test_every_path_refuses_other_methods(self):
        for _, template, item in self.api.contract().routes:
            path = self.path_of(template)
            described = {method.upper() for method in item if method in ("get", "post", "put", "patch", "delete")}
            for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - described:
                with self.subTest(method=method, path=template):
                    reply = self.api.request(method, path)
                    if reply.status == 404:  # the path falls under another one too
                        continue
                    self.assertEqual(reply.status, 405, reply)
                    allowed = {name.strip() for name in reply.headers["allow"].split(",")} - {
                        "HEAD",
                        "OPTIONS",
                    }
                    self.assertEqual(allowed, described)

    def test_required_members_of_requests_are_required(self):
        described = self.api.contract()
        for method, template, operation in described.operations():
            if not operation.get("requestBody", {}).get("required"):
                continue
            schema = described.resolve(operation["requestBody"]["content"]["application/json"]["schema"])
            path = self.path_of(template)
            with self.subTest(route=f"{method} {template}"):
                reply = self.api.request(method, path, {})
                if schema.get("required"):
                    self.assertEqual(reply.status, 422, reply)
                    self.assertTrue({"/" + name for name in schema["required"]} <= set(reply.places), reply)

    def test_no_request_takes_what_is_not_described(self):
        for method, template, operation in self.api.contract().operations():
            if "requestBody" not in operation:
                continue
            path = self.path_of(template)
            with self.subTest(route=f"{method} {template}"):
                reply = self.api.request(method, path, {"no_such_member": 1})
                self.assertEqual(reply.status, 422, reply)
                self.assertIn("/no_such_member", reply.places)

    def test_no_query_takes_what_is_not_described(self):
        for method, template, _ in self.api.contract().operations():
            if method != "GET":
                continue
            path = self.path_of(template, NOBODY)
            with self.subTest(route=template):
                self.assert_refused(
                    self.api.get(path, no_such_parameter=1),
                    422,
                    "validation_failed",
                    "no_such_parameter",
                )

    def test_no_default_is_refused(self):
        """Giving a parameter its default is the same as leaving it out."""
        described, checked = self.api.contract(), 0
        for method, template, operation in described.operations():
            path = self.path_of(template)
            body = {} if "requestBody" in operation else None
            without = self.api.request(method, path, body)
            for parameter in map(described.resolve, operation.get("parameters", [])):
                schema = described.resolve(parameter["schema"])
                if parameter["in"] != "query" or "default" not in schema:
                    continue
                checked += 1
                with self.subTest(route=f"{method} {template}", parameter=parameter["name"]):
                    value = json.dumps(schema["default"]).strip('"')
                    reply = self.api.request(method, path, body, query={parameter["name"]: value})
                    if without.status == 422:  # for other reasons
                        self.assertNotIn(parameter["name"], reply.places, reply)
                    else:
                        self.assertNotEqual(reply.status, 422, reply)
        self.assertGreater(checked, 10)

    def test_it_is_openapi_3_1_and_every_reference_holds(self):
        described = self.api.contract()
        self.assertRegex(described.description["openapi"], r"^3\.1\.")
        references = set()

        def walk(node):
            for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
                walk(value)
            if isinstance(node, dict) and isinstance(node.get("$ref"), str):
                references.add(node["$ref"])

        walk(described.description)
        self.assertGreater(len(references), 50)
        for reference in references:
            self.assertTrue(described.resolve({"$ref": reference}), reference)
        self.assertGreater(self.check_examples(described, described.description), 10)
        ids = [operation["operationId"] for _, _, operation in described.operations()]
        self.assertEqual(len(ids), len(set(ids)))

    def check_examples(self, described, node, where=""):
        """Checks every example against its schema. Returns the number of examples."""
        count = 0
        if isinstance(node, dict) and "schema" in node:
            examples = [one["value"] for one in node.get("examples", {}).values()]
            examples += [node["example"]] if "example" in node else []
            for example in examples:
                described.check(node["schema"], example, where)
            count += len(examples)
        parts = enumerate(node) if isinstance(node, list) else node.items() if isinstance(node, dict) else ()
        return count + sum(self.check_examples(described, part, f"{where}/{name}") for name, part in parts)


class Canaries(harness.ServerCase):
    """Replies with one fault each, which must be detected."""

    def check(self, reply, status=200, path="/v1/jobs/" + NOBODY, method="GET", **headers):
        sent = {**reply.headers, **headers}
        self.api.contract().check_reply(method, path, status, sent, reply.body)

    def assert_found_out(self, body, status=200, path="/v1/jobs/" + NOBODY, headers=None, **more):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        with self.assertRaises(contract.ContractError):
            self.check(Reply(status, headers or self.reply.headers, raw), status, path, **more)

    def test_a_wrong_job_is_found_out(self):
        job_id = self.submit()["id"]
        self.reply = self.api.get(f"/v1/jobs/{job_id}")
        job = self.reply.json
        self.check(self.reply)
        for member in job:
            if member not in ("traceparent", "tracestate"):
                self.assert_found_out({k: v for k, v in job.items() if k != member})
        for member, wrong in (
            ("state", "finished"),
            ("priority", 40000),
            ("priority", "0"),
            ("id", "x"),
            ("created_at", "2026-01-01T00:00:00Z"),
            ("attempt", 1.5),
            ("tags", [1]),
            ("meta", None),
            ("cancel_requested", 0),
            ("unique", {}),
            ("retry", {"strategy": "magic"}),
        ):
            self.assert_found_out({**job, member: wrong})
        self.assert_found_out({**job, "undocumented": 1})
        self.assert_found_out(b"{}{")
        self.assert_found_out(job, status=201)
        self.assert_found_out(job, headers={**self.reply.headers, "etag": "7"})
        self.assert_found_out(job, headers={k: v for k, v in self.reply.headers.items() if k != "etag"})
        self.assert_found_out(job, headers={k: v for k, v in self.reply.headers.items() if k != "x-request-id"})
        self.assert_found_out(job, headers={**self.reply.headers, "content-type": "text/html"})

    def test_a_wrong_problem_is_found_out(self):
        self.reply = self.api.post("/v1/jobs", {"type": "t", "priority": "x"})
        problem = self.reply.json
        self.check(self.reply, 422, "/v1/jobs", "POST")
        for change in (
            {"status": 400},
            {"code": "bad"},
            {"request_id": "another"},
            {"errors": []},
            {"errors": [{"pointer": "#/priority", "detail": "d"}]},
            {"errors": [{"pointer": "/x"}]},
        ):
            self.assert_found_out({**problem, **change}, 422, "/v1/jobs", method="POST")
        without = copy.deepcopy(problem)
        del without["errors"]
        self.assert_found_out(without, 422, "/v1/jobs", method="POST")
        self.assert_found_out(
            problem,
            422,
            "/v1/jobs",
            method="POST",
            headers={**self.reply.headers, "content-type": "application/json"},
        )

    def test_a_refusal_for_now_without_a_time_is_found_out(self):
        self.api.put(f"/v1/queues/{self.queue}", {"max_ready": 0})
        self.reply = self.api.post("/v1/jobs", {"type": "t", "queue": self.queue})
        self.assertEqual(self.reply.status, 429)
        headers = {k: v for k, v in self.reply.headers.items() if k != "retry-after"}
        self.assert_found_out(self.reply.body, 429, "/v1/jobs", method="POST", headers=headers)

    @unittest.expectedFailure
    def test_this_test_fails(self):
        """The canary: a suite whose server answers something undescribed fails, client and all."""
        described = self.api.contract()
        item = described.description["components"]["schemas"]["Meta"]
        item["required"].append("canary")
        self.addCleanup(item["required"].remove, "canary")
        self.api.get("/v1/meta")


if __name__ == "__main__":
    harness.main()
