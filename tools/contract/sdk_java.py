"""The Java SDK: records of answers, and the methods that set the members of requests.

A record's components and their documentation are generated; the body of its file, behind the components, is written by
hand and kept. A request is a class of its own whose generated super-class has a method for each member. Binding reads
and writes records by their components: a Duration has the suffix `_ms` in the API.
"""

import pathlib
import re

from . import text

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = "sdk/java/millrace/src/main/java/dev/millrace"
WIDTH = 100
# The records, with their names and first sentences; those within another are written into its file.
RECORDS = {
    "Job": ("Job", "A job as the server shows it. Members that have no value are null."),
    "Attempt": ("Attempt", "One attempt at a job."),
    "JobError": ("JobError", "The reason why an attempt failed."),
    "LogLine": ("LogLine", "A line of a job's log."),
    "Progress": ("Progress", "The progress that a handler reported."),
    "Event": ("JobEvent", "An entry of a job's history."),
    "ScheduleOfJob": ("JobSchedule", "The schedule that created a job."),
    "WorkflowOfJob": ("JobWorkflow", "The workflow that a job belongs to."),
    "WorkflowOfClaim": ("ClaimedWorkflow", "What a claimed job is to its workflow."),
    "MemberCounts": ("MemberCounts", "The numbers of a workflow's members by state."),
    "Parent": ("Parent", "A member that the job's member needs, as it ended."),
    "Workflow": ("Workflow", "A workflow as the server shows it. Members that have no value are null."),
    "WorkflowCallbacks": ("WorkflowCallbacks", "The ids of the callbacks' jobs; null until they are submitted."),
    "WorkflowUnique": ("WorkflowUnique", "The unique key of a workflow."),
    "Member": ("Member", "A member of a workflow. Members that have no value are null."),
    "MemberDetail": ("MemberDetail", "A member of a workflow, with its definition. Members without a value are null."),
    "Need": ("Need", "An end of another member that a member waits for."),
    "GraphLine": ("GraphLine", "A member of a workflow, with what it needs."),
    "WorkflowWhy": ("WorkflowWhy", "Why a workflow has not ended."),
    "WorkflowBlocking": ("WorkflowWhy.Blocking", "What a workflow waits for. Members that do not apply are null."),
    "MembersAnswer": ("AddedMembers", "The numbers of members after an addition."),
    "RetryPolicy": ("RetryPolicy", "Says how long a failed job waits for its next attempt."),
    "UniqueInput": ("Unique", "A unique key, which allows one job per key within its queue."),
    "JobLimit": ("JobLimit", "A limit that a job must pass."),
    "QueueLimit": ("QueueLimit", "A limit that each job of a queue must pass."),
    "Rate": ("Rate", "A token bucket of starts."),
    "Breaker": ("Breaker", "Stops the starts of jobs while too many attempts fail."),
    "Fair": ("Fair", "How a queue is shared."),
    "Queue": ("Queue", "A queue as the server shows it."),
    "Counts": ("Queue.Counts", "The numbers of jobs by state."),
    "QueueRates": ("Queue.Rates", "Jobs per second, over the last 60 seconds."),
    "QueueSettings": ("Queue.Settings", "The settings that are in force."),
    "Retention": ("Queue.Retention", "How long ended jobs are kept; null means for ever."),
    "Blocking": ("Queue.Blocker", "A closed gate that holds ready jobs of a queue back."),
    "Schedule": ("Schedule", "A schedule as the server shows it. Members that have no value are null."),
    "Run": ("ScheduleRun", "The result of an instant of a schedule."),
    "ScheduleSetAnswer": ("ScheduleChanges", "The changes made by applying a set, as names of schedules."),
    "BackfillAnswer": ("BackfillResult", "The result of a backfill."),
    "PreviewAnswer": ("SchedulePreview", "The meaning of an expression."),
    "Limit": ("Limit", "A limit as the server shows it, with its use. Members that have no value are null."),
    "KeyBound": ("Limit.KeyBound", "The bounds of one key, which replace those of the limit."),
    "Operation": ("Operation", "A change of many jobs, which the server continues by itself."),
    "Worker": ("SeenWorker", "A worker as the server sees it."),
    "RunningJob": ("SeenWorker.RunningJob", "A job that a worker holds a lease on."),
    "Stats": ("Stats", "Numbers of events in columns of time."),
    "StatsGroup": ("Stats.Group", "Columns of equal width, oldest first; each list has the same number of them."),
    "StatsGap": ("Stats.Gap", "A time for which the server has no figures."),
    "Percentiles": ("Stats.Percentiles", "Milliseconds by column; null where nothing was measured."),
    "Deploy": ("Stats.Deploy", "The first time that a version of a program was seen."),
    "Why": ("Why", "Why a job is not running."),
    "WhyNote": ("Why.Note", "Another fact that explains the wait."),
}
SAME = {"Unique": "UniqueInput"}
WRITTEN = {"MemberJobInput": "NewJob"}  # shapes of requests that have a class
# The requests: the class, what it describes, and the members that are set in another way.
REQUESTS = {
    "BatchItem": ("NewJob", "the job", {"type", "traceparent", "tracestate"}),
    "QueueSettingsInput": ("QueueSettings", "the queue", {"retention"}),
    "LimitInput": ("LimitSettings", "the limit", set()),
    "ScheduleInput": ("ScheduleSpec", "the schedule", {"cron", "every_ms", "job"}),
    "PreviewRequest": ("PreviewRequest", "the request", {"cron", "every_ms"}),
    "WorkflowInput": ("NewWorkflow", "the workflow", {"defaults", "members", "open", "unique"}),
    "WorkflowRetryInput": ("WorkflowRetry", "the retry", set()),
}
GRAPHS = {"NewWorkflow"}  # members are added to it, so its methods change it
LONG = {"version", "generation", "seq", "token", "existing", "Counts", "Blocking", "max_ready", "max_ready_per_key",
        "in_use", "waiting", "Operation", "StatsGroup", "MemberCounts", "MembersAnswer", "number", "members",
        "max_active", "WorkflowBlocking"}  # fmt: skip
# Choices that are enums here; the others are strings.
ENUMS = {
    "JobState": "JobState", "LogLevel": "LogLevel", "OrderOnFailure": "OrderOnFailure",
    "MissedPolicy": "ScheduleSpec.Missed", "OverlapPolicy": "ScheduleSpec.Overlap", "DstGap": "ScheduleSpec.DstGap",
    "DstOverlap": "ScheduleSpec.DstOverlap", "WorkflowState": "WorkflowState", "MemberState": "MemberState",
    "NeedOn": "Need.On", "OnMemberFailed": "OnMemberFailed", "UniqueInput.on_conflict": "OnConflict",
    "RetryPolicy.strategy": "Strategy",    "Schedule.state": "State", "Run.outcome": "Outcome",
}  # fmt: skip
# Components whose names do not follow from the members' names.
NAMED = {"UniqueInput.for_ms": "held", "QueueRates.submitted_per_s": "submitted", "QueueRates.started_per_s": "started",
         "QueueRates.succeeded_per_s": "succeeded", "QueueRates.failed_per_s": "failed"}  # fmt: skip
# Members of which the contract says nothing, since their names do; Javadoc wants words.
PLAIN = {
    "name": "its name", "id": "its id", "per_key": "whether each key has slots and a bucket of its own",
    "paused": "whether it is paused", "pause_reason": "why it is paused", "paused_until": "when the pause ends by itself",
    "kind": "what started it", "action": "what it does to the jobs", "state": "its state",
    "changed": "the jobs that were changed so far", "created_at": "when it began", "updated_at": "when it last changed",
    "queues": "the queues that it claims from", "first_seen_at": "when it was first seen",
    "last_seen_at": "when it was last seen", "running": "the jobs that it holds", "host": "its machine",
    "pid": "its process id", "sdk": "its SDK", "labels": "its labels", "queue": "the queue's name",
    "type": "the type's name", "attempt": "the attempt's number", "started_at": "when the attempt began",
    "lease_expires_at": "when its lease ends", "from": "when it begins", "to": "when it ends",
    "step_ms": "the width of a column", "groups": "the columns, by group",
    "as_of": "the time up to which everything is counted", "submitted": "jobs that were submitted",
    "started": "attempts that began", "succeeded": "attempts that succeeded", "failed": "attempts that failed",
    "dead": "jobs that failed for good", "at": "when it was", "version": "the version of the program",
    "worker_sdk": "the SDK of its worker", "code": "what explains the wait",
    "last_seen": "when such a worker was last seen", "blocked": "members that wait for what they need",
    "active": "members with a job that has not ended", "skipped": "members that never ran",
    "on_success": "the job of {@code onSuccess}", "on_failure": "the job of {@code onFailure}",
    "on_end": "the job of {@code onEnd}", "key": "no other workflow of the queue has it until this one ends",
    "needs": "what it waits for", "number": "its place in the workflow, from 0",
    "blocking": "everything that it waits for", "Workflow.created_at": "when it was made",
    "MemberCounts.succeeded": "members that succeeded", "MemberCounts.failed": "members that failed",
}  # fmt: skip
OPAQUE = {
    "Schedule.job",
    "Schedule.workflow",
    "ScheduleInput.workflow",
    "MemberDetail.definition",
}  # the application's, or as it was given
IMPORTS = {"Duration": "java.time.Duration", "Instant": "java.time.Instant", "List": "java.util.List",
           "Map": "java.util.Map", "HashMap": "java.util.HashMap",
           "TreeMap": "java.util.TreeMap",
           "Type": "java.lang.reflect.Type"}  # fmt: skip
HEADER = "// Components: made by tools/types from docs/reference/openapi.yaml; do not edit."
MADE = "// Made by tools/types from docs/reference/openapi.yaml; do not edit."


def files(contract):
    made = {}
    for name, (known, _) in RECORDS.items():
        if "." not in known:
            made[f"{PACKAGE}/{known}.java"] = _record_file(contract, name, known)
    for name, (known, what, others) in REQUESTS.items():
        made[f"{PACKAGE}/{known}Members.java"] = _setters(contract.shapes[name], known, what, others)
    return made


# Records.


def _record_file(contract, name, known):
    path = ROOT / PACKAGE / f"{known}.java"
    present = path.read_text() if path.exists() else ""
    found = re.search(r"^public record [^{]*\{(.*)\}\n", present, re.DOTALL | re.MULTILINE)
    body = found[1] if found else ""
    nested = [each for each, (full, _) in RECORDS.items() if full.startswith(f"{known}.")]
    if nested:  # these files have no body of their own
        body = "\n" + "\n".join("\n".join(_record(contract, each, "  ", "{}")) + "\n" for each in nested)
    head = _record(contract, name, "", "{" if body else "{}")
    return _file([HEADER], "\n".join(head) + (f"{body}}}\n" if body else "\n"))


def _record(contract, name, indent, end):
    shape, (known, sentence) = contract.merged(name), RECORDS[name]
    words = {member.name: _component(shape, member) for member in shape.members}
    lines = [*text.wrapped(sentence, indent, " * ", WIDTH), f"{indent} *"]
    for member in shape.members:
        told = _phrase(_plain(_described(shape, member), words))
        lines += _tag(f"@param {_component(shape, member)} {told}", indent)
    lines = [f"{indent}/**", *lines, f"{indent} */"]
    outer = f"{known.split('.')[0]}."  # what is nested in the same file needs no prefix
    parts = [
        f"{_annotation(shape, member)}{_type(shape, member).replace(outer, '')} {_component(shape, member)}"
        for member in shape.members
    ]
    return [*lines, *_call(f"{indent}public record {known.split('.')[-1]}(", parts, f") {end}", indent)]


def _call(before, parts, after, indent):
    """Parameters as google-java-format breaks them."""
    if len(before) + len(", ".join(parts)) + len(after) <= WIDTH:
        return [f"{before}{', '.join(parts)}{after}"]
    if len(indent) + 4 + len(", ".join(parts)) + len(after) <= WIDTH:
        return [before, f"{indent}    {', '.join(parts)}{after}"]
    return [before, *(f"{indent}    {part}," for part in parts[:-1]), f"{indent}    {parts[-1]}{after}"]


def _component(shape, member):
    return NAMED.get(f"{shape.name}.{member.name}") or text.camel(_unsuffixed(member))


def _unsuffixed(member):
    return member.name.removesuffix("_ms") if member.is_duration else member.name


def _annotation(shape, member):
    return f'@JsonName("{member.name}") ' if f"{shape.name}.{member.name}" in NAMED else ""


def _type(shape, member):
    type, key = member.type, f"{shape.name}.{member.name}"
    if key in OPAQUE:
        return "Json"
    if member.is_duration:
        return "List<Duration>" if type.kind == "list" else "Duration"
    may_lack = member.nullable or not member.required
    return _of(type, may_lack, key, bool({member.name, shape.name} & LONG))


def _of(type, may_lack, key="", is_long=False):
    if type.kind == "list":
        return f"List<{_of(type.of, True, '', is_long)}>"
    if type.kind == "map":
        return "Json" if type.of.kind == "json" else f"Map<String, {_of(type.of, True)}>"
    if type.kind == "shape":
        return WRITTEN.get(type.name) or RECORDS[SAME.get(type.name, type.name)][0]
    if type.kind == "choice":
        return ENUMS.get(type.name) or ENUMS.get(key) or "String"
    if type.kind == "integer":
        return ("Long" if may_lack else "long") if is_long else ("Integer" if may_lack else "int")
    if type.kind == "number":
        return "Double" if may_lack else "double"
    return {"text": "String", "time": "Instant", "json": "Json", "boolean": "boolean"}[type.kind]


# Requests.


def _setters(shape, known, what, others):
    words = {member.name: text.camel(_unsuffixed(member)) for member in shape.members}
    base = "Graph" if known in GRAPHS else "Members"
    parts = [f"abstract class {known}Members extends {base}<{known}> {{",
             f"  {known}Members(Map<String, Object> named) {{", "    super(named);", "  }"]  # fmt: skip
    for member in (member for member in shape.members if member.name not in others):
        parts += ["", *_setter(shape, member, known, what, words)]
    head = f"/** The members of {known} that are set one by one. */\n"
    return _file([MADE], head + "\n".join([*parts, "}"]) + "\n")


def _setter(shape, member, known, what, words):
    name = words[member.name]
    told = _plain(_described(shape, member), words)
    lines = ["  /**"]
    lines += _tag(f"Sets {{@code {name}}} of {what}.", "  ")
    returned = "this" if known in GRAPHS else "a changed copy"
    lines += ["   *", *_tag(f"@param {name} {_phrase(told)}", "  "), f"   * @return {returned}", "   */"]
    given, value = _given(shape, member), name
    if given.endswith("..."):
        value = f"List.of({name})"
    elif given.startswith("Map<"):
        value = f"new TreeMap<>({name})"  # the same text in each JVM: the server compares requests byte by byte
    return [*lines, f"  public {known} {name}({given} {name}) {{", f'    return with("{member.name}", {value});', "  }"]


def _given(shape, member):
    if member.type.kind == "json":
        return "Object"
    if member.type.kind == "list" and not member.is_duration:
        return f"{_of(member.type.of, True)}..."
    if member.type.kind in ("integer", "number", "boolean") and not member.is_duration:
        return _of(member.type, member.nullable, "", bool({member.name, shape.name} & LONG))
    return _type(shape, member)


# Text.


def _described(shape, member):
    own = member.description or member.general or PLAIN.get(f"{shape.name}.{member.name}")
    return own or PLAIN[member.name]


def _plain(described, words):
    """A description as Javadoc: names in backquotes become code, with the names of Java."""
    escaped = described.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")
    return re.sub(r"`([^`]*)`", lambda span: f"{{@code {words.get(span[1], span[1])}}}", escaped)


def _phrase(told):
    """A single sentence as Javadoc has it behind a tag: without its capital and its full stop."""
    if ". " in told or not told.endswith("."):
        return told
    is_word = len(told) > 1 and told[0].isupper() and told[1].islower() or told.startswith("A ")
    return (told[0].lower() + told[1:] if is_word else told)[:-1]


def _tag(line, indent):
    first, *rest = text.wrapped(line, indent, " * ", WIDTH)
    if not rest:
        return [first]
    others = " ".join(line.strip().removeprefix("*").strip() for line in rest)
    return [first, *text.wrapped(others, indent, " *     " if line.startswith("@") else " * ", WIDTH)]


def _file(head, code):
    bare = re.sub(r"/\*\*.*?\*/", "", code, flags=re.DOTALL)
    imports = sorted(full for word, full in IMPORTS.items() if re.search(rf"\b{word}\b", bare))
    lines = [*head, "package dev.millrace;", ""]
    lines += [*(f"import {each};" for each in imports), ""] if imports else []
    return "\n".join(lines) + "\n" + code
