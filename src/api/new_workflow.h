// A workflow that is to be created, decoded: the body of its call, and what a schedule or an ack
// names. Views and faults as in submission.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/submission.h"
#include "terms/workflow.h"

namespace millrace::api {

using terms::MemberRole;
using terms::NeedOn;
using terms::OnMemberFailed;

struct NewNeed {
  std::string ref;
  NeedOn on = NeedOn::kSucceeded;
};
struct NewMember {
  std::string ref;  // empty: none
  std::vector<NewNeed> needs;
  bool needs_any = false;
  JobSubmission job;  // without id, unique, expires_at; an empty queue is the workflow's
};
struct NewCallback {
  MemberRole role{};  // not kMember
  JobSubmission job;  // likewise
};
struct WorkflowKey {
  std::string key;
  bool reject = false;  // false: a conflict returns the holder
};

struct NewWorkflow {
  std::string queue = "default";
  std::optional<JobId> id;  // a UUIDv7
  std::string name;         // empty: none
  std::vector<std::string> tags;
  StringMap meta;
  std::vector<NewMember> members;  // `defaults` applied, every queue known
  bool open = false;
  OnMemberFailed on_member_failed = OnMemberFailed::kContinue;
  std::vector<NewCallback> callbacks;
  std::optional<std::int64_t> max_active;
  std::optional<Duration> timeout;
  std::string result_from;  // empty: none
  bool keep_members = true;
  std::optional<WorkflowKey> unique;
};

}  // namespace millrace::api
