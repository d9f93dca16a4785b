"""The C++ SDK: millrace/shapes.h and millrace/workflow_shapes.h have the structures that cross HTTP, shapes_json.cc and
workflow_shapes_json.cc read and write them.

What is null or left out is an empty text, an unset std::optional or an empty list. Opaque JSON is text.
"""

import re

from . import text
from .schema import MARK

WIDTH = 100
# The structures in an order in which each knows what it holds: the name, and the first sentence.
TYPES = {
    "RetryPolicy": ("RetryPolicy", "The pause before each further attempt. The server's defaults apply to unset "
                    "members."),
    "UniqueInput": ("Unique", "At most one job of the queue has a given key."),
    "JobLimit": ("JobLimit", "A limit that the job must pass to start."),
    "BatchItem": ("NewJob", "A job to submit. Only `type` is required; the server's defaults apply to empty and unset "
                  "members."),
    "JobError": ("JobError", "Why an attempt failed."),
    "Progress": ("Progress", "The progress that a handler reported."),
    "LogLine": ("LogLine", "A line of a job's log."),
    "Attempt": ("Attempt", "One start of a job, and its result."),
    "ScheduleOfJob": ("JobSchedule", "The schedule that made a job, and the instant for which it was made."),
    "WorkflowOfJob": ("JobWorkflow", "What a job is to its workflow."),
    "MemberCounts": ("MemberCounts", "The numbers of a workflow's members, by state."),
    "WorkflowOfClaim": ("ClaimedWorkflow", "What a claimed job is to its workflow."),
    "Parent": ("Parent", "What a job of a workflow needs, with its result."),
    "Event": ("Event", "One fact of the event log."),
    "Job": ("Job", "A job as described by the server."),
    "Counts": ("QueueCounts", "The numbers of a queue's jobs, by state."),
    "QueueRates": ("QueueRates", "Averages over the last minute."),
    "Queue": ("Queue", "A queue as described by the server."),
    "ScheduleInput": ("NewSchedule", "A schedule's specification. `job.type` and either `cron` or `every` are "
                      "required; the server's defaults apply to empty and unset members."),
    "Schedule": ("Schedule", "A schedule as described by the server."),
    "Run": ("ScheduleRun", "The result of an instant."),
    "PreviewRequest": ("PreviewSchedule", "Asks when an expression or interval would be due; nothing is stored."),
    "PreviewAnswer": ("SchedulePreview", "The meaning of an expression."),
    "BackfillAnswer": ("BackfillAnswer", "The result of a backfill."),
    "ScheduleSetAnswer": ("ScheduleChanges", "The names of the changed schedules."),
    "RunningJob": ("RunningJob", "A job that a worker holds a lease on."),
    "Rate": ("Rate", "A token bucket of starts."),
    "Breaker": ("Breaker", "Stops the starts of jobs while too many attempts fail."),
    "LimitInput": ("LimitSettings", "The settings of a limit; unset members are no bounds."),
    "Limit": ("Limit", "A limit as described by the server, with its use."),
    "Why": ("Why", "Why a job is not running."),
    "Worker": ("SeenWorker", "A worker as the server sees it. (`Worker` is the one that this library runs.)"),
    "NeedInput": ("Need", "A member that another one waits for, and the end that it waits for."),
    "MemberInput": ("NewMember", "A member to submit with a workflow. Only `job` is required; without a payload it has "
                    "that of `NewWorkflow::defaults`."),
    "WorkflowUniqueInput": ("WorkflowUnique", "At most one workflow of the queue that has not ended has a given key."),
    "WorkflowInput": ("NewWorkflow", "A workflow to submit; WorkflowBuilder adds its members. The server's defaults "
                      "apply to empty and unset members."),
    "WorkflowCallbacks": ("WorkflowCallbacks", "The ids of the callbacks' jobs, once they are submitted."),
    "Workflow": ("Workflow", "A workflow as described by the server."),
    "Member": ("Member", "A member of a workflow."),
    "MemberDetail": ("MemberDetail", "One member, with its definition."),
    "GraphLine": ("GraphLine", "A member in the graph of its workflow."),
    "WorkflowBlocking": ("WorkflowBlocking", "What a workflow waits for; what else is set depends on `code`."),
    "WorkflowWhy": ("WorkflowWhy", "Why a workflow has not ended."),
    "MembersAnswer": ("AddedMembers", "The result of an addition of members."),
}  # fmt: skip
SAME = {"Unique": "UniqueInput", "ScheduleJobInput": "BatchItem", "MemberJobInput": "BatchItem", "Need": "NeedInput",
        "WorkflowUnique": "WorkflowUniqueInput"}  # fmt: skip
# Structures that are written, and those that are sent and never read.
WRITTEN = ("RetryPolicy", "UniqueInput", "JobLimit", "BatchItem", "ScheduleInput", "PreviewRequest", "Rate", "Breaker",
           "LimitInput", "NeedInput", "MemberInput", "WorkflowUniqueInput", "WorkflowInput")  # fmt: skip
NEVER_READ = {"ScheduleInput", "PreviewRequest", "LimitInput"}
# Structures that may also be a text, which is this member.
TEXT_ALONE = {"NeedInput": "ref"}
# The first of the structures that millrace/workflow_shapes.h has.
FIRST_OF_WORKFLOWS = "NeedInput"
# Structures that keep the text that the server sent.
KEEPS_JSON = {"Job", "LogLine", "Event", "Queue", "Schedule", "PreviewAnswer", "BackfillAnswer", "ScheduleSetAnswer",
              "Worker", "Limit", "Why", "Workflow", "Member", "MemberDetail", "GraphLine", "WorkflowWhy",
              "MembersAnswer"}  # fmt: skip
RAW = {"Queue.settings", "Schedule.job", "Schedule.workflow", "Event.data", "LimitInput.keys", "Limit.keys",
       "Why.blocking", "Why.notes", "MemberDetail.definition"}  # fmt: skip
OPTIONAL_TEXT = {"Job.payload", "Job.result", "Workflow.result", "Member.result", "MemberDetail.result"}
INT64 = {
    "in_use",
    "waiting",
    "generation",
    "version",
    "seq",
    "cost",
    "count",
    "submitted",
    "existing",
    "pid",
    "Counts",
    "MemberCounts",
    "MembersAnswer",
    "WorkflowBlocking",
    "max_active",
    "members",
    "number",
}
NAMES = {"UniqueInput.for_ms": "hold", "BatchItem.idempotency_key": "idempotency_key"}
# Members in the order in which programs initialize them by name; all others follow.
ORDER = {
    "BatchItem": "type payload queue priority run_at delay_ms expires_at expires_in_ms max_attempts retry lease_ms "
    "timeout_ms unique tags meta limits order_key order_on_failure fair_key id idempotency_key traceparent tracestate",
    "ScheduleInput": "cron every_ms timezone job start_at end_at jitter_ms missed_after_ms missed missed_limit overlap "
    "dst_gap dst_overlap paused managed_by",
    "MemberDetail": "number ref state reason generation queue job_id job result redacted",
    "MemberInput": "ref job needs needs_any",
    "WorkflowInput": "name queue members on_success on_failure on_end on_member_failed max_active timeout_ms "
    "result_from unique defaults open keep_members tags meta id",
}
NULL = ' = "null"'
PLAIN = {"int": "integer", "std::int64_t": "integer", "double": "number", "bool": "boolean"}
# Members that only this language has.
MORE = {
    "Schedule": ["// The job's queue; empty: the default queue.", "std::string queue{};",
                 "// The job's type.", "std::string type{};", "// The job's payload, raw JSON; empty: null.",
                 "std::string payload{};"],
    "WorkflowInput": ["// A repetition with the key returns the first workflow, for 24 hours (a setting).",
                      "std::string idempotency_key{};"],
}  # fmt: skip
METHODS = {
    "Job": ["// succeeded, dead, cancelled or expired; or pruned: already removed, and known only by its key.",
            "bool is_final() const;"],
    "NeedInput": ["Need() = default;", "// A ref alone is a need of its success.",
                  "Need(const char* member) : ref(member) {}       // NOLINT: as a text in a list of needs",
                  "Need(std::string member, std::string end = {})  // NOLINT: as above",
                  "    : ref(std::move(member)), on(std::move(end)) {}",
                  "// The same member, once it has failed, or has ended in any way.",
                  'Need failed() const { return {ref, "failed"}; }', 'Need ended() const { return {ref, "ended"}; }'],
    "Workflow": ["// succeeded, failed or cancelled; or pruned: already removed, and known only by its key.",
                 "bool is_final() const;"],
}  # fmt: skip

HEADER = f"""\
// {MARK}
// The structures that cross HTTP.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace millrace::sdk {{

using Milliseconds = std::chrono::milliseconds;
using Timestamp = std::chrono::sys_time<std::chrono::milliseconds>;  // UTC
using Meta = std::vector<std::pair<std::string, std::string>>;
"""
WORKFLOW_HEADER = f"""\
// {MARK}
// The structures of workflows that cross HTTP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/shapes.h"

namespace millrace::sdk {{
"""
JSON_HEADER = f"""\
// {MARK}
// Reads and writes the structures of millrace/shapes.h and millrace/workflow_shapes.h.
#pragma once

#include "json_fields.h"
#include "millrace/json.h"
#include "millrace/shapes.h"
#include "millrace/workflow_shapes.h"

namespace millrace::sdk {{

// False: `value` is not an object. Unknown members are skipped.
"""
SOURCE = f"""\
// {MARK}
#include "shapes_json.h"

#include "json_members.h"

namespace millrace::sdk {{
"""
WORKFLOW_SOURCE = f"""\
// {MARK}
#include "json_members.h"
#include "shapes_json.h"

namespace millrace::sdk {{
"""
END = "}  // namespace millrace::sdk"


def files(contract):
    shapes = {name: contract.merged(name) for name in TYPES}
    fields = {name: _ordered(shape) for name, shape in shapes.items()}
    read = [name for name in TYPES if name not in NEVER_READ]
    declared = [f"bool read_members(JsonValue value, {TYPES[name][0]}& out);" for name in read]
    writers = [f"void write_members(JsonWriter& json, const {TYPES[name][0]}& from);" for name in WRITTEN]
    names = list(TYPES)
    first = names.index(FIRST_OF_WORKFLOWS)
    written = {
        "sdk/cpp/shapes_json.h": JSON_HEADER
        + "\n".join([*declared, "\n// The members of an object, without its brackets.", *writers, "", END, ""])
    }
    parts = (("", HEADER, SOURCE, names[:first]), ("workflow_", WORKFLOW_HEADER, WORKFLOW_SOURCE, names[first:]))
    for prefix, header, source, part in parts:
        structs = [_struct(shapes[name], fields[name]) for name in part]
        readers = [_reader(name, fields[name]) for name in part if name not in NEVER_READ]
        part_writers = [_writer(fields[name], TYPES[name][0]) for name in part if name in WRITTEN]
        written |= {
            f"sdk/cpp/include/millrace/{prefix}shapes.h": "\n".join([header, *structs, END, ""]),
            f"sdk/cpp/{prefix}shapes_json.cc": "\n".join([source, *readers, *part_writers, END, ""]),
        }
    return written


class Field:
    def __init__(self, shape, member):
        self.member, self.key, self.shape = member, f"{shape.name}.{member.name}", shape.name
        self.name = NAMES.get(self.key) or (member.name.removesuffix("_ms") if member.is_duration else member.name)
        self.is_raw = self.key in RAW or member.type.kind == "json"
        self.type = self._type()

    def _type(self):
        type, may_lack = self.member.type, self.member.nullable or not self.member.required
        if self.key in OPTIONAL_TEXT:
            return "std::optional<std::string>"
        if self.is_raw:
            return "std::string"
        if self.member.is_duration:
            return "std::vector<Milliseconds>" if type.kind == "list" else "std::optional<Milliseconds>"
        if type.kind == "list":
            return f"std::vector<{'Timestamp' if type.of.kind == 'time' else _item(type.of)}>"
        known = _item(type, bool({self.member.name, self.shape} & INT64))
        is_optional = type.kind == "time" or (may_lack and type.kind in ("integer", "number", "shape"))
        if type.kind == "boolean" and may_lack and self.shape in WRITTEN:
            is_optional = True
        return f"std::optional<{known}>" if is_optional else known

    @property
    def declaration(self):
        start = {"bool": " = false", "int": " = 0", "std::int64_t": " = 0", "double": " = 0"}.get(self.type, "{}")
        return f"{self.type} {self.name}{NULL if self.key == 'BatchItem.payload' else start};"


def _item(type, is_wide=False):
    if type.kind == "shape":
        return TYPES[SAME.get(type.name, type.name)][0]
    plain = {"text": "std::string", "choice": "std::string", "time": "Timestamp", "number": "double", "boolean": "bool"}
    return {"map": "Meta", "integer": "std::int64_t" if is_wide else "int"}.get(type.kind) or plain[type.kind]


def _ordered(shape):
    order = ORDER.get(shape.name, "").split()
    members = [member for member in shape.members if _is_known(member)]
    members.sort(key=lambda member: order.index(member.name) if member.name in order else len(order))
    return [Field(shape, member) for member in members]


def _is_known(member):
    """Whether the library offers the member: what a queue is held back by, and what is no job, only as JSON."""
    return member.name != "blocked_by" and member.type.name != "WorkflowInput"


def _struct(shape, fields):
    words = {field.member.name: field.name for field in fields}
    lines = [*_comment(TYPES[shape.name][1], "", {}), f"struct {TYPES[shape.name][0]} {{"]
    for field in fields:
        lines += _comment(_told(field), "  ", words)
        lines.append(f"  {field.declaration}")
    lines += [f"  {line}" for line in MORE.get(shape.name, ())]
    if shape.name in KEEPS_JSON:
        lines += ["  // The complete object as the server sent it.", "  std::string json{};"]
    methods = [f"  {line}" for line in METHODS.get(shape.name, ())]
    return "\n".join([*lines, *([""] + methods if methods else []), "};", ""])


def _told(field):
    told = field.member.description or (field.member.general if field.member.type.kind == "choice" else "")
    if field.is_raw:
        told = f"{told} Raw JSON.".strip()
    nothing = "empty" if field.type in ("std::string", "Meta") or "vector" in field.type else "unset"
    told = re.sub(r"\bnull\b(?!`)", nothing, told)
    return re.sub(r"\bNull\b", nothing.capitalize(), told)


def _comment(told, indent, words):
    return text.wrapped(text.renamed(told, words), indent, "// ", WIDTH) if told else []


def _reader(shape, fields):
    lines = [f"bool read_members(JsonValue value, {TYPES[shape][0]}& out) {{"]
    if shape in TEXT_ALONE:
        lines += ["  if (value.type() == JsonType::kString) {", f"    read(value, out.{TEXT_ALONE[shape]});",
                  "    return true;", "  }"]  # fmt: skip
    lines += ["  return each_member(value, [&out](std::string_view name, JsonValue content) {"]
    for field in fields:
        value = f"out.{field.name} = raw_text(content)" if field.is_raw else f"read(content, out.{field.name})"
        lines.append(f'    if (name == "{field.member.name}") {value};')
    return "\n".join([*lines, "  });", "}", ""])


def _writer(fields, known):
    lines = [f"void write_members(JsonWriter& json, const {known}& from) {{"]
    # Who reads it finds first what it is; what may be long comes last.
    for field in sorted(fields, key=lambda field: field.is_raw - (field.name in ("type", "id"))):
        name = f'"{field.member.name}"'
        if field.is_raw:
            condition = "" if field.member.required else f"if (!from.{field.name}.empty()) "
            lines.append(f"  {condition}json.key({name}).raw(from.{field.name});")
        elif field.member.required and field.type == "std::string" and field.key != "BatchItem.type":
            lines.append(f"  json.key({name}).string(from.{field.name});")
        elif field.member.required and field.type in PLAIN:
            lines.append(f"  json.key({name}).{PLAIN[field.type]}(from.{field.name});")
        elif field.member.required and field.member.type.kind == "shape":
            lines.append(f"  object(json.key({name}), from.{field.name});")
        else:
            lines.append(f"  member(json, {name}, from.{field.name});")
    return "\n".join([*lines, "}", ""])
