// Workflows: submissions, decoded, and their state, encoded. Views and faults as in submission.h
// and job.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/list.h"
#include "api/new_workflow.h"
#include "api/problem.h"
#include "api/schedule.h"
#include "api/submission.h"
#include "terms/workflow.h"

namespace millrace::api {

using terms::kMemberStates;
using terms::MemberReason;
using terms::MemberState;
using terms::WorkflowReason;
using terms::WorkflowState;

// --- In.

// POST /v1/workflows.
Decoded<NewWorkflow> decode_workflow(std::string_view body, const DecodeLimits& limits);

// POST /v1/workflows/{id}/members.
struct MoreMembers {
  std::vector<NewMember> members;
  std::string by;  // a ref, or "@number"; empty: from outside
  bool close = false;
};
Decoded<MoreMembers> decode_more_members(std::string_view body, const DecodeLimits& limits);

// What an ack of a member adds to its workflow.
struct Growth {
  std::vector<NewMember> members;  // each with a ref
  std::vector<std::string> skip;   // refs, or "@number"
};

// POST /v1/workflows/{id}/retry.
struct WorkflowRetry {
  std::vector<std::string> refs;  // or "@number"; empty: the failures that nobody caught
  bool reset_attempts = true;
  bool drop_limits = false;
};
Decoded<WorkflowRetry> decode_workflow_retry(std::string_view body, const DecodeLimits& limits);

struct WorkflowListQuery {
  std::vector<WorkflowState> states;  // any of these; empty: all
  std::string queue;                  // empty: all; the same for the next two
  std::string name;
  std::string tag;
  std::optional<Time> created_after;   // inclusive
  std::optional<Time> created_before;  // exclusive
  Page page;
};
Decoded<WorkflowListQuery> decode_workflow_list_query(std::string_view query_string);

struct WorkflowGet {
  bool result = false;  // include=result
  Duration wait{0};     // above 0: until it has ended
};
Decoded<WorkflowGet> decode_workflow_query(std::string_view query_string);

// What to add to a member.
struct MemberInclude {
  bool job = false;
  bool result = false;
};
struct MemberListQuery {
  std::optional<MemberState> state;
  Page page;
  MemberInclude include;
};
Decoded<MemberListQuery> decode_member_list_query(std::string_view query_string);

struct MemberGet {
  MemberInclude include;
  Duration wait{0};  // until it has ended
};
Decoded<MemberGet> decode_member_query(std::string_view query_string);

struct GraphQuery {
  std::string cursor;
};
Decoded<GraphQuery> decode_graph_query(std::string_view query_string);

// --- Out.

struct Workflow {
  JobId id;
  std::string_view name;  // empty: null
  std::string_view queue;
  WorkflowState state{};
  WorkflowReason reason{};
  std::string_view cancel_reason;  // empty: absent
  std::uint64_t generation = 1;
  std::uint64_t version = 1;
  bool open = false;
  Time created_at{};
  std::optional<Time> timeout_at;
  std::optional<Time> ended_at;
  std::uint64_t members = 0;
  std::array<std::uint64_t, kMemberStates> counts{};  // by MemberState
  struct Callback {
    MemberRole role{};
    JobId job;
  };
  std::vector<Callback> callbacks;
  // What was set.
  std::vector<std::string_view> tags;
  StringMapView meta;
  OnMemberFailed on_member_failed{};
  std::optional<std::int64_t> max_active;
  std::optional<Duration> timeout;
  std::string_view result_from;  // empty: null
  bool keep_members = true;
  std::string_view unique_key;             // empty: null
  std::optional<std::string_view> result;  // raw JSON, empty: null; none: not asked for
  bool redacted = false;                   // a callback or the result is left out
};
void encode(JsonWriter& json, const Workflow& workflow);

struct MemberNeed {
  std::string_view ref;
  NeedOn on{};
};
// What one member alone shows.
struct MemberDefinition {
  std::vector<MemberNeed> needs;
  bool needs_any = false;
  ScheduleJob job;  // as specified
  std::vector<std::string_view> waits_for;
};
struct WorkflowMember {
  std::uint64_t number = 0;
  std::string_view ref;  // empty: null
  MemberState state{};
  MemberReason reason{};
  std::uint64_t generation = 0;  // how often it was released
  std::string_view queue;
  std::optional<JobId> job_id;             // none: it was never released
  std::optional<std::string_view> result;  // as in Workflow
  const Job* job = nullptr;                // null: absent
  bool closed = false;    // to the caller: the job and what is known of it are left out
  bool redacted = false;  // the result is
  std::optional<MemberDefinition> definition;
};
void encode(JsonWriter& json, const WorkflowMember& member);

struct GraphLine {
  std::uint64_t number = 0;
  std::string_view ref;  // empty: null
  MemberState state{};
  std::vector<MemberNeed> needs;
};
void encode(JsonWriter& json, const GraphLine& line);

struct MembersAnswer {
  std::uint64_t added = 0;
  std::uint64_t existing = 0;
  std::uint64_t members = 0;
};
void encode(JsonWriter& json, const MembersAnswer& answer);

// Why a workflow has not ended.
struct WorkflowBlocking {
  std::string_view code;
  std::optional<std::uint64_t> count = {};
  std::optional<std::uint64_t> shard = {};
  std::optional<std::vector<JobId>> jobs = {};
};
struct WorkflowWhy {
  JobId id;
  WorkflowState state{};
  Time at{};
  std::string summary;
  std::vector<WorkflowBlocking> blocking;
  bool redacted = false;  // jobs are left out
};
void encode(JsonWriter& json, const WorkflowWhy& why);

}  // namespace millrace::api
