// The members of a workflow: what each is, and how far it has come.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/workflows/need.h"

namespace millrace::core {

using terms::MemberRole;
using terms::OnMemberFailed;
using terms::WorkflowReason;
using terms::WorkflowState;

using MemberCounts = std::array<std::uint64_t, terms::kMemberStates>;  // by MemberState

// A member as its workflow keeps it. The machine does not read the job until its release.
struct MemberSpec {
  SharedBytes ref;          // empty: none
  std::vector<Need> needs;  // of earlier members, or of members that were added with it
  bool any = false;         // the first need that is met releases it
  SharedBytes queue;        // of its job
  SharedBytes job;          // a submission without an id (store/submission_codec.h)
  friend bool operator==(const MemberSpec& a, const MemberSpec& b);
};

// How far a member has come.
struct MemberFate {
  MemberState state = MemberState::kBlocked;
  MemberReason reason = MemberReason::kNone;
  std::uint32_t round = 0;  // how often it was released; a retry releases it again
  friend bool operator==(const MemberFate&, const MemberFate&) = default;
};

// Rows of the tables: the members from `first` on.
inline constexpr std::uint32_t kMembersPerChunk = 256;
struct MemberChunk {
  JobId workflow;
  std::uint32_t first = 0;
  std::vector<MemberSpec> members;  // at most kMembersPerChunk; a row never changes
};
inline constexpr std::uint32_t kFatesPerPage = 1'024;
struct FatePage {
  JobId workflow;
  std::uint32_t first = 0;  // a multiple of kFatesPerPage
  std::vector<MemberFate> fates;
};

// A member that another one needs, as it ended.
struct Parent {
  SharedBytes ref;
  JobId job;  // kNoJob: it never had one
  MemberState state{};
  MemberReason reason{};
  friend bool operator==(const Parent&, const Parent&) = default;
};

// What a job is to its workflow. The job has it from its release on.
struct Membership {
  JobId workflow;
  SharedBytes name;  // of the workflow; empty: none
  MemberRole role = MemberRole::kMember;
  std::uint32_t number = 0;      // kMember
  SharedBytes ref;               // kMember
  std::uint32_t round = 1;       // see MemberFate; an end of an earlier round does not count
  bool kept = false;             // the job stays until its workflow goes
  std::uint32_t generation = 1;  // of the workflow
  WorkflowState state = WorkflowState::kRunning;  // a callback: as the workflow ended
  std::vector<Parent> parents;                    // kMember: what it needs
  MemberCounts counts{};                          // a callback: of the members
  std::vector<SharedBytes> failed;                // a callback: refs, at most kMaxFailedRefs
  friend bool operator==(const Membership&, const Membership&) = default;
};

struct Growth;  // workflow_commands.h

// The end of a member's or a callback's job, as its shard tells the workflow's.
struct MemberReport {
  JobId workflow;
  MemberRole role = MemberRole::kMember;
  std::uint32_t number = 0;
  std::uint32_t round = 0;
  MemberState state{};  // kSucceeded or kFailed
  MemberReason reason{};
  std::shared_ptr<const Growth> grow = nullptr;  // kSucceeded: what the ack adds; null: nothing
};

// An operator retries a member's job: its workflow decides whether the member runs again.
struct MemberWish {
  JobId workflow;
  std::uint32_t number = 0;
  std::uint32_t round = 0;
  bool reset_attempts = true;
  bool drop_limits = false;
};

// The id of a member's job. The same member always gives the same id, so a job that still exists is
// recognized.
JobId member_job_id(const JobId& workflow, Time created_at, std::uint32_t number,
                    std::string_view queue);
// The same for the callback of a generation.
JobId callback_job_id(const JobId& workflow, Time created_at, MemberRole role,
                      std::uint32_t generation, std::string_view queue);

}  // namespace millrace::core
