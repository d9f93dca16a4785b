"""shapes.go of the Go SDK: the types that cross HTTP, and their JSON.

An instant is a time.Time, a duration a time.Duration; what is null or left out is their zero value, or a nil pointer
where the table NIL says so. Each type with a member whose form in JSON differs has a twin, wireX, whose members convert
themselves (wire.go). What a request leaves out when it is zero is written by the method append.
"""

import re

from . import text

WIDTH = 104
# The types, with their names and first sentences.
TYPES = {
    "Job": ("Job", "is a job as the server shows it."),
    "Progress": ("Progress", "is the progress that a running job last reported."),
    "JobError": ("JobError", "describes why an attempt failed."),
    "Attempt": ("Attempt", "is one attempt at a job."),
    "LogLine": ("LogLine", "is one line of a job's log."),
    "Event": ("Event", "is an entry of a job's history."),
    "ScheduleOfJob": ("ScheduleOfJob", "says which schedule made a job, and for which instant."),
    "WorkflowOfJob": ("WorkflowOfJob", "says which member of which workflow a job is."),
    "WorkflowOfClaim": ("WorkflowOfClaim", "says what a claimed job is to its workflow."),
    "MemberCounts": ("MemberCounts", "are the numbers of a workflow's members, by state."),
    "Parent": ("Parent", "is what a job of a workflow needs, with its result."),
    "ClaimedJob": ("ClaimedJob", "is a job as its worker receives it."),
    "Lease": ("ClaimedLease", "is a worker's hold on a job."),
    "BatchItem": ("NewJob", "is a job to be submitted. Only Type is required. The server checks the bounds, and "
                  "answers with ErrValidationFailed."),
    "RetryPolicy": ("RetryPolicy", "says how long a job waits after a failed attempt."),
    "UniqueInput": ("UniqueKey", "allows one job per key within a queue."),
    "QueueLimit": ("JobLimit", "is a limit that a job must pass to start."),
    "QueueSettingsInput": ("QueueSettings", "are the settings of a queue. PutQueue gives members that are nil or zero "
                           "their defaults; PatchQueue leaves them unchanged."),
    "RetentionInput": ("Retention", "is how long jobs are kept, by how they ended. Nil is the default, or in "
                       "PatchQueue the present value."),
    "Fair": ("Fair", "says how a queue is shared."),
    "Rate": ("Rate", "is a token bucket of starts."),
    "Breaker": ("Breaker", "stops the starts of jobs while too many attempts fail."),
    "Queue": ("QueueInfo", "is a queue as the server shows it."),
    "Counts": ("Counts", "are the numbers of a queue's jobs, by state."),
    "QueueRates": ("Rates", "are jobs a second, over the last minute."),
    "Blocking": ("QueueBlocker", "is a closed gate that holds ready jobs of a queue back."),
    "LimitInput": ("LimitSettings", "are the settings of a limit. PutLimit gives members that are nil or zero no bound; "
                   "PatchLimit leaves them unchanged."),
    "KeyBound": ("KeyBound", "is the bound of one key of a limit. Nil is the bound of every key."),
    "Limit": ("Limit", "is a limit as the server shows it, with its use."),
    "BulkRequest": ("Bulk", "asks for a change of many jobs, by IDs or by a Filter."),
    "BulkFilter": ("BulkFilter", "selects the jobs of a Bulk. All given conditions must hold; at least one is needed."),
    "Operation": ("Operation", "is a change of many jobs that goes on by itself."),
    "Worker": ("WorkerInfo", "is a worker as the server sees it."),
    "RunningJob": ("WorkerJob", "is a job that a worker holds."),
    "Why": ("Why", "says why a job is not running."),
    "WhyNote": ("WhyNote", "is a remark about a job that waits."),
    "Stats": ("Stats", "are numbers of events in columns of time."),
    "StatsGroup": ("StatsGroup", "are the columns of one group."),
    "Percentiles": ("Percentiles", "are percentiles by column, in milliseconds; 0 if nothing ran."),
    "Deploy": ("Deploy", "is a version of workers that was first seen."),
    "StatsGap": ("StatsGap", "is a period without data."),
    "ScheduleInput": ("ScheduleSpec", "is the specification of a schedule. Exactly one of Cron and Every is required."),
    "Schedule": ("Schedule", "is a schedule as the server shows it."),
    "Run": ("ScheduleRun", "is the result of one instant of a schedule."),
    "BackfillRequest": ("Backfill", "is a past range of instants for which jobs are to be submitted."),
    "BackfillAnswer": ("Backfilled", "is the answer to a backfill."),
    "PreviewRequest": ("Preview", "asks for the instants of an expression. Exactly one of Cron and Every is required."),
    "PreviewAnswer": ("Previewed", "is the answer to a preview."),
    "ScheduleSet": ("ScheduleSet", "is the complete set of an owner's schedules."),
    "ScheduleSetAnswer": ("Applied", "lists the names of the schedules of a set by the change made to each."),
    "WorkflowInput": ("NewWorkflow", "is a workflow to be created. Add appends members to it. The server checks the "
                      "bounds, and answers with ErrValidationFailed."),
    "MemberInput": ("NewMember", "is a member of a workflow to be created. Only Job is required."),
    "NeedInput": ("Need", "is the end of another member for which a member waits."),
    "MembersInput": ("NewMembers", "are members to be added to a workflow. Add appends one."),
    "MembersAnswer": ("AddedMembers", "says what became of members that were to be added."),
    "WorkflowUniqueInput": ("WorkflowUnique", "allows one workflow per key within a queue."),
    "Workflow": ("Workflow", "is a workflow as the server shows it."),
    "WorkflowCallbacks": ("WorkflowCallbacks", "names the jobs that the end of a workflow has submitted."),
    "Member": ("Member", "is a member of a workflow."),
    "MemberDetail": ("MemberDetail", "is a member of a workflow with its definition."),
    "GraphLine": ("GraphLine", "is a member with what it needs, for a picture of the workflow."),
    "WorkflowWhy": ("WorkflowWhy", "says why a workflow has not ended."),
    "WorkflowBlocking": ("WorkflowBlocker", "is something that a workflow waits for."),
}  # fmt: skip
# Types of the contract that are one here.
SAME = {"JobLimit": "QueueLimit", "Unique": "UniqueInput", "ScheduleJob": "BatchItem", "ScheduleJobInput": "BatchItem",
        "QueueSettings": "QueueSettingsInput", "MemberJobInput": "BatchItem", "MemberJob": "BatchItem",
        "Need": "NeedInput", "WorkflowUnique": "WorkflowUniqueInput"}  # fmt: skip
# Those whose requests leave out what is zero, and those that write null for no value at all.
REQUESTS = {"BatchItem", "UniqueInput", "QueueSettingsInput", "RetentionInput", "Fair", "Rate", "BackfillRequest",
            "PreviewRequest", "LimitInput", "KeyBound", "BulkRequest", "BulkFilter", "WorkflowInput", "MemberInput",
            "MembersInput"}  # fmt: skip
NONE = {"Fair": ("NoFair", "f.Off"), "Rate": ("NoRate", "r == (Rate{})"), "Breaker": ("NoBreaker", "b == (Breaker{})")}
SETTINGS = {"QueueSettingsInput", "RetentionInput", "LimitInput", "KeyBound"}  # in which null removes what was set
EMBEDDED = {"Schedule": "ScheduleInput", "MemberDetail": "Member"}
# Required members that a request may leave to its defaults.
DEFAULTED = {"BatchItem.type"}
# Those of which the server shows only the id and a state if retention has removed them, with that state in Go.
PRUNED = {"Job": "Pruned", "Workflow": "WorkflowPruned"}
# Members that JSON does not have: a comment and a declaration.
KEY = ("A repetition with the key, a header, returns what the first call did.", "IdempotencyKey string")
EXTRA = {"Fair": ("Off makes the queue ignore keys.", "Off bool"), "WorkflowInput": KEY, "MembersInput": KEY}
# Choices with a type of their own.
CHOICES = {"JobState", "WorkflowState", "MemberState"}
# Members that are pointers, since their zero value means something.
NIL = {"Progress.percent", "Progress.message", "Event.queue", "Event.job_id", "Event.job_type", "Event.attempt",
       "Event.worker", "RetryPolicy.jitter", "Queue.oldest_ready_age_ms", "ScheduleInput.paused", "Blocking.until",
       "Blocking.available_at", "Blocking.since", "Blocking.wanted_since", "BulkRequest.priority", "Operation.matched",
       "WhyNote.last_seen", "WorkflowOfJob.number", "WorkflowOfClaim.number",
       "WorkflowInput.keep_members", "WorkflowBlocking.shard"}  # fmt: skip
RAW = {"ScheduleInput.workflow", "Schedule.workflow"}  # as it was given
INT64 = {
    "version",
    "seq",
    "token",
    "Blocking",
    "Counts",
    "MemberCounts",
    "number",
    "WorkflowOfClaim",
}  # of members, or of all members of a type
# Members with a name or a form of their own.
PLAIN_MS = {"ClaimedJob.timeout_ms", "Lease.lease_ms"}
NAMES = {"ClaimedJob.timeout_ms": "TimeoutMs", "Lease.lease_ms": "LengthMs", "BulkFilter.state": "States",
         "BulkFilter.q": "Query", "StatsGroup.wait_ms": "Wait", "StatsGroup.run_ms": "Run"}  # fmt: skip
FORMS = {
    "RetryPolicy.base_ms": "wireDelay",
    "RetryPolicy.max_ms": "wireDelay",
    "BatchItem.max_attempts": "wireCount",
    "Workflow.max_active": "wireNumber",
}
INITIALISMS = {"Id": "ID", "Ids": "IDs", "Sdk": "SDK", "Dst": "DST"}

HEAD = """\
// Code generated by tools/types from docs/reference/openapi.yaml; DO NOT EDIT.

package millrace

import (
	"encoding/json"
	"time"
)
"""


def files(contract):
    return {"sdk/go/shapes.go": "\n".join([HEAD, *(_declared(contract, name) for name in TYPES)])}


def _declared(contract, name):
    shape = contract.merged(name)
    fields = [Field(shape, member) for member in shape.members]
    parts = [_struct(contract, shape, fields)]
    if any(field.wire for field in fields) or name in REQUESTS or name in EMBEDDED:
        parts.append(_wire_struct(shape, fields))
        parts.append(_decoder(contract, shape, fields))
        if name not in REQUESTS:
            parts.append(_encoder(shape, fields))
    if name in REQUESTS:
        parts.append(_appender(shape, fields))
    return "\n".join(parts)


class Field:
    """A member: its name and type in Go, and its type in the wire form, if that differs."""

    def __init__(self, shape, member):
        self.shape, self.member, self.key = shape.name, member, f"{shape.name}.{member.name}"
        embedded = EMBEDDED.get(shape.name)
        if embedded and self.key not in NIL:
            self.key = f"{embedded}.{member.name}" if f"{embedded}.{member.name}" in NIL else self.key
        self.name = NAMES.get(self.key) or _go_name(member)
        self.is_settable = shape.name in SETTINGS and member.nullable and member.type.kind != "boolean"
        self.type = self._type()
        self.wire = self._wire()

    def _type(self):
        type, pointer = self.member.type, "*" if self.key in NIL or self.is_settable else ""
        if self.key in RAW:
            return "json.RawMessage"
        if self.member.name == "max_crashes":
            return "int"  # JobsOwn is null
        if self.member.is_duration and self.key not in PLAIN_MS:
            return "[]time.Duration" if type.kind == "list" else f"{pointer}time.Duration"
        if type.kind == "shape" and self.shape in SETTINGS and SAME.get(type.name, type.name) in SETTINGS:
            return _named(type)
        if type.kind == "shape":
            is_value = self.member.required and not type.nullable
            return _named(type) if is_value else f"*{_named(type)}"
        if self.key == "BatchItem.payload":
            return "any"
        of = _plain(type, bool({self.member.name, self.shape, self.key} & INT64) or self.key in PLAIN_MS)
        return of if type.kind in ("list", "map") else pointer + of

    def _wire(self):
        """The type in the wire form; None if it is the same."""
        type = self.member.type
        if self.is_settable and type.kind != "list":
            return "json.RawMessage"
        if self.key in FORMS:
            return FORMS[self.key]
        if self.key == "BatchItem.payload":
            return "json.RawMessage"
        if self.member.is_duration and self.key not in PLAIN_MS:
            if type.kind == "list":
                return "[]wireDuration"
            exact = self.member.required and not self.member.nullable
            return "*wireDuration" if "*" in self.type else "wireDuration" if exact else "wireMs"
        if type.kind == "time":
            return "*wireTime" if "*" in self.type else "wireTime"
        if type.kind == "list" and type.of.kind == "time":
            return "[]wireTime"
        if type.kind in ("text", "choice") and type.nullable and "*" not in self.type:
            return "wireText"
        if type.kind == "list" and not self.member.required and self.shape not in REQUESTS:
            return f"*{self.type}"  # an empty list is not the same as none
        return None

    @property
    def tag(self):
        option = "" if self.member.required or (self.member.nullable and self.shape not in REQUESTS) else ",omitempty"
        return f'`json:"{self.member.name}{option}"`'

    @property
    def needs_filling(self):
        """A list or map that must not be null."""
        return (
            self.member.required and self.type.startswith(("[]", "map[")) and not self.wire and not self.member.nullable
        )

    def read(self, of="w"):
        """The expression that gives this field its value from the wire form."""
        value = f"{of}.{self.name}"
        if self.is_settable and self.wire:
            return self._read_settable(value)
        if self.type == "any":
            return f"payloadOf({value})"
        if not self.wire or (self.wire == "json.RawMessage" and self.type == "json.RawMessage"):
            return value
        if self.wire.startswith("*[]"):
            return f"listOf({value})"
        if self.wire.startswith("[]"):
            return f"converted[{self.type[2:]}]({value})" if self.wire == "[]wireDuration" else f"times({value})"
        if self.type == "int":
            return f"int({value})"
        return f"({self.type})({value})" if "*" in self.type else f"{self.type}({value})"

    def _read_settable(self, value):
        if self.member.name == "max_crashes":
            return f"readCount({value}, &err)"
        if self.type == "*time.Duration":
            return f"readSettableMs({value}, &err)"
        none = NONE[self.member.type.name][0] if self.member.type.kind == "shape" else "Unbounded"
        return f"readSettable({value}, {none}, &err)"

    def written(self, receiver):
        """The expression of the wire form's value."""
        value = f"{receiver}.{self.name}"
        if self.needs_filling:
            return f"{'filledMap' if self.type.startswith('map') else 'filled'}({value})"
        if not self.wire:
            return value
        if self.wire.startswith("*[]"):
            return f"orNil({value})"
        if self.wire.startswith("[]"):
            return f"converted[wireDuration]({value})" if self.wire == "[]wireDuration" else f"wireTimes({value})"
        return f"({self.wire})({value})" if "*" in self.wire else f"{self.wire}({value})"


def _go_name(member):
    name = member.name.removesuffix("_ms").removesuffix("_per_s")
    name = name if member.is_duration or name == member.name.removesuffix("_per_s") else member.name
    words = [word.capitalize() for word in name.split("_")]
    return "".join(INITIALISMS.get(word, word) for word in words)


def _named(type):
    return TYPES[SAME.get(type.name, type.name)][0]


def _plain(type, is_wide=False):
    if type.kind == "list":
        return f"[]{_plain(type.of)}"
    if type.kind == "map":
        return "json.RawMessage" if type.of.kind == "json" else f"map[string]{_plain(type.of)}"
    if type.kind == "shape":
        return _named(type)
    if type.kind == "choice":
        return type.name if type.name in CHOICES else "string"
    plain = {"text": "string", "time": "time.Time", "number": "float64", "boolean": "bool", "json": "json.RawMessage"}
    return plain.get(type.kind) or ("int64" if is_wide else "int")


# Declarations.


def _struct(contract, shape, fields):
    name, sentence = TYPES[shape.name]
    words = {field.member.name: field.name for field in fields}
    told = shape.description if not shape.name.startswith(("Queue", "Counts", "Job")) else ""
    comment = _comment(f"{name} {sentence} {told}".strip(), "", words)
    lines, section = [*comment, f"type {name} struct {{"], []
    embedded = contract.shapes[EMBEDDED[shape.name]].members if shape.name in EMBEDDED else ()
    inherited = {member.name for member in embedded}
    ordered = sorted(fields, key=lambda field: not field.member.required)
    for field in (field for field in ordered if field.member.name not in inherited):
        described = _comment(_field_text(field, words), "\t", {})
        if described:
            lines += _aligned(section) + described
            section = []
        tag = "" if _has_methods(shape, fields) else f" {field.tag}"
        section.append((field.name, field.type, tag.strip()))
    lines += _aligned(section)
    if shape.name in EMBEDDED:
        lines.append(f"\t{TYPES[EMBEDDED[shape.name]][0]}")
    if shape.name in EXTRA:
        lines += [f"\t// {EXTRA[shape.name][0]}", f"\t{EXTRA[shape.name][1]}"]
    return "\n".join([*lines, "}", ""])


def _has_methods(shape, fields):
    return any(field.wire for field in fields) or shape.name in REQUESTS or shape.name in EMBEDDED


def _aligned(rows):
    """Lines of a struct as gofmt aligns them."""
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    lines = [f"\t{name:<{widths[0]}} {type:<{widths[1]}} {tag}".rstrip() for name, type, tag in rows]
    return lines


def _field_text(field, words):
    described = field.member.description or (field.member.general if field.member.type.kind == "choice" else "")
    nothing = "nil" if "*" in field.type else {"string": "empty", "time.Time": "zero", "bool": "null"}.get(field.type)
    nothing = nothing or ("nil" if field.type.startswith(("any", "json", "[]", "map")) else "0")
    if field.member.type.kind == "list" and field.member.type.of.nullable:
        nothing = "0"
    if field.is_settable:
        nothing = {"int": "JobsOwn", "*int": "Unbounded", "*time.Duration": "NoAgeing"}.get(field.type, nothing)
        nothing = NONE[field.member.type.name][0] if field.member.type.name in NONE else nothing
        nothing = "Forever" if field.shape == "RetentionInput" else nothing
    described = re.sub(r"\bnull\b", nothing, described)
    described = re.sub(r"\bNull\b", nothing[:1].upper() + nothing[1:], described)
    return _unquoted(described, words)


def _unquoted(described, words):
    """Names in backquotes become Go's; other words in backquotes get double quotes."""

    def replace(span):
        inner = span[1]
        if re.fullmatch(r"[a-z_]+", inner):
            return words.get(inner) or (text.pascal(inner) if "_ms" in inner else f'"{inner}"')
        return inner if "=" in inner else re.sub(r"\w+", lambda word: words.get(word[0], word[0]), inner)

    return re.sub(r"`([^`]+)`", replace, described)


def _comment(described, indent, words):
    if not described:
        return []
    return text.wrapped(_unquoted(described, words) if words else described, indent, "// ", WIDTH - 3 * len(indent))


def _wire_struct(shape, fields):
    rows = [(field.name, field.wire or field.type, field.tag) for field in fields]
    return "\n".join([f"type {_wire_name(shape)} struct {{", *_aligned(rows), "}", ""])


def _wire_name(shape):
    return f"wire{TYPES[shape.name][0]}"


def _receiver(shape):
    return TYPES[shape.name][0][0].lower().replace("w", "v")  # w is the wire form


def _decoder(contract, shape, fields):
    receiver, name = _receiver(shape), TYPES[shape.name][0]
    settable = any(field.is_settable and field.wire for field in fields)
    lines = ["// UnmarshalJSON reads the API's form."]
    lines += [f"func ({receiver} *{name}) UnmarshalJSON(data []byte) error {{", f"\tvar w {_wire_name(shape)}"]
    lines += [
        "\tif err := json.Unmarshal(data, &w); err != nil {",
        "\t\treturn err",
        "\t}",
        f"\t*{receiver} = {name}{{}}",
    ]
    lines += ["\tvar err error"] if settable else []
    lines += [f"\t{receiver}.{field.name} = {field.read()}" for field in fields]
    return "\n".join([*lines, "\treturn err" if settable else "\treturn nil", "}", ""])


def _encoder(shape, fields):
    receiver, name = _receiver(shape), TYPES[shape.name][0]
    lines = ["// MarshalJSON writes the API's form.", f"func ({receiver} {name}) MarshalJSON() ([]byte, error) {{"]
    if shape.name in NONE:
        lines += [f"\tif {NONE[shape.name][1]} {{", "\t\treturn null, nil", "\t}"]
    if shape.name in PRUNED:
        lines += [f"\tif {receiver}.State == {PRUNED[shape.name]} {{"]
        lines += [f"\t\treturn marshal(prunedJob{{{receiver}.ID, Pruned}})", "\t}"]
    lines.append(f"\tvar w {_wire_name(shape)}")
    lines += [f"\tw.{field.name} = {field.written(receiver)}" for field in fields]
    return "\n".join([*lines, "\treturn marshal(w)", "}", ""])


def _appender(shape, fields):
    receiver, name = _receiver(shape), TYPES[shape.name][0]
    lines = ["// MarshalJSON writes the API's form.", f"func ({receiver} {name}) MarshalJSON() ([]byte, error) {{"]
    if shape.name in NONE:
        lines += [f"\tif {NONE[shape.name][1]} {{", "\t\treturn null, nil", "\t}"]
    lines += [f"\treturn {receiver}.append(nil)", "}", "", "// append writes the API's form behind other bytes."]
    lines += [f"func ({receiver} *{name}) append(to []byte) ([]byte, error) {{", "\tm := openObject(to)"]
    for field in fields:
        lines += _appended(field, f"{receiver}.{field.name}")
    return "\n".join([*lines, "\treturn m.close(), nil", "}", ""])


def _appended(field, value):
    member, type, quoted = field.member, field.member.type, f'"{field.member.name}"'
    if field.is_settable and field.wire and type.kind != "shape":
        method = {"int": "settableCount", "*int": "settableNumber"}.get(field.type, "settableMs")
        return [f"\tm.{method}({quoted}, {value})"]
    if member.is_duration and member.required:
        return [f"\tm.number({quoted}, milliseconds({value}))"]
    if type.kind == "integer" and "*" in field.type:
        return [f"\tif {value} != nil {{", f"\t\tm.number({quoted}, int64(*{value}))", "\t}"]
    if type.kind == "integer" and member.required:
        return [f"\tm.number({quoted}, int64({value}))"]
    if type.kind == "integer":
        return [f"\tm.{'maybeMs' if member.is_duration else 'maybeNumber'}({quoted}, {value})"]
    if type.kind in ("text", "choice"):
        is_kept = member.required and field.key not in DEFAULTED
        return [f"\tm.{'text' if is_kept else 'maybeText'}({quoted}, {value})"]
    if type.kind == "boolean" and "*" in field.type:
        return [f"\tif {value} != nil {{", f"\t\tm.boolean({quoted}, *{value})", "\t}"]
    simple = {"time": "maybeTime", "boolean": "maybeBoolean"}.get(type.kind)
    if simple:
        return [f"\tm.{simple}({quoted}, {value})"]
    if type.kind == "list" and type.of.kind == "text":
        return [f"\tif len({value}) > 0 {{", f"\t\tm.texts({quoted}, {value})", "\t}"]
    refused = ["\t\treturn nil, err", "\t}"]
    if member.required and type.kind == "list":
        return [f"\tif err := appendAll(&m, {quoted}, {value}); err != nil {{", *refused]
    if member.required and type.kind == "shape":
        call = f"\tif m.b, err = {value}.append(m.b); err != nil {{"
        return [f"\tm.key({quoted})", "\tvar err error", call, *refused]
    given = f"{value} != nil"
    if type.kind in ("list", "map") and field.shape not in SETTINGS and field.shape != "Fair":
        given = f"len({value}) > 0"
    if type.kind == "shape" and "*" not in field.type:
        given = f"{value} != ({field.type}{{}})"
    if type.kind == "list" and type.of.name in REQUESTS:
        call = [f"\t\tif err := appendAll(&m, {quoted}, {value}); err != nil {{"]
    elif type.kind == "shape" and SAME.get(type.name, type.name) in REQUESTS - set(NONE):
        call = [f"\t\tm.key({quoted})", "\t\tvar err error", f"\t\tif m.b, err = {value}.append(m.b); err != nil {{"]
    else:
        call = [f"\t\tif err := m.value({quoted}, {value}); err != nil {{"]
    return [f"\tif {given} {{", *call, "\t\t\treturn nil, err", "\t\t}", "\t}"]
