"""src/millrace/_shapes.py of the Python SDK: answers, as records and typed dicts, and the job to submit; and _inputs.py:
what else is sent, as typed dicts.

Members have the API's names. Of a job to submit, durations lose their suffix `_ms`: they are seconds or a timedelta.
"""

import dataclasses
import keyword
import re
import textwrap

from . import text
from .schema import MARK

WIDTH = 100
# The answers whose members are attributes, with the names that they have here. models.py adds methods to some.
RECORDS = {"Job": "JobRecord", "SubmitResult": "BatchItemRecord", "LogLine": "LogLine", "Queue": "Queue",
           "Schedule": "Schedule", "Run": "ScheduleRun", "ClaimedJob": "ClaimedJobRecord", "Limit": "Limit",
           "Operation": "Operation", "BulkAnswer": "BulkAnswer", "Worker": "WorkerInfo", "Event": "Event",
           "Stats": "Stats", "Why": "Why", "Workflow": "WorkflowRecord", "Member": "MemberRecord",
           "MemberDetail": "MemberDetailRecord", "GraphLine": "GraphLine", "WorkflowWhy": "WorkflowWhy",
           "MembersAnswer": "MembersAnswer"}  # fmt: skip
# What is sent, beside a job.
INPUTS = ("QueueSettingsInput", "LimitInput", "ScheduleInput", "ScheduleSet", "PreviewRequest", "BackfillRequest",
          "BulkRequest", "WorkflowInput", "MembersInput", "WorkflowRetryInput")  # fmt: skip
NEW_JOB, JOB_INPUT = "BatchItem", "JobInput"
FIRST = ("type", "payload")

HEAD = '''\
# {mark}
"""The values that cross HTTP: answers, and the job to submit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict

from ._record import UNSET, Record, ToSubmit
from ._time import Duration, Instant

if TYPE_CHECKING:
    from typing_extensions import NotRequired
'''

HEAD_OF_INPUTS = '''\
# {mark}
"""What is sent, beside a job to submit: settings, specifications, requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

from ._shapes import (
{shapes}
)
from ._time import Instant

if TYPE_CHECKING:
    from typing_extensions import NotRequired
'''


def files(contract):
    return {
        "sdk/python/src/millrace/_shapes.py": _shapes(contract),
        "sdk/python/src/millrace/_inputs.py": _inputs(contract),
    }


def _shapes(contract):
    reached = contract.reached(RECORDS)
    variants = {name for shape in contract.shapes.values() for name in shape.variants}
    parts = [HEAD.format(mark=MARK)]
    for name, choice in contract.choices.items():
        if name in reached:
            # A job that retention has removed is a job here, too.
            values = choice.values + (("pruned",) if name == "JobState" else ())
            parts.append(
                "\n".join([*_listed(f"{name} = Literal[", values, ""), *_doc(contract.description(name), ""), ""])
            )
    names = [name for name in contract.shapes if name in reached and name not in variants]
    parts += [f"\n{_typed_dict(contract.merged(name))}" for name in names if name not in RECORDS]
    parts += [f"\n{_record(contract.shapes[name])}" for name in names if name in RECORDS]
    parts += [f"\n{_new_job(contract.shapes[NEW_JOB])}", f"\n{_options(contract.shapes[NEW_JOB])}"]
    return "\n".join(parts)


def _inputs(contract):
    present = contract.reached(RECORDS)
    reached = contract.reached([*INPUTS, NEW_JOB])
    variants = {name for shape in contract.shapes.values() for name in shape.variants}
    names = [name for name in contract.shapes if name in reached - present - variants - {NEW_JOB}]
    made = [_typed_dict(contract.merged(name), _sent_type) for name in names]
    job = dataclasses.replace(
        contract.shapes[NEW_JOB], name=JOB_INPUT, description="A job to submit, with the API's members."
    )
    body = "\n\n".join(["", *made, _typed_dict(job, _sent_type)])
    used = sorted(name for name in [*present, "NewJob"] if re.search(rf"\b{name}\b", body))
    return HEAD_OF_INPUTS.format(mark=MARK, shapes="\n".join(f"    {name}," for name in used)) + body


def _typed_dict(shape, type_of=None):
    type_of = type_of or _type
    if any(keyword.iskeyword(member.name) for member in shape.members):
        return _typed_dict_call(shape, type_of)
    return "\n".join([f"class {shape.name}(TypedDict):", *_body(shape, type_of, "NotRequired[{}]"), ""])


def _typed_dict_call(shape, type_of):
    """A typed dict with a member such as `from`, which no class can have."""
    lines = [f"{shape.name} = TypedDict(", f"    {_quoted(shape.name)},", "    {"]
    for member in shape.members:
        known = type_of(member.type)
        known = known if member.required else f"NotRequired[{known}]"
        lines.append(f"        {_quoted(member.name)}: {_quoted(known)},")
    return "\n".join([*lines, "    },", ")", *_doc(shape.description, ""), ""])


def _record(shape):
    # A member such as `from` is in the record's `raw` only; one that is a record itself is a property in models.py.
    kept = [member for member in shape.members if member.type.name not in RECORDS]
    members = tuple(member for member in kept if not keyword.iskeyword(member.name))
    shape = dataclasses.replace(shape, members=members)
    lines = [f"class {RECORDS[shape.name]}(Record):", *_body(shape, _type, "{} | None")]
    return "\n".join([*lines, "", "    __slots__ = ()", ""])


def _body(shape, type_of, optional):
    lines = _doc(shape.description, "    ")
    lines += [""] if lines else []
    for member in shape.members:
        known = type_of(member.type)
        is_record = optional == "{} | None"
        if not member.required and not (is_record and (member.nullable or known == "Any")):
            known = optional.format(known)
        lines += _annotated(f"    {member.name}: ", known)
        lines += _doc(member.description, "    ")
    return lines


def _annotated(before, known):
    if len(before + known) <= WIDTH:
        return [before + known]
    if known.startswith("NotRequired[Literal["):
        literal = _annotated(" " * 8, known[len("NotRequired[") : -1])
        return [f"{before}NotRequired[", literal[0], *(f"    {line}" for line in literal[1:-1]), " " * 8 + "]", "    ]"]
    head, values = known.split("[", 1)
    values, tail = values.rsplit("]", 1)
    lines = [f"{before}{head}[", *(f"        {value}," for value in values.split(", ")), "    ]"]
    if not tail:
        return lines
    return [
        f"{before}(",
        f"        {known.split('[')[0]}[",
        *(f"    {line}" for line in lines[1:]),
        f"        {tail.strip()}",
        "    )",
    ]


def _listed(head, values, indent):
    line = f"{indent}{head}{', '.join(_quoted(value) for value in values)}]"
    return (
        [line] if len(line) <= WIDTH else [head, *(f"{indent}    {_quoted(value)}," for value in values), f"{indent}]"]
    )


def _quoted(value):
    return f'"{value}"'


def _type(type):
    plain = {"text": "str", "time": "str", "integer": "int", "number": "float", "boolean": "bool", "json": "Any"}
    if type.kind in ("list", "map"):
        known = f"list[{_type(type.of)}]" if type.kind == "list" else f"dict[str, {_type(type.of)}]"
    elif type.kind == "choice" and not type.name:
        known = f"Literal[{', '.join(_quoted(value) for value in type.values)}]"
    else:
        known = type.name or plain[type.kind]
    return f"{known} | None" if type.nullable and known != "Any" else known


def _sent_type(type):
    """The type of a value that is sent: instants may be datetimes, and a job one that a typed job makes."""
    if type.name in ("ScheduleJobInput", "MemberJobInput"):
        return f"{type.name} | NewJob"
    if type.name == "NeedInput":
        return "str | NeedInput"  # a ref alone, or an object with it
    if type.kind == "list":
        known = f"list[{_sent_type(type.of)}]"
        return f"{known} | None" if type.nullable else known
    if type.kind == "time":
        return "Instant | None" if type.nullable else "Instant"
    return _type(type)


def _given(member):
    """The type of a member of a job to submit."""
    if member.is_duration:
        return "Duration"
    if member.type.kind == "map":
        return "Mapping[str, str]"
    return "Instant" if member.type.kind == "time" else _type(member.type)


def _name(member):
    return member.name.removesuffix("_ms") if member.is_duration else member.name


def _ordered(shape):
    return sorted(shape.members, key=lambda member: FIRST.index(member.name) if member.name in FIRST else len(FIRST))


def _new_job(shape):
    words = {member.name: _name(member) for member in shape.members}
    members = _ordered(shape)
    lines = ["@dataclasses.dataclass", "class NewJob(ToSubmit):"]
    lines += [
        '    """A job to be submitted. Only `type` is required. Durations are seconds or a timedelta.',
        "",
        "    Args:",
    ]
    for member in members:
        described = text.renamed(member.description or member.general, words)
        lines += textwrap.wrap(f"{_name(member)}: {described}", WIDTH, initial_indent=" " * 8,
                               subsequent_indent=" " * 12, break_long_words=False, break_on_hyphens=False)  # fmt: skip
    lines += ['    """', ""]
    for member in members:
        default = "" if member.required else " = UNSET" if member.type.kind == "json" else " = None"
        known = _given(member) if member.required or member.type.kind == "json" else f"{_given(member)} | None"
        lines.append(f"    {_name(member)}: {known}{default}")
    others = [member for member in members if member.name not in FIRST and not member.is_duration]
    plain = [member.name for member in others if member.type.kind != "time"]
    lines += ["", "    _plain: ClassVar = (", *(f"        {_quoted(name)}," for name in plain), "    )"]
    instants = ", ".join(_quoted(member.name) for member in others if member.type.kind == "time")
    lines += [f"    _instants: ClassVar = ({instants})", "    _durations: ClassVar = {"]
    lines += [f"        {_quoted(_name(member))}: {_quoted(member.name)}," for member in members if member.is_duration]
    return "\n".join([*lines, "    }", ""])


def _options(shape):
    lines = [
        "class JobOptions(TypedDict, total=False):",
        '    """Options of a submission. NewJob documents them."""',
        "",
    ]
    for member in _ordered(shape):
        if member.name not in FIRST:
            lines.append(f"    {_name(member)}: {_given(member)} | None")
    return "\n".join([*lines, ""])


def _doc(description, indent):
    """A docstring; nothing for no text."""
    if not description:
        return []
    if len(indent) + len(description) + 6 <= WIDTH:
        return [f'{indent}"""{description}"""']
    first, *rest = textwrap.wrap(f'"""{description}', WIDTH, initial_indent=indent, subsequent_indent=indent,
                                 break_long_words=False, break_on_hyphens=False)  # fmt: skip
    return [first, *rest, f'{indent}"""']
