// The workflows of a Fake, and the rules by which their members are released, skipped and end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fake_answer.h"
#include "millrace/lease.h"
#include "millrace/transport.h"
#include "millrace/workflow.h"

namespace millrace::sdk {

class FakeJobs;
struct FakeJob;

struct FakeMember {
  NewMember spec;                      // with the workflow's defaults
  std::vector<std::size_t> needs;      // the numbers of what `spec.needs` names, in its order
  std::vector<std::size_t> needed_by;  // numbers
  std::string state = "blocked";
  std::string reason;
  std::string job_id;      // empty: not released yet
  bool is_caught = false;  // it failed, and a member that needs that was released

  bool has_ended() const { return state != "blocked" && state != "active"; }
};

struct FakeWorkflow {
  NewWorkflow spec;  // without its members
  std::string text;  // the request, to compare repetitions
  std::string state = "running";
  std::string reason;
  std::string cancel_reason;
  std::int64_t version = 1;
  Timestamp created_at;
  std::optional<Timestamp> ended_at;
  std::vector<FakeMember> members;                          // by number
  std::map<std::string, std::size_t, std::less<>> numbers;  // by ref
  MemberCounts counts;
  WorkflowCallbacks callbacks;
  std::deque<std::size_t> to_judge;  // members of which a need has ended
  std::set<std::size_t> waiting;     // members whose needs are met, until `max_active` has room
  bool is_advancing = false;
};

class FakeWorkflows {
 public:
  // `jobs` must outlive this object, which is a part of it.
  explicit FakeWorkflows(FakeJobs& jobs) : jobs_(jobs) {}

  // Answers a request whose path, split at slashes, is `parts`.
  Response answer(const Request& request, std::span<const std::string> parts,
                  std::string_view query);

  // --- For the jobs of members and callbacks.
  void job_ended(const FakeJob& job);
  // Adds what a claim says about the workflow.
  void describe(const FakeJob& job, ClaimedJob& claim) const;
  // Grows the job's workflow, or says why not.
  std::optional<FakeRefusal> grow(const FakeJob& job, Growth growth);

 private:
  using Refusal = FakeRefusal;
  using Members = std::vector<NewMember>;

  // --- The API (fake_workflow_api.cc).
  Response answer_member(FakeWorkflow& flow, const Request& request,
                         std::span<const std::string> parts, std::string_view query);
  Response create(const Request& request);
  Response add(FakeWorkflow& flow, const Request& request);
  Response list(std::string_view query) const;
  Response list_members(const FakeWorkflow& flow, std::string_view query) const;
  std::string encode(const FakeWorkflow& flow, bool with_result) const;
  void write_member(JsonWriter& json, const FakeWorkflow& flow, std::size_t number,
                    std::string_view query) const;

  // --- The rules (fake_workflows.cc).
  FakeWorkflow* known(const NewWorkflow& spec, std::string_view text,
                      std::optional<Refusal>& refusal);
  static std::vector<FieldError> faults_of(const FakeWorkflow& flow, const Members& members);
  // Returns how many were there already.
  std::size_t append(FakeWorkflow& flow, Members members);
  void advance(FakeWorkflow& flow);
  void judge(FakeWorkflow& flow, std::size_t number);
  void release(FakeWorkflow& flow, std::size_t number);
  void set_state(FakeWorkflow& flow, std::size_t number, std::string_view state,
                 std::string_view reason = {});
  void stop(FakeWorkflow& flow, std::string_view reason);
  void end(FakeWorkflow& flow);
  std::string submit_callback(FakeWorkflow& flow, const std::optional<NewJob>& callback);
  std::optional<Refusal> cancel(FakeWorkflow& flow, std::string_view reason);
  std::optional<Refusal> skip(FakeWorkflow& flow, std::size_t number);
  static std::optional<std::size_t> number_of(const FakeWorkflow& flow, std::string_view ref);

  FakeJobs& jobs_;
  std::map<std::string, FakeWorkflow> flows_;  // by id
  std::vector<std::string> order_;             // ids
  struct Key {
    std::string text;
    std::string id;
  };
  std::map<std::pair<std::string, std::string>, Key> keys_;  // by queue and idempotency key
  // The answers to additions, by workflow and idempotency key.
  std::map<std::pair<std::string, std::string>, std::string> additions_;
};

}  // namespace millrace::sdk
