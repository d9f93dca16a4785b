#include "core/workflows/workflow_index.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "core/schedules/schedule.h"
#include "digest/fingerprint.h"

namespace millrace::core {
namespace {

std::string unique_of(const Workflow& workflow) {
  std::string name(workflow.spec.queue.view());
  name.push_back('\0');
  return name.append(workflow.spec.unique_key.view());
}

bool holds_key(const Workflow& workflow) {
  return !workflow.spec.unique_key.empty() && !terms::has_ended(workflow.state);
}
bool may_time_out(const Workflow& workflow) {
  return workflow.timeout_at && workflow.state == WorkflowState::kRunning;
}

}  // namespace

bool operator==(const MemberSpec& a, const MemberSpec& b) = default;

namespace {

JobId id_in(const JobId& workflow, Time created_at, const std::string& place,
            std::string_view queue) {
  const Fingerprint random = fingerprint(
      {reinterpret_cast<const char*>(workflow.bytes.data()), workflow.bytes.size()}, place);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 8; ++i) bits = bits << 8 | random.bytes[i];
  return make_job_id(created_at, queue_bits(queue), bits);
}

}  // namespace

JobId member_job_id(const JobId& workflow, Time created_at, std::uint32_t number,
                    std::string_view queue) {
  return id_in(workflow, created_at, std::to_string(number), queue);
}

JobId callback_job_id(const JobId& workflow, Time created_at, MemberRole role,
                      std::uint32_t generation, std::string_view queue) {
  const std::string place = std::string(name_of(role)) + " " + std::to_string(generation);
  return id_in(workflow, created_at, place, queue);
}

std::optional<MemberNumber> WorkflowEntry::find(std::string_view ref) const {
  if (const auto found = refs.find(ref); found != refs.end()) return MemberNumber{found->second};
  if (!ref.starts_with('@')) return std::nullopt;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(ref.data() + 1, ref.data() + ref.size(), number);
  const bool whole = error == std::errc() && end == ref.data() + ref.size();
  if (!whole || number >= members.size()) return std::nullopt;
  return MemberNumber{number};
}

MemberSpec WorkflowEntry::spec_of(MemberNumber member) const {
  const Member& kept = members[to_number(member)];
  return {kept.ref, graph.needs_of(member), graph.needs_any(member), kept.queue, kept.job};
}

MemberFate WorkflowEntry::fate_of(MemberNumber member) const {
  const Member& kept = members[to_number(member)];
  return {graph.state(member), graph.reason(member), kept.round};
}

JobId WorkflowEntry::job_of(MemberNumber member) const {
  const Member& kept = members[to_number(member)];
  if (kept.round == 0) return kNoJob;
  return member_job_id(workflow.id, workflow.created_at, to_number(member), kept.queue.view());
}

Workflow WorkflowEntry::record() const {
  Workflow whole = workflow;
  whole.members = static_cast<std::uint32_t>(members.size());
  for (std::size_t i = 0; i < whole.counts.size(); ++i) {
    whole.counts[i] = graph.count(static_cast<MemberState>(i));
  }
  return whole;
}

std::optional<WorkflowState> WorkflowEntry::end() const {
  const bool goes_on = graph.count(MemberState::kBlocked) + graph.count(MemberState::kActive) > 0;
  if (goes_on || terms::has_ended(workflow.state)) return std::nullopt;
  if (workflow.state == WorkflowState::kStopping) {
    return workflow.reason == WorkflowReason::kCancelled ? WorkflowState::kCancelled
                                                         : WorkflowState::kFailed;
  }
  if (workflow.open) return std::nullopt;
  const bool ignores = workflow.spec.on_member_failed == OnMemberFailed::kIgnore;
  return graph.uncaught() == 0 || ignores ? WorkflowState::kSucceeded : WorkflowState::kFailed;
}

WorkflowImage WorkflowEntry::image(std::uint32_t first, std::uint32_t count) const {
  WorkflowImage made;
  made.workflow = record();
  made.first = std::min<std::uint32_t>(first, made.workflow.members);
  const std::uint32_t last = made.first + std::min(count, made.workflow.members - made.first);
  for (std::uint32_t i = made.first; i < last; ++i) {
    made.members.push_back(spec_of(MemberNumber{i}));
    made.fates.push_back(fate_of(MemberNumber{i}));
  }
  return made;
}

void WorkflowEntry::add(const std::vector<MemberSpec>& added) {
  std::vector<WorkflowGraph::Added> lines;
  lines.reserve(added.size());
  for (const MemberSpec& member : added) {
    if (!member.ref.empty()) {
      const auto number = static_cast<std::uint32_t>(members.size());
      MILLRACE_CHECK(refs.emplace(member.ref.view(), number).second);
    }
    bytes += member.ref.size() + member.job.size();
    members.push_back({member.ref, member.queue, member.job});
    queues.insert(members.back().queue.view());
    lines.push_back({member.needs, member.any});
  }
  graph.add(lines);
}

void WorkflowEntry::rebuild(const std::vector<MemberFate>& fates) {
  MILLRACE_CHECK(fates.size() == members.size());
  std::vector<std::vector<Need>> needs(members.size());
  std::vector<WorkflowGraph::Added> lines(members.size());
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    needs[i] = graph.needs_of(MemberNumber{i});
    lines[i] = {needs[i], graph.needs_any(MemberNumber{i})};
  }
  graph = WorkflowGraph();
  graph.add(lines);
  if (workflow.state == WorkflowState::kStopping) graph.stop();
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    const MemberNumber member{i};
    const MemberFate& fate = fates[i];
    members[i].round = fate.round;
    if (fate.state == MemberState::kSkipped) {
      graph.skip(member, fate.reason);
      continue;
    }
    if (fate.state == MemberState::kBlocked) continue;
    if (fate.round > 0) graph.release(member, job_of(member));
    if (terms::has_ended(fate.state)) graph.end(member, fate.state, fate.reason);
  }
}

const WorkflowEntry* WorkflowIndex::holder(std::string_view queue, std::string_view key) const {
  std::string name(queue);
  name.push_back('\0');
  const auto found = unique_.find(name.append(key));
  return found == unique_.end() ? nullptr : find(found->second);
}

void WorkflowIndex::list(WorkflowEntry& entry) {
  const Workflow& workflow = entry.workflow;
  if (may_time_out(workflow)) timeouts_.insert({*workflow.timeout_at, workflow.id});
  if (holds_key(workflow)) unique_[unique_of(workflow)] = workflow.id;
  if (workflow.state == WorkflowState::kStopping) stopping_.insert(workflow.id);
}

void WorkflowIndex::unlist(WorkflowEntry& entry) {
  const Workflow& workflow = entry.workflow;
  if (may_time_out(workflow)) timeouts_.erase({*workflow.timeout_at, workflow.id});
  if (holds_key(workflow)) unique_.erase(unique_of(workflow));
  stopping_.erase(workflow.id);
}

void WorkflowIndex::uncount(const WorkflowEntry& entry) {
  if (!entry.counted) return;
  --totals_.workflows[static_cast<std::size_t>(*entry.counted)];
  for (std::size_t i = 0; i < totals_.members.size(); ++i) {
    totals_.members[i] -= entry.counted_members[i];
  }
}

void WorkflowIndex::count(WorkflowEntry& entry) {
  uncount(entry);
  entry.counted = entry.workflow.state;
  ++totals_.workflows[static_cast<std::size_t>(*entry.counted)];
  for (std::size_t i = 0; i < totals_.members.size(); ++i) {
    entry.counted_members[i] = entry.graph.count(static_cast<MemberState>(i));
    totals_.members[i] += entry.counted_members[i];
  }
}

WorkflowEntry& WorkflowIndex::set(const Workflow& workflow) {
  std::unique_ptr<WorkflowEntry>& place = by_id_[workflow.id];
  if (place == nullptr) {
    place = std::make_unique<WorkflowEntry>();
  } else {
    unlist(*place);
  }
  place->workflow = workflow;
  list(*place);
  touch(*place);
  return *place;
}

void WorkflowIndex::remove(WorkflowEntry& entry) {
  unlist(entry);
  uncount(entry);
  pending_.erase(entry.workflow.id);
  by_id_.erase(JobId(entry.workflow.id));
}

std::optional<JobId> WorkflowIndex::next_pending(const JobId& after) const {
  if (pending_.empty()) return std::nullopt;
  const auto next = pending_.upper_bound(after);
  return next == pending_.end() ? *pending_.begin() : *next;
}

}  // namespace millrace::core
