"""Checks replies against the server's own OpenAPI description.

This is a small validator for the part of JSON Schema that docs/reference/openapi.yaml uses. It is
stricter than the standard in one point: a member that the description does not name is a fault, so
that everything is documented.
"""

import json
import re


class ContractError(AssertionError):
    """A reply that the description does not allow."""


class Contract:
    def __init__(self, description):
        self.description = description
        self.sent = None  # a set takes the members of replies, as SCHEMA.MEMBER
        self.routes = []  # (pattern, template, path item), fixed paths before those with parameters
        for template, item in sorted(description["paths"].items(), key=lambda entry: "{" in entry[0]):
            pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
            self.routes.append((re.compile(pattern + r"\Z"), template, item))

    def operations(self):
        """Yields (method, template, operation) for every described operation."""
        for _, template, item in self.routes:
            for method in ("get", "post", "put", "patch", "delete"):
                if method in item:
                    yield method.upper(), template, item[method]

    def route(self, path):
        """The path item that matches a request's path, or None."""
        for pattern, _, item in self.routes:
            if pattern.match(path):
                return item
        return None

    def check_reply(self, method, target, status, headers, body):
        """Raises ContractError unless the description allows the reply."""
        path = target.split("?", 1)[0]
        where = f"{method} {path} -> {status}"
        response = self._response(method, path, status)
        if response is None:
            raise ContractError(f"{where}: no such status is described")
        if not headers.get("x-request-id"):
            raise ContractError(f"{where}: no X-Request-Id")
        if status in (429, 503) and not headers.get("retry-after", "").isdigit():
            raise ContractError(f"{where}: no Retry-After")
        if status == 405 and not headers.get("allow"):
            raise ContractError(f"{where}: no Allow")
        self._check_headers(where, response, headers)
        if method == "HEAD":
            return
        self._check_body(where, response, status, headers, body)

    def _response(self, method, path, status):
        item = self.route(path)
        operation = item and item.get(method.lower())
        if not operation:
            # A path or method without a description must be refused.
            return {"content": self._problem_content()} if status >= 400 or method == "HEAD" else None
        responses = operation["responses"]
        if str(status) in responses:
            return self.resolve(responses[str(status)])
        return self.resolve(responses["default"]) if status >= 400 else None

    def _problem_content(self):
        return {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}

    def _check_headers(self, where, response, headers):
        for name, header in response.get("headers", {}).items():
            value = headers.get(name.lower())
            schema = self.resolve(header)["schema"]
            if value is not None and schema["type"] == "string":
                self.check(schema, value, f"{where}: header {name}")
            if value is None and name == "ETag" and '"PrunedJob"' not in json.dumps(response):
                if "anyOf" not in json.dumps(response.get("content", {})):
                    raise ContractError(f"{where}: no {name}")

    def _check_body(self, where, response, status, headers, body):
        content = response.get("content")
        if not content:
            if body:
                raise ContractError(f"{where}: a body where none is described: {body[:200]!r}")
            return
        media_type = headers.get("content-type", "").split(";")[0].strip()
        if media_type not in content:
            raise ContractError(f"{where}: content type {media_type!r} is not described")
        if not media_type.endswith("json"):
            return
        try:
            value = json.loads(body)
        except ValueError as error:
            raise ContractError(f"{where}: the body is no JSON ({error}): {body[:200]!r}") from error
        self.check(content[media_type]["schema"], value, where)
        if media_type == "application/problem+json":
            self._check_problem(where, status, headers, value)

    def _check_problem(self, where, status, headers, problem):
        if problem["status"] != status:
            raise ContractError(f"{where}: the problem says {problem['status']}")
        if problem["request_id"] != headers["x-request-id"]:
            raise ContractError(f"{where}: request_id {problem['request_id']!r} is not the header's")
        if problem["code"] == "validation_failed" and not problem.get("errors"):
            raise ContractError(f"{where}: validation_failed without errors")

    # The validator.

    def resolve(self, node):
        """Follows a reference, and joins the parts of an `allOf`. Members beside `$ref` (descriptions,
        defaults) need no check."""
        while "$ref" in node:
            target = self.description
            for step in node["$ref"].removeprefix("#/").split("/"):
                target = target[step]
            node = target
        return self._joined(node) if "allOf" in node else node

    def _joined(self, node):
        """A schema with the members of its parts and its own, as if they had been written in one place."""
        parts = [self.resolve(part) for part in node["allOf"]]
        own = {name: value for name, value in node.items() if name not in ("allOf", "unevaluatedProperties")}
        joined = {}
        for part in (*parts, own):
            joined.update(part)
        if any("properties" in part for part in parts):
            joined["properties"] = {
                name: member for part in (*parts, own) for name, member in part.get("properties", {}).items()
            }
            joined["required"] = [name for part in (*parts, own) for name in part.get("required", ())]
        return joined

    def check(self, schema, value, where="$"):
        """Raises ContractError at the first member of `value` that does not fit `schema`."""
        name, schema = schema.get("$ref", "").split("/")[-1], self.resolve(schema)
        for alternatives in ("anyOf", "oneOf"):
            if alternatives in schema:
                self._check_any(schema[alternatives], value, where)
        self._check_type(schema, value, where)
        if "enum" in schema and value not in schema["enum"]:
            raise ContractError(f"{where}: {value!r} is none of {schema['enum']}")
        if isinstance(value, bool) or value is None:
            return
        if isinstance(value, (int, float)):
            self._check_number(schema, value, where)
        elif isinstance(value, str):
            self._check_string(schema, value, where)
        elif isinstance(value, list):
            self._check_list(schema, value, where)
        elif isinstance(value, dict):
            self._check_object(name, schema, value, where)

    def _check_any(self, schemas, value, where):
        faults = []
        for schema in schemas:
            sent = self.sent and set(self.sent)
            try:
                self.check(schema, value, where)
                return
            except ContractError as error:
                faults.append(str(error))
                self.sent = sent
        raise ContractError(f"{where}: fits none of {len(schemas)} shapes: " + "; ".join(faults))

    def _check_type(self, schema, value, where):
        if "type" not in schema:
            return
        allowed = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(_is_a(kind, value) for kind in allowed):
            raise ContractError(f"{where}: {value!r} is no {' or '.join(allowed)}")

    def _check_number(self, schema, value, where):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            raise ContractError(f"{where}: {value} is out of bounds")

    def _check_string(self, schema, value, where):
        if len(value) < schema.get("minLength", 0) or len(value) > schema.get("maxLength", len(value)):
            raise ContractError(f"{where}: {value!r} has a length out of bounds")
        if "pattern" in schema and not re.search(schema["pattern"], value):
            raise ContractError(f"{where}: {value!r} does not look like {schema['pattern']}")

    def _check_list(self, schema, value, where):
        if len(value) < schema.get("minItems", 0) or len(value) > schema.get("maxItems", len(value)):
            raise ContractError(f"{where}: {len(value)} items are out of bounds")
        if "items" in schema:
            for index, item in enumerate(value):
                self.check(schema["items"], item, f"{where}/{index}")

    def _check_object(self, name, schema, value, where):
        for required in schema.get("required", []):
            if required not in value:
                raise ContractError(f"{where}: member {required!r} is missing")
        if "type" not in schema:
            return  # opaque
        properties = schema.get("properties", {})
        others = schema.get("additionalProperties", False)
        for key, member in value.items():
            if key in properties:
                self.check(properties[key], member, f"{where}/{key}")
            elif others is False:
                raise ContractError(f"{where}: member {key!r} is not described")
            elif isinstance(others, dict):
                self.check(others, member, f"{where}/{key}")
        if self.sent is not None and properties:
            self.sent |= {f"{name}.{key}" for key in value}


def _is_a(kind, value):
    if kind == "null":
        return value is None
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, {"string": str, "array": list, "object": dict}[kind])
