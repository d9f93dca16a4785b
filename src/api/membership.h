// What a job is to its workflow, as jobs and claims show it. Views as in job.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "terms/workflow.h"

namespace millrace {
class JsonWriter;
}

namespace millrace::api {

struct Membership {
  JobId workflow;
  std::string_view name;  // of the workflow; empty: none
  terms::MemberRole role{};
  std::uint64_t number = 0;  // kMember; the same for the next
  std::string_view ref;      // empty: none
  std::uint64_t generation = 1;
  terms::WorkflowState state{};
  // Of a callback:
  std::array<std::uint64_t, terms::kMemberStates> counts{};  // by MemberState
  std::vector<std::string_view> failed;                      // refs
};

// A member that the job's member needs, as it ended.
struct Parent {
  std::string_view ref;
  std::optional<JobId> id;  // none: it never had a job
  terms::MemberState state{};
  terms::MemberReason reason{};
  std::optional<std::string_view> result;  // raw JSON; empty: null
  std::string_view omitted;                // why the result is; empty: it is not
};

// The members `workflow` of a job, and `workflow` and `parents` of a claim.
void encode_workflow_of_job(JsonWriter& json, const Membership& membership);
void encode_workflow_of_claim(JsonWriter& json, const Membership& membership);
void encode_parents(JsonWriter& json, const std::vector<Parent>& parents);
// {"blocked": 0, ...}
void encode_counts(JsonWriter& json, const std::array<std::uint64_t, terms::kMemberStates>& counts);

}  // namespace millrace::api
