// Workflows: creation, growth, deletion and reads.

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/check.h"
#include "core/bounds.h"
#include "core/workflows/read_workflow.h"
#include "core/workflows/workflow_decider.h"
#include "digest/fingerprint.h"

namespace millrace::core {
namespace {

// A workflow that only the tables hold, as an entry.
WorkflowEntry entry_of(const WorkflowImage& image) {
  WorkflowEntry entry;
  entry.workflow = image.workflow;
  entry.add(image.members);
  entry.rebuild(image.fates);
  return entry;
}

constexpr std::size_t kRemovedPerMessage = 1'000;

}  // namespace

WorkflowReply WorkflowDecider::made(const JobId& id, bool created) const {
  WorkflowReply reply;
  reply.created = created;
  reply.id = id;
  if (const WorkflowEntry* const entry = state_.workflows.find(id)) {
    reply.workflow = std::make_shared<const Workflow>(entry->record());
  }
  return reply;
}

const WorkflowEntry* WorkflowDecider::find_workflow(const JobId& id,
                                                    const std::optional<std::uint64_t>& if_version,
                                                    WorkflowReply& refusal) const {
  const WorkflowEntry* const entry = state_.workflows.find(id);
  if (entry == nullptr) {
    // One that only the tables hold can't change any more.
    const bool stored = prefetched_.workflow(id) != nullptr;
    refusal = stored ? refused_workflow(Rejection::kInvalidState, RefusalDetail::kWorkflowEnded)
                     : refused_workflow(Rejection::kNotFound);
    return nullptr;
  }
  if (if_version && *if_version != entry->workflow.version) {
    refusal = refused_workflow(Rejection::kVersionConflict);
    return nullptr;
  }
  return entry;
}

namespace {

Refusal judge_sizes(const WorkflowEntry* entry, const std::vector<MemberSpec>& added) {
  std::size_t members = added.size() + (entry == nullptr ? 0 : entry->members.size());
  std::size_t needs = entry == nullptr ? 0 : entry->graph.needs();
  absl::flat_hash_set<std::string_view> queues;
  absl::flat_hash_map<std::uint32_t, std::uint32_t> needed_by;
  for (const MemberSpec& member : added) {
    needs += member.needs.size();
    queues.insert(member.queue.view());
    for (const Need& need : member.needs) ++needed_by[to_number(need.of)];
  }
  const auto too_many = [](RefusalDetail detail) {
    return Refusal{Rejection::kUnfitMembers, {}, detail};
  };
  if (members > kMaxMembers) return too_many(RefusalDetail::kTooManyMembers);
  if (needs > kMaxNeeds) return too_many(RefusalDetail::kTooManyNeeds);
  for (const auto& [of, more] : needed_by) {
    const bool older = entry != nullptr && of < entry->members.size();
    const std::size_t before = older ? entry->graph.dependants(MemberNumber{of}) : 0;
    if (before + more > kMaxDependants) return too_many(RefusalDetail::kTooManyDependants);
  }
  if (entry != nullptr) {
    for (const std::string_view queue : entry->queues) queues.insert(queue);
  }
  if (queues.size() > kMaxWorkflowQueues) return too_many(RefusalDetail::kTooManyMemberQueues);
  return {};
}

}  // namespace

ResolvedMembers resolve_members(const WorkflowEntry* entry,
                                const std::vector<MemberDraft>& drafts) {
  ResolvedMembers made;
  const auto first = static_cast<std::uint32_t>(entry == nullptr ? 0 : entry->members.size());
  absl::flat_hash_map<std::string_view, std::uint32_t> added;
  const auto refuse = [&](std::uint32_t at, RefusalDetail detail) {
    made.refusal = {Rejection::kUnfitMembers, {}, detail};
    made.at = at;
    return std::move(made);
  };
  for (std::uint32_t i = 0; i < drafts.size(); ++i) {
    const SharedBytes& ref = drafts[i].ref;
    if (entry != nullptr && !ref.empty() && entry->refs.contains(ref.view())) {
      ++made.existing;
      continue;
    }
    const auto number = first + static_cast<std::uint32_t>(made.places.size());
    if (!ref.empty() && !added.emplace(ref.view(), number).second) {
      return refuse(i, RefusalDetail::kRefTwice);
    }
    made.places.push_back(i);
  }
  for (const std::uint32_t place : made.places) {
    const MemberDraft& draft = drafts[place];
    MemberSpec& member = made.members.emplace_back();
    member.ref = draft.ref;
    member.any = draft.any;
    member.queue = draft.queue;
    member.job = draft.job;
    absl::flat_hash_set<std::uint32_t> named;
    for (const MemberDraft::Need& need : draft.needs) {
      std::optional<std::uint32_t> of;
      if (const auto found = added.find(need.ref.view()); found != added.end()) {
        of = found->second;
      } else if (entry != nullptr) {
        if (const auto older = entry->refs.find(need.ref.view()); older != entry->refs.end()) {
          of = older->second;
        }
      }
      if (!of) return refuse(place, RefusalDetail::kUnknownRef);
      if (!named.insert(*of).second) return refuse(place, RefusalDetail::kNeedTwice);
      member.needs.push_back({MemberNumber{*of}, need.on});
    }
  }
  std::vector<WorkflowGraph::Added> lines;
  lines.reserve(made.members.size());
  for (const MemberSpec& member : made.members) lines.push_back({member.needs, member.any});
  const WorkflowGraph none;
  const auto circle = (entry == nullptr ? none : entry->graph).find_circle(lines);
  if (circle) return refuse(made.places[*circle], RefusalDetail::kCircle);
  if (Refusal sizes = judge_sizes(entry, made.members)) made.refusal = std::move(sizes);
  return made;
}

namespace {

bool gives_result(const std::vector<MemberSpec>& members, const SharedBytes& ref) {
  return std::ranges::any_of(members, [&](const MemberSpec& member) { return member.ref == ref; });
}

WorkflowReply refusal_of(const CreateWorkflow& create, const ResolvedMembers& resolved) {
  WorkflowReply reply;
  reply.refusal = resolved.refusal;
  reply.at = resolved.at;
  const SharedBytes& result_from = create.spec.result_from;
  if (reply.refusal || result_from.empty() || create.open) return reply;
  if (!gives_result(resolved.members, result_from)) {
    reply.refusal = {Rejection::kUnfitMembers, {}, RefusalDetail::kUnknownResultRef};
  }
  return reply;
}

}  // namespace

WorkflowReply judge_workflow(const CreateWorkflow& create) {
  return refusal_of(create, resolve_members(nullptr, create.members));
}

ResolvedMembers WorkflowDecider::resolve(const WorkflowEntry* entry,
                                         const std::vector<MemberDraft>& drafts) const {
  ResolvedMembers made = resolve_members(entry, drafts);
  if (made.refusal) return made;
  for (const std::uint32_t place : made.places) {
    const Refusal limits = judge_limits(drafts[place].limits);
    if (!limits) continue;
    made.refusal = {Rejection::kUnfitMembers, {}, limits.detail};
    made.at = place;
    return made;
  }
  return made;
}

// The answer to a request that was made before, or whose unique key is held.
std::optional<WorkflowReply> WorkflowDecider::repeated(const CreateWorkflow& command) const {
  if (command.key != nullptr) {
    if (const auto verdict = judge_key(*command.key, {})) {
      WorkflowReply reply;
      if (verdict->fate == Fate::kExisting) {
        reply = made(verdict->id);
        reply.by_key = true;
        return reply;
      }
      reply.refusal = verdict->refusal;
      return reply;
    }
  }
  const WorkflowEntry* const entry = state_.workflows.find(command.id);
  // It was read before the step, which may have deleted it.
  const WorkflowImage* const stored =
      state_.changes.is_forgotten(command.id) ? nullptr : prefetched_.workflow(command.id);
  if (entry != nullptr || stored != nullptr) {
    const Fingerprint& before =
        entry != nullptr ? entry->workflow.content : stored->workflow.content;
    if (before != command.content) {
      return refused_workflow(Rejection::kIdMismatch, RefusalDetail::kIdOfAnotherWorkflow);
    }
    return made(command.id);
  }
  if (command.spec.unique_key.empty()) return std::nullopt;
  const WorkflowEntry* const holder =
      state_.workflows.holder(command.spec.queue.view(), command.spec.unique_key.view());
  if (holder == nullptr) return std::nullopt;
  if (!command.reject) return made(holder->workflow.id);
  WorkflowReply reply =
      refused_workflow(Rejection::kDuplicateWorkflow, RefusalDetail::kWorkflowKeyHeld);
  reply.refusal.other = holder->workflow.id;
  return reply;
}

Reply WorkflowDecider::operator()(const CreateWorkflow& command) {
  if (auto known = repeated(command)) return std::move(*known);
  if (const Refusal refusal = closed()) return refused_workflow(refusal.why, refusal.detail);
  if (command.key != nullptr && state_.keys.size() >= options_.max_keys) {
    return refused_workflow(Rejection::kOverloaded, RefusalDetail::kTooManyKeys);
  }
  if (state_.find_queue(command.spec.queue.view()) == nullptr) {
    if (const auto refusal = judge_new_queue(command.spec.queue)) {
      return refused_workflow(refusal->why, refusal->detail);
    }
  }
  ResolvedMembers resolved = resolve(nullptr, command.members);
  if (WorkflowReply refusal = refusal_of(command, resolved); refusal.refusal) return refusal;
  queue_for(command.spec.queue);
  WorkflowSet created;
  created.change = WorkflowChange::kCreated;
  Workflow& workflow = created.workflow;
  workflow.id = command.id;
  workflow.spec = command.spec;
  workflow.content = command.content;
  workflow.open = command.open;
  workflow.created_at = now_;
  workflow.members = static_cast<std::uint32_t>(resolved.members.size());
  workflow.counts[static_cast<std::size_t>(MemberState::kBlocked)] = workflow.members;
  if (command.spec.timeout) workflow.timeout_at = add_saturating(now_, *command.spec.timeout);
  if (command.key != nullptr) {
    created.key = IdempotencyKey{command.key->key, command.key->body,
                                 add_saturating(now_, command.key->window)};
  }
  emit(std::move(created));
  if (!resolved.members.empty()) {
    emit(MembersAdded{command.id, command.spec.queue, 0, std::move(resolved.members)});
  }
  return made(command.id, true);
}

Reply WorkflowDecider::operator()(const AddMembers& command) {
  if (command.key != nullptr) {
    if (const auto verdict = judge_key(*command.key, {})) {
      WorkflowReply reply = made(command.id);
      reply.existing = static_cast<std::uint32_t>(command.members.size());
      reply.refusal = verdict->refusal;
      return reply;
    }
  }
  WorkflowReply refusal;
  const WorkflowEntry* const entry = find_workflow(command.id, command.if_version, refusal);
  if (entry == nullptr) return refusal;
  if (terms::has_ended(entry->workflow.state)) {
    return refused_workflow(Rejection::kInvalidState, RefusalDetail::kWorkflowEnded);
  }
  ResolvedMembers resolved = resolve(entry, command.members);
  if (resolved.refusal) {
    refusal.refusal = resolved.refusal;
    refusal.at = resolved.at;
    return refusal;
  }
  if (!resolved.members.empty()) {
    if (command.while_active.empty() && !entry->workflow.open) {
      return refused_workflow(Rejection::kInvalidState, RefusalDetail::kWorkflowClosed);
    }
    if (!command.while_active.empty()) {
      const auto by = entry->find(command.while_active.view());
      if (!by || entry->graph.state(*by) != MemberState::kActive) {
        return refused_workflow(Rejection::kInvalidState, RefusalDetail::kMemberNotActive);
      }
    }
    if (const Refusal full = closed()) return refused_workflow(full.why, full.detail);
    if (command.key != nullptr && state_.keys.size() >= options_.max_keys) {
      return refused_workflow(Rejection::kOverloaded, RefusalDetail::kTooManyKeys);
    }
  }
  const auto added = static_cast<std::uint32_t>(resolved.members.size());
  const bool closes = command.close && entry->workflow.open;
  if (added > 0) {
    const auto first = static_cast<std::uint32_t>(entry->members.size());
    emit(MembersAdded{command.id, entry->workflow.spec.queue, first, std::move(resolved.members)});
  }
  if (added > 0 || closes) {
    WorkflowSet set{closes ? WorkflowChange::kClosed : WorkflowChange::kGrown, entry->record(), {}};
    ++set.workflow.version;
    if (closes) set.workflow.open = false;
    if (command.key != nullptr) {
      set.key = IdempotencyKey{command.key->key, command.key->body,
                               add_saturating(now_, command.key->window)};
    }
    emit(std::move(set));
  }
  WorkflowReply reply = made(command.id);
  reply.added = added;
  reply.existing = resolved.existing;
  return reply;
}

Reply WorkflowDecider::operator()(const CloseWorkflow& command) {
  WorkflowReply refusal;
  const WorkflowEntry* const entry = find_workflow(command.id, command.if_version, refusal);
  if (entry == nullptr) return refusal;
  if (entry->workflow.open) {
    WorkflowSet set{WorkflowChange::kClosed, entry->record(), {}};
    set.workflow.open = false;
    ++set.workflow.version;
    emit(std::move(set));
  }
  return made(command.id);
}

bool WorkflowDecider::is_due_for_retention(const Workflow& workflow) const {
  if (calls_back(workflow)) return false;
  const QueueEntry* const queue = state_.find_queue(workflow.spec.queue.view());
  const Retention& retention =
      queue == nullptr ? options_.default_retention : queue->settings.retention;
  const auto& keep = retention.of(retained_as(workflow.state));
  return keep && workflow.ended_at && add_saturating(*workflow.ended_at, *keep) <= now_;
}

void WorkflowDecider::send(const MemberMessage& message, std::string_view about) {
  const std::string place = std::string(about) + " " + std::to_string(state_.facts.next_ord);
  const Fingerprint random = fingerprint(place);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 8; ++i) bits = bits << 8 | random.bytes[i];
  const JobId id = make_job_id(now_, static_cast<std::uint16_t>(options_.shard), bits);
  submit_judged(options_.submissions->box_of(message, id));
}

// Each message names jobs of one shard.
void WorkflowDecider::remove_jobs(const WorkflowEntry& entry) {
  std::map<std::uint32_t, std::vector<JobId>> jobs;
  for (std::uint32_t i = 0; i < entry.members.size(); ++i) {
    const JobId job = entry.job_of(MemberNumber{i});
    if (job != kNoJob) jobs[queue_bits(job) % options_.shards].push_back(job);
  }
  for (const auto& [shard, ids] : jobs) {
    for (std::size_t i = 0; i < ids.size(); i += kRemovedPerMessage) {
      MemberMessage message;
      const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(i);
      const auto end =
          ids.begin() + static_cast<std::ptrdiff_t>(std::min(ids.size(), i + kRemovedPerMessage));
      message.remove.assign(begin, end);
      send(message, "remove " + to_string(entry.workflow.id));
    }
  }
}

Reply WorkflowDecider::operator()(const DeleteWorkflow& command) {
  const WorkflowEntry* entry = state_.workflows.find(command.id);
  std::optional<WorkflowEntry> stored;
  if (entry == nullptr && !state_.changes.is_forgotten(command.id)) {
    if (const WorkflowImage* const image = prefetched_.workflow(command.id)) {
      entry = &stored.emplace(entry_of(*image));
    }
  }
  if (entry == nullptr) return refused_workflow(Rejection::kNotFound);
  const Workflow& workflow = entry->workflow;
  if (command.if_version && *command.if_version != workflow.version) {
    return refused_workflow(Rejection::kVersionConflict);
  }
  if (!terms::has_ended(workflow.state)) {
    return refused_workflow(Rejection::kInvalidState, RefusalDetail::kWorkflowNotEnded);
  }
  if (command.by_retention && !is_due_for_retention(workflow)) {
    return refused_workflow(Rejection::kInvalidState);
  }
  WorkflowReply reply;
  reply.id = command.id;
  reply.workflow = std::make_shared<const Workflow>(entry->record());
  // Jobs that are not kept go by their own queues' retention.
  if (workflow.spec.keep_members || !command.by_retention) remove_jobs(*entry);
  emit(WorkflowForgotten{command.id, workflow.spec.queue, workflow.state});
  return reply;
}

Reply WorkflowDecider::operator()(const GetWorkflow& command) {
  const WorkflowEntry* const entry = state_.workflows.find(command.id);
  if (entry == nullptr) {
    WorkflowReply reply = refused_workflow(Rejection::kNotFound);
    reply.deleted = state_.changes.is_forgotten(command.id);
    return reply;
  }
  WorkflowReply reply = read_workflow(*entry, command);
  if (!command.why) return reply;
  WorkflowWhy& why = reply.why.emplace();
  describe_why(*entry, why);
  why.overloaded = why.releasing > 0 && closed() && state_.workflows_active >= kMaxActiveWhenFull;
  std::map<std::uint32_t, std::uint64_t> in_transit;
  for (std::uint32_t i = 0; i < entry->members.size(); ++i) {
    if (entry->graph.state(MemberNumber{i}) != MemberState::kActive) continue;
    const SharedBytes& queue = entry->members[i].queue;
    if (is_here(queue.view())) continue;
    const JobId box = options_.submissions->box_id_of(entry->job_of(MemberNumber{i}), queue.view());
    if (state_.lives(box)) ++in_transit[queue_bits(queue.view()) % options_.shards];
  }
  for (const auto& [shard, count] : in_transit) why.in_transit.push_back({shard, count});
  return reply;
}

}  // namespace millrace::core
