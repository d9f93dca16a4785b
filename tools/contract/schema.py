"""Reads docs/reference/openapi.yaml into shapes that an emitter can walk through."""

import dataclasses
import re

import yaml

MARK = "Made by tools/types from docs/reference/openapi.yaml; do not edit."
TEN_YEARS_MS = 315_360_000_000
# What these are goes without saying.
UNSAID = {"Name", "NullableTime", "Time", "TimeInput", "Uuid"}
# Required in the types, although a schedule of workflows has no job: nearly all schedules have one, and a program that
# knows its own would have to look for it.
ALWAYS = {"Schedule": {"required": ["job"]}, "ScheduleInput": {"required": ["job"]}}


@dataclasses.dataclass(frozen=True)
class Type:
    """The type of a value. `kind` is text, choice, integer, number, boolean, time, json, list, map or shape.

    `name` is that of a shape, or of a choice that has one. `values` are those of a choice, `of` is the type of the
    items of a list or map.
    """

    kind: str
    name: str = ""
    values: tuple = ()
    of: "Type | None" = None
    nullable: bool = False
    wide: bool = False  # an integer beyond 32 bits
    given: bool = False  # a time as a request may have it, with any offset


@dataclasses.dataclass(frozen=True)
class Member:
    name: str
    type: Type
    required: bool
    description: str  # of one line, with the bounds; names of the API are in backquotes
    general: str  # what its type says, if that is a shape or a choice

    @property
    def nullable(self):
        return self.type.nullable

    @property
    def is_duration(self):
        """A number of milliseconds, a list of them, or null."""
        kind = self.type.of.kind if self.type.kind == "list" else self.type.kind
        return self.name.endswith("_ms") and kind in ("integer", "number")


@dataclasses.dataclass(frozen=True)
class Shape:
    """An object with members, its own before those of its parents; or one of several `variants`, by name."""

    name: str
    description: str
    members: tuple = ()
    parents: tuple = ()
    variants: tuple = ()

    @property
    def required_first(self):
        return sorted(self.members, key=lambda member: not member.required)


class Contract:
    """The shapes and choices of a description of the API, by name."""

    def __init__(self, text):
        description = yaml.safe_load(text)
        self._schemas = description["components"]["schemas"]
        self._components, self._paths = description["components"], description["paths"]
        self.choices = {name: self._type(node) for name, node in self._schemas.items() if _is_choice(node)}
        self.shapes = {name: self._shape(name) for name, node in self._schemas.items() if _is_shape(node)}

    def description(self, name):
        return _line(self._schemas[name].get("description", ""))

    def answers(self):
        """The names of all shapes and choices that an answer may hold, with the parents of such shapes."""
        found = set()
        for item in self._paths.values():
            for operation in item.values():
                if isinstance(operation, dict):
                    self._walk(operation.get("responses", {}), found, parents=True)
        return found

    def reached(self, names):
        """The names of the shapes and choices that these shapes hold, themselves included; not those of parents."""
        found = set()
        self._walk([{"$ref": f"#/components/schemas/{name}"} for name in names], found, parents=False)
        return found

    def merged(self, name):
        """A shape; one with variants becomes a single shape, which has the members of all."""
        shape = self.shapes[name]
        if not shape.variants:
            return shape
        variants, members = [self.shapes[each] for each in shape.variants], {}
        for member in (member for variant in variants for member in variant.members):
            everywhere = all(any(each.name == member.name for each in variant.members) for variant in variants)
            former = members.get(member.name)
            if former and member.type.kind == "choice":
                values = (*former.type.values, *member.type.values)
                member = dataclasses.replace(former, type=dataclasses.replace(member.type, values=values))
            members[member.name] = dataclasses.replace(member, required=member.required and everywhere)
        return dataclasses.replace(shape, members=tuple(members.values()), variants=())

    def alternatives(self, name):
        """The shapes that a value of this shape may have."""
        return [self.shapes[each] for each in self.shapes[name].variants] or [self.shapes[name]]

    def _walk(self, node, found, parents):
        if isinstance(node, dict) and "$ref" in node:
            kind, name = node["$ref"].split("/")[-2:]
            if kind != "schemas" or name not in found:
                found |= {name} if name in self.shapes or name in self.choices else set()
                self._walk(self._components[kind][name], found, parents)
        if isinstance(node, dict) and not parents:
            inherited = [_target(part) for part in node.get("allOf", ()) if "$ref" in part]
            self._walk([self._schemas[name] for name in inherited], found, parents)
            node = {**node, "allOf": [part for part in node.get("allOf", ()) if "$ref" not in part]}
        for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            self._walk(part, found, parents)

    # From JSON Schema.

    def _shape(self, shape):
        node = self._schemas[shape]
        parents = tuple(_target(part) for part in node.get("allOf", ()) if "$ref" in part)
        variants = tuple(_target(part) for part in node.get("anyOf", ()))
        members = {}
        parts = [part for part in (node, *node.get("allOf", ())) if "$ref" not in part]
        for name, schema in ((name, schema) for part in parts for name, schema in part.get("properties", {}).items()):
            members[name] = Member(name, self._type(schema), False, self._describe(name, schema), self._general(schema))
        for member in (member for parent in parents for member in self._shape(parent).members):
            members.setdefault(member.name, member)
        for name in (name for part in (*parts, ALWAYS.get(shape, {})) for name in part.get("required", ())):
            members[name] = dataclasses.replace(members[name], required=True)
        return Shape(shape, self.description(shape), tuple(members.values()), parents, variants)

    def _type(self, node):
        if "$ref" in node:
            name, target = _target(node), self._schemas[_target(node)]
            if _is_shape(target):
                return Type("shape", name, nullable=_may_be_null(target))
            found = self._type(target)
            return dataclasses.replace(found, name=name) if found.kind == "choice" else found
        for alternatives in ("oneOf", "anyOf", "allOf"):
            if alternatives in node:
                parts = [part for part in node[alternatives] if part.get("type") != "null"]
                if len(parts) != 1:
                    raise ValueError(f"no such alternatives are known: {node}")
                found = self._type(parts[0])
                return dataclasses.replace(found, nullable=found.nullable or len(parts) < len(node[alternatives]))
        return dataclasses.replace(self._plain(node), nullable=_may_be_null(node))

    def _plain(self, node):
        kinds = [kind for kind in _kinds(node) if kind != "null"]
        kind = kinds[0] if kinds else "json"
        if kind == "array":
            return Type("list", of=self._type(node["items"]))
        if kind == "object":
            values = node["additionalProperties"]
            return Type("map", of=self._type(values) if isinstance(values, dict) else Type("json"))
        if "enum" in node:
            return Type("choice", values=tuple(value for value in node["enum"] if value is not None))
        if node.get("format") == "date-time":
            return Type("time", given=True)
        if kind == "string":
            return Type("time" if "[0-9]{2}T[0-9]" in node.get("pattern", "") else "text")
        return Type(kind, wide=node.get("format") == "int64")

    # Words.

    def _describe(self, member, node):
        """What a member is for, with its bounds. A description that only tells a default adds to its type's."""
        own, is_plain, is_unsaid = _line(node.get("description", "")), True, False
        while "$ref" in node:
            name, node = _target(node), self._schemas[_target(node)]
            is_unsaid = is_unsaid or name in UNSAID
            is_plain = is_plain and not is_unsaid and not _is_shape(node) and not _is_choice(node)
            general = _line(node.get("description", ""))
            if own.startswith("Default") and general not in own:
                own = f"{general} {own}"
            elif is_plain and not own:
                own = general
        return " ".join(filter(None, (own, "" if is_unsaid else _bounds(member, node, own) if own or is_plain else "")))

    def _general(self, node):
        type = self._type(node)
        return self.description(type.name) if type.name else ""


def _target(node):
    return node["$ref"].split("/")[-1]


def _kinds(node):
    kinds = node.get("type", [])
    return kinds if isinstance(kinds, list) else [kinds]


def _may_be_null(node):
    return "null" in _kinds(node)


def _is_choice(node):
    return "enum" in node


def _is_shape(node):
    return "object" in _kinds(node) and ("properties" in node or "allOf" in node) or (
        "anyOf" in node and all("$ref" in part for part in node["anyOf"])
    )  # fmt: skip


def _line(text):
    return " ".join(text.split())


def _bounds(member, node, told):
    """A sentence with the bounds of a value, unless `told` names them."""
    least, most = node.get("minimum"), node.get("maximum")
    unit = " ms" if member.endswith("_ms") else ""
    number = "integer" in _kinds(node) or "number" in _kinds(node)
    if most is None and "maxLength" in node:
        least, most, unit = node.get("minLength"), node["maxLength"], " characters"
    elif most is None and "maxItems" in node:
        least, most, unit = node.get("minItems"), node["maxItems"], " entries"
    if most is None or f"{most:,}" in told or re.search(rf"\b{most}\b", told) or "10 years" in told:
        return ""
    if most == TEN_YEARS_MS:
        return "At most 10 years."
    return f"{least:,} to {most:,}{unit}." if least is not None and (number or least) else f"At most {most:,}{unit}."
