// The workflows of a shard: all that have not ended, and ended ones that a retry or a late success
// can still change. An entry's address stays the same until it is removed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/string_map.h"
#include "core/workflows/graph.h"
#include "core/workflows/workflow.h"

namespace millrace::core {

struct WorkflowEntry {
  struct Member {
    SharedBytes ref;
    SharedBytes queue;
    SharedBytes job;
    std::uint32_t round = 0;
  };
  Workflow workflow;  // its `members` and `counts` follow from the next two
  WorkflowGraph graph;
  std::vector<Member> members;
  absl::flat_hash_map<std::string_view, std::uint32_t> refs;  // views of the members' own
  absl::flat_hash_set<std::string_view> queues;               // likewise
  std::size_t bytes = 0;                                      // of the definitions
  std::uint64_t active = 0;              // as ShardState::workflows_active counts it
  bool late = false;                     // a job succeeded after the end; no event says so yet
  bool called_back = false;              // a callback has ended; likewise
  std::uint32_t cancelled_to = 0;        // of a stopping one: members below it were cancelled
  std::optional<WorkflowState> counted;  // as WorkflowIndex::totals() counts it
  MemberCounts counted_members{};        // likewise
  bool dirty = false;                    // the projection must write the record
  std::uint32_t unstored = 0;            // members from this one on have no row yet
  absl::btree_set<std::uint32_t> changed_pages;  // of fates: numbers of their first members

  // None: no member has that ref, which may be "@number".
  std::optional<MemberNumber> find(std::string_view ref) const;
  MemberSpec spec_of(MemberNumber member) const;
  MemberFate fate_of(MemberNumber member) const;
  JobId job_of(MemberNumber member) const;  // kNoJob: it was never released
  // The record with its counts.
  Workflow record() const;
  // How it ends, if it ends now; none: it does not.
  std::optional<WorkflowState> end() const;
  // The members from `first` on, at most `count`.
  WorkflowImage image(std::uint32_t first, std::uint32_t count) const;

  void add(const std::vector<MemberSpec>& added);
  // Makes the graph anew: fates of the members by number.
  void rebuild(const std::vector<MemberFate>& fates);
};

// Of the workflows in memory, and of their members.
struct WorkflowTotals {
  std::array<std::uint64_t, terms::kWorkflowStates> workflows{};  // by WorkflowState
  MemberCounts members{};
};

class WorkflowIndex {
 public:
  // Null: it is not in memory.
  WorkflowEntry* find(const JobId& id) {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : found->second.get();
  }
  const WorkflowEntry* find(const JobId& id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : found->second.get();
  }
  // The running workflow that holds the key of a queue; null: the key is free.
  const WorkflowEntry* holder(std::string_view queue, std::string_view key) const;

  // set() also takes the place of the record of an entry.
  WorkflowEntry& set(const Workflow& workflow);
  void remove(WorkflowEntry& entry);
  // Something of the entry has changed: it may have something to decide.
  void touch(WorkflowEntry& entry) {
    pending_.insert(entry.workflow.id);
    count(entry);
  }
  void settle(const JobId& id) { pending_.erase(id); }
  // The first workflow after `after`, in order of ids and then from the beginning, that may have
  // something to decide.
  std::optional<JobId> next_pending(const JobId& after) const;

  std::optional<Time> next_timeout() const {
    return timeouts_.empty() ? std::nullopt : std::optional(timeouts_.begin()->first);
  }
  std::optional<JobId> timed_out(Time now) const {
    if (timeouts_.empty() || timeouts_.begin()->first > now) return std::nullopt;
    return timeouts_.begin()->second;
  }
  std::size_t pending() const { return pending_.size(); }
  const absl::btree_set<JobId>& stopping() const { return stopping_; }
  std::size_t size() const { return by_id_.size(); }
  // As of each entry's last touch().
  const WorkflowTotals& totals() const { return totals_; }
  const absl::btree_map<JobId, std::unique_ptr<WorkflowEntry>>& all() const { return by_id_; }

 private:
  void list(WorkflowEntry& entry);
  void unlist(WorkflowEntry& entry);
  void count(WorkflowEntry& entry);
  void uncount(const WorkflowEntry& entry);

  absl::btree_map<JobId, std::unique_ptr<WorkflowEntry>> by_id_;
  absl::btree_set<JobId> pending_;
  absl::btree_set<JobId> stopping_;
  absl::btree_set<std::pair<Time, JobId>> timeouts_;  // of running ones
  WorkflowTotals totals_;
  StringMap<JobId> unique_;  // "queue \0 key", of those that have not ended
};

}  // namespace millrace::core
