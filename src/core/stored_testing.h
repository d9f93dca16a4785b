// For tests: the tables of a shard, as maps.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/changes.h"
#include "core/machine.h"

namespace millrace::core {

// The content of the tables.
struct StoredForTests final : Prefetched {
  const Job* find(const JobId& id) const override {
    const auto found = jobs.find(id);
    return found == jobs.end() ? nullptr : &found->second;
  }
  const WorkflowImage* workflow(const JobId& id) const override {
    const auto found = workflows.find(id);
    return found == workflows.end() ? nullptr : &found->second;
  }
  void store(const Changes& changes) {
    facts = changes.facts;
    for (const JobId& id : changes.deleted) jobs.erase(id);
    for (const Job& job : changes.jobs) {
      SharedBytes payload = jobs[job.id].payload;
      Job& row = jobs[job.id] = job;
      if (row.payload.empty()) row.payload = payload;
    }
    for (const SharedBytes& name : changes.deleted_queues) queues.erase(std::string(name.view()));
    for (const Queue& queue : changes.queues) queues[std::string(queue.name.view())] = queue;
    for (const auto& gone : changes.deleted_limits) {
      limits.erase({gone.kind, std::string(gone.name.view())});
      std::erase_if(buckets, [&](const auto& row) {
        return row.second.kind == gone.kind && row.second.name == gone.name;
      });
    }
    for (const Limit& limit : changes.limits) {
      limits[{limit.kind, std::string(limit.name.view())}] = limit;
    }
    for (const BucketRow& row : changes.buckets) {
      const auto name =
          std::tuple(row.kind, std::string(row.name.view()), std::string(row.key.view()));
      if (!row.is_idle()) {
        buckets[name] = row;
      } else {
        buckets.erase(name);
      }
    }
    for (const JobId& id : changes.deleted_operations) operations.erase(id);
    for (const OperationPart& part : changes.operations) operations[part.id] = part;
    for (const KeyRow& row : changes.keys) keys.push_back(row);
    store_workflows(changes);
    ended.insert(ended.end(), changes.ended_leases.begin(), changes.ended_leases.end());
  }
  void store_workflows(const Changes& changes) {
    for (const JobId& id : changes.deleted_workflows) workflows.erase(id);
    for (const Workflow& workflow : changes.workflows) workflows[workflow.id].workflow = workflow;
    for (const MemberChunk& chunk : changes.member_chunks) {
      std::vector<MemberSpec>& members = workflows.at(chunk.workflow).members;
      MILLRACE_CHECK(members.size() == chunk.first && chunk.members.size() <= kMembersPerChunk);
      members.insert(members.end(), chunk.members.begin(), chunk.members.end());
    }
    for (const FatePage& page : changes.fate_pages) {
      std::vector<MemberFate>& fates = workflows.at(page.workflow).fates;
      fates.resize(std::max(fates.size(), page.first + page.fates.size()));
      std::ranges::copy(page.fates, fates.begin() + page.first);
    }
  }
  void load(Machine& machine) const {
    machine.load_facts(facts);
    for (const auto& [name, queue] : queues) machine.load_queue(queue);
    for (const auto& [name, limit] : limits) machine.load_limit(limit);
    for (const auto& [name, row] : buckets) machine.load_bucket(row);
    for (const auto& [id, job] : jobs) {
      if (!is_terminal(job.state)) machine.load_job(job);
    }
    for (const auto& [id, part] : operations) machine.load_operation(part);
    for (const KeyRow& row : keys) machine.load_key(row);
    for (const auto& [id, image] : workflows) {
      if (may_change(image.workflow)) machine.load_workflow(image);
    }
    for (const EndedLease& lease : ended) machine.load_ended_lease(lease);
  }

  ShardFacts facts;
  std::map<JobId, Job> jobs;
  std::map<std::string, Queue> queues;
  std::map<std::pair<LimitKind, std::string>, Limit> limits;
  std::map<std::tuple<LimitKind, std::string, std::string>, BucketRow> buckets;
  OperationIndex operations;
  std::vector<KeyRow> keys;
  std::map<JobId, WorkflowImage> workflows;
  std::vector<EndedLease> ended;
};

}  // namespace millrace::core
