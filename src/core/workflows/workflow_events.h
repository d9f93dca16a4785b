// Events of workflows: see event.h. A job that a release, a callback or a message makes is an event
// of its own in the same batch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/jobs/idempotency_key.h"
#include "core/workflows/workflow.h"

namespace millrace::core {

enum class WorkflowChange : std::uint8_t {
  kCreated,
  kGrown,
  kClosed,
  kStopping,  // nothing more is released
  kEnded,
  kRetried,      // MembersRevived follows
  kCalledBack,   // a callback has ended
  kLateSuccess,  // a job succeeded after its member had failed, and the workflow had ended
};
// Holds the whole record. Its counts are those of the moment; the members give them.
struct WorkflowSet {
  WorkflowChange change{};
  Workflow workflow;
  std::optional<IdempotencyKey> key;  // of the request; kCreated, kGrown, kClosed
};

struct MembersAdded {
  JobId workflow;
  SharedBytes queue;        // of the workflow
  std::uint32_t first = 0;  // the number of the first of them
  std::vector<MemberSpec> members;
  std::optional<std::uint32_t> by = {};  // the member whose ack added them; none: a call
};

struct MembersReleased {
  JobId workflow;
  std::vector<std::uint32_t> numbers;
};

// Members that end without an end of a job on this shard.
struct MembersSettled {
  enum class Cause : std::uint8_t {
    kNeeds,     // a need can't be met any more, or the workflow stops: skipped
    kCall,      // skipped by a call
    kRefused,   // its job was refused, or withdrawn before it left this shard
    kReported,  // by the job's shard
  };
  struct Item {
    std::uint32_t number = 0;
    std::uint32_t round = 0;
    MemberState state{};
    MemberReason reason{};
  };
  JobId workflow;
  SharedBytes queue;
  Cause cause{};
  std::vector<Item> items;
};

// Failed members are blocked again, and released once more as new rounds of their jobs. So is what
// was skipped, but for members that a call skipped.
struct MembersRevived {
  JobId workflow;
  std::vector<std::uint32_t> numbers;
};

struct WorkflowForgotten {
  JobId workflow;
  SharedBytes queue;
  WorkflowState state{};
};

}  // namespace millrace::core
