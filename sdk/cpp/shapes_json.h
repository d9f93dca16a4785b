// Made by tools/types from docs/reference/openapi.yaml; do not edit.
// Reads and writes the structures of millrace/shapes.h and millrace/workflow_shapes.h.
#pragma once

#include "json_fields.h"
#include "millrace/json.h"
#include "millrace/shapes.h"
#include "millrace/workflow_shapes.h"

namespace millrace::sdk {

// False: `value` is not an object. Unknown members are skipped.
bool read_members(JsonValue value, RetryPolicy& out);
bool read_members(JsonValue value, Unique& out);
bool read_members(JsonValue value, JobLimit& out);
bool read_members(JsonValue value, NewJob& out);
bool read_members(JsonValue value, JobError& out);
bool read_members(JsonValue value, Progress& out);
bool read_members(JsonValue value, LogLine& out);
bool read_members(JsonValue value, Attempt& out);
bool read_members(JsonValue value, JobSchedule& out);
bool read_members(JsonValue value, JobWorkflow& out);
bool read_members(JsonValue value, MemberCounts& out);
bool read_members(JsonValue value, ClaimedWorkflow& out);
bool read_members(JsonValue value, Parent& out);
bool read_members(JsonValue value, Event& out);
bool read_members(JsonValue value, Job& out);
bool read_members(JsonValue value, QueueCounts& out);
bool read_members(JsonValue value, QueueRates& out);
bool read_members(JsonValue value, Queue& out);
bool read_members(JsonValue value, Schedule& out);
bool read_members(JsonValue value, ScheduleRun& out);
bool read_members(JsonValue value, SchedulePreview& out);
bool read_members(JsonValue value, BackfillAnswer& out);
bool read_members(JsonValue value, ScheduleChanges& out);
bool read_members(JsonValue value, RunningJob& out);
bool read_members(JsonValue value, Rate& out);
bool read_members(JsonValue value, Breaker& out);
bool read_members(JsonValue value, Limit& out);
bool read_members(JsonValue value, Why& out);
bool read_members(JsonValue value, SeenWorker& out);
bool read_members(JsonValue value, Need& out);
bool read_members(JsonValue value, NewMember& out);
bool read_members(JsonValue value, WorkflowUnique& out);
bool read_members(JsonValue value, NewWorkflow& out);
bool read_members(JsonValue value, WorkflowCallbacks& out);
bool read_members(JsonValue value, Workflow& out);
bool read_members(JsonValue value, Member& out);
bool read_members(JsonValue value, MemberDetail& out);
bool read_members(JsonValue value, GraphLine& out);
bool read_members(JsonValue value, WorkflowBlocking& out);
bool read_members(JsonValue value, WorkflowWhy& out);
bool read_members(JsonValue value, AddedMembers& out);

// The members of an object, without its brackets.
void write_members(JsonWriter& json, const RetryPolicy& from);
void write_members(JsonWriter& json, const Unique& from);
void write_members(JsonWriter& json, const JobLimit& from);
void write_members(JsonWriter& json, const NewJob& from);
void write_members(JsonWriter& json, const NewSchedule& from);
void write_members(JsonWriter& json, const PreviewSchedule& from);
void write_members(JsonWriter& json, const Rate& from);
void write_members(JsonWriter& json, const Breaker& from);
void write_members(JsonWriter& json, const LimitSettings& from);
void write_members(JsonWriter& json, const Need& from);
void write_members(JsonWriter& json, const NewMember& from);
void write_members(JsonWriter& json, const WorkflowUnique& from);
void write_members(JsonWriter& json, const NewWorkflow& from);

}  // namespace millrace::sdk
