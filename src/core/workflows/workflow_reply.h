// Answers about workflows: see reply.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/rejection.h"
#include "core/workflows/workflow.h"

namespace millrace::core {

struct MemberView {
  std::uint32_t number = 0;
  MemberSpec spec;
  MemberFate fate;
  JobId job;                           // kNoJob: it was never released
  std::vector<SharedBytes> need_refs;  // of `spec.needs`; "@number" of a member without a ref
  // Of one member that was asked for by its ref: needs that have not ended, the first 20.
  std::vector<SharedBytes> waits_for;
};

// Jobs on their way to another shard.
struct InTransit {
  std::uint32_t shard = 0;
  std::uint64_t count = 0;
};

struct WorkflowWhy {
  bool open = false;
  std::uint64_t active = 0;
  std::vector<JobId> active_jobs;  // the first 20
  std::uint64_t releasing = 0;     // decided, and not done yet
  bool at_max_active = false;
  std::vector<InTransit> in_transit;  // by shard
  bool overloaded = false;            // memory is full, so releases wait for ends
};

struct WorkflowReply {
  Refusal refusal;
  std::uint32_t at = 0;  // for kUnfitMembers: the place of the member in the command
  bool created = false;
  bool by_key = false;  // an earlier request with the same idempotency key created it
  JobId id;
  bool deleted = false;                      // known to be deleted: a row in the tables is stale
  std::shared_ptr<const Workflow> workflow;  // null: refused, or not in memory
  std::vector<MemberView> members;
  std::optional<std::uint32_t> next;  // the first member of the next page; none: there is none
  std::uint32_t added = 0;
  std::uint32_t existing = 0;
  std::optional<WorkflowWhy> why;
  std::vector<SharedBytes> queues;  // if asked for: of the record, its members and its callbacks
};

}  // namespace millrace::core
