"""The TypeScript SDK: the values that users see, the forms that cross HTTP, and what converts one into the other.

src/shapes.ts has the API's members in camel case; durations lose their suffix `_ms`. src/wire-shapes.ts has the API's
names, for the worker and the fake. src/members.ts says which members are durations, the application's JSON and maps.
"""

from . import interfaces, text
from .schema import MARK

# The shapes that users see, with the names that they have here.
PUBLIC = {
    "BatchItem": "NewJob",
    "Job": "Job",
    "LogLine": "LogLine",
    "QueueSettingsInput": "QueueSettings",
    "Queue": "Queue",
    "ScheduleInput": "ScheduleSpec",
    "Schedule": "Schedule",
    "ScheduleSet": "ScheduleSet",
    "ScheduleSetAnswer": "ScheduleSetAnswer",
    "PreviewRequest": "PreviewRequest",
    "PreviewAnswer": "Preview",
    "BackfillRequest": "BackfillRequest",
    "BackfillAnswer": "BackfillAnswer",
    "Run": "Run",
    "Event": "JobEvent",
    "LimitInput": "LimitSettings",
    "Limit": "Limit",
    "BulkRequest": "BulkRequest",
    "Operation": "Operation",
    "Worker": "WorkerInfo",
    "Stats": "Stats",
    "Why": "Why",
    "WorkflowInput": "WorkflowSpec",
    "MemberInput": "NewMember",
    "MembersAnswer": "MembersAnswer",
    "Workflow": "Workflow",
    "Member": "Member",
    "MemberDetail": "MemberDetail",
    "GraphLine": "GraphLine",
    "WorkflowWhy": "WorkflowWhy",
    "WorkflowOfClaim": "WorkflowOfClaim",
    "Parent": "Parent",
}
# Names within them that would be taken for others.
WITHIN = {
    "MemberJobInput": "MemberJobSpec",
    "NeedInput": "NeedSpec",
    "QueueSettings": "CurrentSettings",
    "RunningJob": "WorkerJob",
    "ScheduleJobInput": "ScheduleJobSpec",
    "Unique": "JobUnique",
    "UniqueInput": "Unique",
    "WorkflowUniqueInput": "WorkflowUniqueSpec",
}
SHORT = {"NeedInput": "string"}  # what a request may have in place of a shape
WIRE = {
    "BatchItem": "Submission",
    "Event": "JobEvent",
    "MembersInput": "MembersInput",
    "PollAnswer": "PollAnswer",
    "Problem": "Problem",
    "WorkflowInput": "WorkflowInput",
}
GENERICS = {"BatchItem": {"payload": "Payload"}, "Job": {"payload": "Payload", "result": "Result | null"}}


def files(contract):
    public, wire = contract.reached(PUBLIC), contract.reached(WIRE)
    return {
        "sdk/typescript/src/shapes.ts": _public(contract, public),
        "sdk/typescript/src/wire-shapes.ts": _wire(contract, wire),
        "sdk/typescript/src/members.ts": _members(contract, public, wire),
    }


def _public(contract, names):
    shapes = [shape for shape in contract.shapes.values() if shape.name in names]
    words = {member.name: _camel(member) for shape in shapes for member in shape.members}
    style = interfaces.Style(
        width=100, names={**PUBLIC, **WITHIN}, member=_camel, describe=_with_unit, words=words,
        given_time="TimeInput", short=SHORT, generics=GENERICS, required_first=True,
    )  # fmt: skip
    head = f'// {MARK}\nimport type {{ TimeInput }} from "./types.js";\n'
    return "\n".join([head, *_declarations(contract, style, names)])


def _wire(contract, names):
    generics = {"BatchItem": GENERICS["BatchItem"]}
    style = interfaces.Style(width=100, names=WIRE, short=SHORT, generics=generics, required_first=True)
    return "\n".join([f"// {MARK}\n", *_declarations(contract, style, names)])


def _declarations(contract, style, names):
    for name, choice in contract.choices.items():
        if name in names:
            yield interfaces.choice(style, name, choice.values, contract.description(name))
    for name, shape in contract.shapes.items():
        if name in names:
            yield interfaces.interface(contract, style, shape)


def _camel(member):
    return text.camel(_plain_name(member))


def _plain_name(member):
    return member.name.removesuffix("_ms")


def _with_unit(member):
    has_unit = not member.is_duration or " ms." in member.description or "millisecond" in member.description
    return member.description if has_unit else f"{member.description} In milliseconds.".strip()


def _members(contract, names, wire):
    opaque, verbatim, maps = {}, {}, {}
    shapes = [contract.shapes[name] for name in names if name in contract.shapes and not contract.shapes[name].variants]
    for member in sorted((member for shape in shapes for member in shape.members), key=lambda member: member.name):
        if member.type.kind == "json":
            opaque[member.name] = None
        elif member.type.kind == "map":
            (maps if member.type.of.kind == "shape" else verbatim)[member.name] = None
    received = [contract.shapes[name] for name in sorted(wire & contract.shapes.keys())]
    for member in (member for shape in received for member in shape.members):
        if member.type.kind == "map" and member.type.of.kind == "shape":
            maps[member.name] = None
    of_parents, elsewhere = _durations(contract, shapes)
    lines = [
        f"// {MARK}\n",
        "/** Members whose values are the application's own JSON. */",
        *_set("OPAQUE", opaque),
        "",
        "/** Members whose values are maps with the application's own names. */",
        *_set("VERBATIM", verbatim),
        "",
        "/** Maps whose names are the application's and whose values are the API's. */",
        *_set("MAPS", maps),
        "",
        "/** Durations, which have the suffix `_ms` in the API, by the member that holds their object. */",
        "export const DURATIONS: Readonly<Record<string, ReadonlySet<string>>> = {",
        *(f"  {parent}: new Set([{_quoted(found)}])," for parent, found in of_parents.items()),
        "};",
        "/** Durations of all other objects. */",
        *_set("DURATIONS_ELSEWHERE", elsewhere),
    ]
    return "\n".join(lines) + "\n"


def _durations(contract, shapes):
    """The durations by parent, where such an object shares a name with a member that is no duration; and all others."""
    durations = {shape.name: {_camel(member) for member in shape.members if member.is_duration} for shape in shapes}
    others = {shape.name: {_camel(member) for member in shape.members} - durations[shape.name] for shape in shapes}
    ambiguous = set().union(*durations.values()) & set().union(*others.values())
    of_parents, settled = {}, set()
    for parent, held in _held(contract, shapes).items():
        if any(ambiguous & (durations[name] | others[name]) for name in held):
            of_parents[parent] = sorted(set().union(*(durations[name] for name in held)))
            settled |= held - set(PUBLIC)
    open_shapes = set(durations) - settled
    elsewhere = set().union(*(durations[name] for name in open_shapes))
    for name in open_shapes:
        if mistaken := others[name] & elsewhere:
            raise ValueError(f"{name}: elsewhere these are durations: {mistaken}")
    return dict(sorted(of_parents.items())), sorted(elsewhere)


def _held(contract, shapes):
    """The names of the shapes that each member may hold."""
    held = {}
    for member in (member for shape in shapes for member in shape.members):
        if member.type.kind == "shape":
            names = {shape.name for shape in contract.alternatives(member.type.name)}
            held.setdefault(_camel(member), set()).update(names)
    return held


def _quoted(names):
    return ", ".join(f'"{name}"' for name in names)


def _set(name, values):
    line = f"export const {name}: ReadonlySet<string> = new Set([{_quoted(values)}]);"
    if len(line) <= 100:
        return [line]
    return [f"export const {name}: ReadonlySet<string> = new Set([", *(f'  "{value}",' for value in values), "]);"]
