// Commands about workflows: see command.h. All but the last three go to the workflow's home.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/audit/audit.h"
#include "core/workflows/workflow.h"
#include "terms/flow.h"

namespace millrace::core {

struct JobSpec;        // command.h
struct SubmissionKey;  // command.h

// A member as sent: it names what it needs.
struct MemberDraft {
  struct Need {
    SharedBytes ref;
    NeedOn on = NeedOn::kSucceeded;
  };
  SharedBytes ref;
  std::vector<Need> needs;
  bool any = false;
  SharedBytes queue;
  SharedBytes job;                           // as MemberSpec::job
  std::vector<terms::JobLimit> limits = {};  // the job's own, to be judged before its release
};

// What the ack of a member adds to its workflow, in the commit of its success.
struct Growth {
  std::vector<MemberDraft> members;  // at most kMaxGrownMembers, each with a ref
  std::vector<SharedBytes> skip;     // refs of members that need the acked one
};

struct CreateWorkflow {
  JobId id;
  bool id_of_client = false;  // then it may exist already
  WorkflowSpec spec;
  bool open = false;
  std::vector<MemberDraft> members;
  Fingerprint content;                       // of the request
  std::shared_ptr<const SubmissionKey> key;  // null: none
  bool reject = false;  // a workflow that holds the unique key: kDuplicateWorkflow, not that one
  SharedOrigin by = {};
};

// Adds members. A ref that exists is left alone.
struct AddMembers {
  JobId id;
  std::vector<MemberDraft> members;
  SharedBytes while_active;  // a ref: allowed while that member is active; empty: while open
  bool close = false;
  std::optional<std::uint64_t> if_version;
  std::shared_ptr<const SubmissionKey> key;  // null: none
};

struct CloseWorkflow {
  JobId id;
  std::optional<std::uint64_t> if_version;
};
struct CancelWorkflow {
  JobId id;
  SharedBytes reason;
  std::optional<std::uint64_t> if_version;
  SharedOrigin by = {};
};
struct RetryWorkflow {
  JobId id;
  std::vector<SharedBytes> refs;  // or "@number"; empty: the failures that nobody caught
  bool reset_attempts = true;
  bool drop_limits = false;
  std::optional<std::uint64_t> if_version;
  SharedOrigin by = {};
  // Of the refs, if their jobs were retried by hand: what has not failed in that round is passed
  // over, and an end that the workflow does not know yet is waited for (kOverloaded). Else empty.
  std::vector<std::uint32_t> rounds = {};
};
struct SkipMember {
  JobId id;
  SharedBytes ref;  // or "@number"
  std::optional<std::uint64_t> if_version;
  SharedOrigin by = {};
};
// An ended workflow, with the jobs of its members.
struct DeleteWorkflow {
  JobId id;
  bool by_retention = false;  // only if its time has come
  std::optional<std::uint64_t> if_version;
  SharedOrigin by = {};
};

// A workflow, and some of its members by number. A workflow that is not in memory is in the tables,
// or was never there.
struct GetWorkflow {
  JobId id;
  SharedBytes ref;  // or "@number": this one; empty: from `first`
  std::uint32_t first = 0;
  std::uint32_t limit = 0;           // of members; 0: none
  std::optional<MemberState> state;  // only members of this state
  bool why = false;
  bool queues = false;
};

// The ends of members whose jobs lie on another shard. An end that is known changes nothing.
struct SettleMembers {
  std::uint32_t shard = 0;  // the home of them all
  std::vector<MemberReport> reports;
};
// A new round of a member's job, or of one made anew if it is gone. Repeated, it changes nothing.
struct RetryMember {
  std::uint32_t shard = 0;              // of the job's queue
  std::shared_ptr<const JobSpec> spec;  // with the new membership
  bool reset_attempts = true;
  bool drop_limits = false;
};
// The workflow stops: waiting jobs end, running ones are told. Another round is left alone.
struct CancelMembers {
  struct Item {
    JobId job;
    std::uint32_t round = 0;
  };
  std::uint32_t shard = 0;
  std::vector<Item> items;
  SharedBytes reason;
};

// What a box in the outbox carries to another shard, or to this one: one of them. events.proto
// defines its bytes.
struct MemberMessage {
  std::optional<SettleMembers> settle;
  std::optional<RetryMember> retry;
  std::vector<JobId> remove;          // jobs of a workflow that goes; all of one shard
  std::optional<RetryWorkflow> wish;  // with `rounds`
};

}  // namespace millrace::core
