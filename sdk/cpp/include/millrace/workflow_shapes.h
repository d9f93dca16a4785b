// Made by tools/types from docs/reference/openapi.yaml; do not edit.
// The structures of workflows that cross HTTP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/shapes.h"

namespace millrace::sdk {

// A member that another one waits for, and the end that it waits for.
struct Need {
  // The ref of another member.
  std::string ref{};
  // The end that is waited for. Default `succeeded`.
  std::string on{};

  Need() = default;
  // A ref alone is a need of its success.
  Need(const char* member) : ref(member) {}       // NOLINT: as a text in a list of needs
  Need(std::string member, std::string end = {})  // NOLINT: as above
      : ref(std::move(member)), on(std::move(end)) {}
  // The same member, once it has failed, or has ended in any way.
  Need failed() const { return {ref, "failed"}; }
  Need ended() const { return {ref, "ended"}; }
};

// A member to submit with a workflow. Only `job` is required; without a payload it has that of
// `NewWorkflow::defaults`.
struct NewMember {
  // A name by which other members and calls name this one.
  std::string ref{};
  NewJob job{};
  // What the member waits for; a ref alone stands for an object with it. Default `[]`: the member
  // starts at once. At most 1,000 entries.
  std::vector<Need> needs{};
  // The first need that is met releases it. Default `false`.
  std::optional<bool> needs_any{};
};

// At most one workflow of the queue that has not ended has a given key.
struct WorkflowUnique {
  // One workflow for each key within the queue, until it ends. 1 to 255 characters.
  std::string key{};
  // `return` the holder, or `reject` with 409 `duplicate_workflow`. Default `return`.
  std::string on_conflict{};
};

// A workflow to submit; WorkflowBuilder adds its members. The server's defaults apply to empty and
// unset members.
struct NewWorkflow {
  // What it is, for people.
  std::string name{};
  // The queue of the workflow itself, by which tokens see it and retention keeps it. Default
  // `default`.
  std::string queue{};
  // Default `[]`. A closed workflow without members succeeds at once. At most 10,000 entries.
  std::vector<NewMember> members{};
  // A job to submit when the workflow has succeeded.
  std::optional<NewJob> on_success{};
  // A job to submit when it has failed or was cancelled.
  std::optional<NewJob> on_failure{};
  // A job to submit when it has ended.
  std::optional<NewJob> on_end{};
  // What a member's failure does. Default `continue`.
  std::string on_member_failed{};
  // The most members that are active at once. Default no bound. 1 to 1,000,000.
  std::optional<std::int64_t> max_active{};
  // After this time of a generation it stops as if cancelled, and has failed. Default none. At most
  // 10 years.
  std::optional<Milliseconds> timeout{};
  // The ref of a member, whose result is the workflow's.
  std::string result_from{};
  // Allows one workflow for each key.
  std::optional<WorkflowUnique> unique{};
  // Members for the jobs of this request that do not name them.
  std::optional<NewJob> defaults{};
  // It takes more members, and ends only after it is closed. Default `false`.
  std::optional<bool> open{};
  // Keep the members' jobs until the workflow goes, whatever their queues' retention is. Default
  // `true`.
  std::optional<bool> keep_members{};
  // Names to find the workflow by. Default `[]`. At most 32 entries.
  std::vector<std::string> tags{};
  // The client's own strings, at most 8 KiB. Default `{}`.
  Meta meta{};
  // A UUIDv7 that the client makes, whose third group has the first 12 bits of SHA-256 of the
  // queue's name. If it is left out, the server makes one.
  std::string id{};
  // A repetition with the key returns the first workflow, for 24 hours (a setting).
  std::string idempotency_key{};
};

// The ids of the callbacks' jobs, once they are submitted.
struct WorkflowCallbacks {
  std::string on_success{};
  std::string on_failure{};
  std::string on_end{};
};

// A workflow as described by the server.
struct Workflow {
  // A UUIDv7.
  std::string id{};
  std::string name{};
  // The queue of the workflow itself.
  std::string queue{};
  // `stopping`: nothing more is released, and running jobs are told. `succeeded`, `failed` and
  // `cancelled` are final; a retry brings a failed or cancelled workflow back. No workflow has the
  // states `compensating` and `stuck` yet.
  std::string state{};
  // Why it stops, or has failed; empty if it does not.
  std::string reason{};
  // As the cancellation gave it. Left out if it gave none.
  std::string cancel_reason{};
  // Grows with each retry after the end.
  std::int64_t generation = 0;
  // Grows with each change of the workflow itself, not with those of its members.
  std::int64_t version = 0;
  // Whether it takes members from outside.
  bool open = false;
  std::optional<Timestamp> created_at{};
  // When this generation times out; unset if it does not.
  std::optional<Timestamp> timeout_at{};
  // Unset until it has ended.
  std::optional<Timestamp> ended_at{};
  // The number of members.
  std::int64_t members = 0;
  MemberCounts counts{};
  WorkflowCallbacks callbacks{};
  // At most 32 entries.
  std::vector<std::string> tags{};
  // The client's own strings, at most 8 KiB.
  Meta meta{};
  // `continue`: what hangs on it is skipped. `stop`: once nothing can catch it, what waits is
  // skipped, and running jobs are cancelled. `ignore`: as `continue`, but the workflow succeeds.
  std::string on_member_failed{};
  // Unset if there is no bound.
  std::optional<std::int64_t> max_active{};
  // Unset if there is none.
  std::optional<Milliseconds> timeout{};
  // The ref of the member whose result is the workflow's; empty if there is none.
  std::string result_from{};
  // Whether the members' jobs stay until the workflow goes.
  bool keep_members = false;
  // Unset if it has no unique key.
  std::optional<WorkflowUnique> unique{};
  // With `include=result`; unset until there is one. Raw JSON.
  std::optional<std::string> result{};
  // Jobs of queues that the token does not open, or results that it may not see, are left out.
  // Always `true`.
  bool redacted = false;
  // The complete object as the server sent it.
  std::string json{};

  // succeeded, failed or cancelled; or pruned: already removed, and known only by its key.
  bool is_final() const;
};

// A member of a workflow.
struct Member {
  // Its place in the workflow, from 0.
  std::int64_t number = 0;
  // Empty if it has none.
  std::string ref{};
  // `blocked` waits for what it needs; `active` has a job that has not ended. `skipped`: a need
  // can't be met any more, the workflow stopped, or a call skipped it.
  std::string state{};
  // Why a member has failed or was skipped; empty if nothing is known. `refused`: its job was, at
  // its release. `by_call`: a call, or the ack of a member that it needs, skipped it.
  // `growth_refused`: its job succeeded, and the workflow refused what the ack added.
  std::string reason{};
  // How often it was released.
  std::int64_t generation = 0;
  // The queue of its job. Left out, as is what follows, if the token does not open it.
  std::string queue{};
  // Empty until it is released.
  std::string job_id{};
  // With `include=job`, unless there is none.
  std::optional<Job> job{};
  // With `include=result`; unset if there is none. Raw JSON.
  std::optional<std::string> result{};
  // Jobs of queues that the token does not open, or results that it may not see, are left out.
  // Always `true`.
  bool redacted = false;
  // The complete object as the server sent it.
  std::string json{};
};

// One member, with its definition.
struct MemberDetail {
  // Its place in the workflow, from 0.
  std::int64_t number = 0;
  // Empty if it has none.
  std::string ref{};
  // `blocked` waits for what it needs; `active` has a job that has not ended. `skipped`: a need
  // can't be met any more, the workflow stopped, or a call skipped it.
  std::string state{};
  // Why a member has failed or was skipped; empty if nothing is known. `refused`: its job was, at
  // its release. `by_call`: a call, or the ack of a member that it needs, skipped it.
  // `growth_refused`: its job succeeded, and the workflow refused what the ack added.
  std::string reason{};
  // How often it was released.
  std::int64_t generation = 0;
  // The queue of its job. Left out, as is what follows, if the token does not open it.
  std::string queue{};
  // Empty until it is released.
  std::string job_id{};
  // With `include=job`, unless there is none.
  std::optional<Job> job{};
  // With `include=result`; unset if there is none. Raw JSON.
  std::optional<std::string> result{};
  // Jobs of queues that the token does not open, or results that it may not see, are left out.
  // Always `true`.
  bool redacted = false;
  std::vector<Need> needs{};
  // Whether the first need that is met releases it.
  bool needs_any = false;
  // The job as it was given. Left out if the token does not open its queue. Raw JSON.
  std::string definition{};
  // Needs that have not ended, at most 20.
  std::vector<std::string> waits_for{};
  // The complete object as the server sent it.
  std::string json{};
};

// A member in the graph of its workflow.
struct GraphLine {
  std::int64_t number = 0;
  // Empty if it has none.
  std::string ref{};
  // What the member is.
  std::string kind{};
  // `blocked` waits for what it needs; `active` has a job that has not ended. `skipped`: a need
  // can't be met any more, the workflow stopped, or a call skipped it.
  std::string state{};
  std::vector<Need> needs{};
  // The complete object as the server sent it.
  std::string json{};
};

// What a workflow waits for; what else is set depends on `code`.
struct WorkflowBlocking {
  // `open`: it is not closed. `active`: members have jobs that have not ended. `max_active`:
  // members wait, because as many as that are active. `releasing`: members are about to be
  // submitted. `in_transit`: jobs are on the way to another shard. `overloaded`: the server's
  // memory is full. `ended`: the workflow has.
  std::string code{};
  // The shard to which the jobs are on the way.
  std::optional<std::int64_t> shard{};
  // How many.
  std::optional<std::int64_t> count{};
  // The first 20 of them. Left out for a token that is limited to queues.
  std::vector<std::string> jobs{};
};

// Why a workflow has not ended.
struct WorkflowWhy {
  std::string id{};
  // `stopping`: nothing more is released, and running jobs are told. `succeeded`, `failed` and
  // `cancelled` are final; a retry brings a failed or cancelled workflow back. No workflow has the
  // states `compensating` and `stuck` yet.
  std::string state{};
  std::optional<Timestamp> at{};
  // Sentences for a person.
  std::string summary{};
  std::vector<WorkflowBlocking> blocking{};
  // Jobs of queues that the token does not open, or results that it may not see, are left out.
  // Always `true`.
  bool redacted = false;
  // The complete object as the server sent it.
  std::string json{};
};

// The result of an addition of members.
struct AddedMembers {
  // How many members were added.
  std::int64_t added = 0;
  // How many were there already.
  std::int64_t existing = 0;
  // How many the workflow has now.
  std::int64_t members = 0;
  // The complete object as the server sent it.
  std::string json{};
};

}  // namespace millrace::sdk
