#include "fake_workflows.h"

#include <fmt/format.h>

#include <algorithm>

#include "fake_jobs.h"
#include "workflow_jobs.h"

namespace millrace::sdk {
namespace {

constexpr std::size_t kShownFailures = 20;

std::int64_t& count_of(MemberCounts& counts, std::string_view state) {
  if (state == "blocked") return counts.blocked;
  if (state == "active") return counts.active;
  if (state == "succeeded") return counts.succeeded;
  return state == "failed" ? counts.failed : counts.skipped;
}

bool is_met(const Need& need, const FakeMember& by) {
  if (need.on == "ended") return by.has_ended();
  return by.state == (need.on.empty() ? "succeeded" : need.on);
}

// The first of the members that needs itself, through what it needs; none: there is no circle.
std::optional<std::size_t> circle_in(const std::vector<NewMember>& members) {
  std::map<std::string_view, std::vector<std::size_t>> needed_by;
  std::vector<std::size_t> unmet(members.size());
  std::set<std::string_view> refs;
  for (const NewMember& member : members) refs.insert(member.ref);
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (const Need& need : members[i].needs) {
      if (!refs.contains(need.ref)) continue;
      needed_by[need.ref].push_back(i);
      ++unmet[i];
    }
    if (unmet[i] == 0) free.push_back(i);
  }
  while (!free.empty()) {
    const std::string_view ref = members[free.back()].ref;
    free.pop_back();
    if (ref.empty()) continue;
    for (const std::size_t next : needed_by[ref]) {
      if (--unmet[next] == 0) free.push_back(next);
    }
  }
  const auto found = std::ranges::find_if(unmet, [](std::size_t count) { return count > 0; });
  if (found == unmet.end()) return std::nullopt;
  return found - unmet.begin();
}

// A failure that no member has caught, or still may catch.
bool is_uncaught(const FakeWorkflow& flow, const FakeMember& member) {
  if (member.state != "failed" || member.is_caught) return false;
  const std::size_t number = static_cast<std::size_t>(&member - flow.members.data());
  return std::ranges::none_of(member.needed_by, [&](std::size_t by) {
    const FakeMember& other = flow.members[by];
    if (other.state != "blocked") return false;
    for (std::size_t i = 0; i < other.needs.size(); ++i) {
      if (other.needs[i] == number && other.spec.needs[i].on == "failed") return true;
    }
    return false;
  });
}

bool has_uncaught(const FakeWorkflow& flow) {
  if (flow.counts.failed == 0) return false;
  return std::ranges::any_of(
      flow.members, [&flow](const FakeMember& member) { return is_uncaught(flow, member); });
}

std::string name_of(const FakeMember& member, std::size_t number) {
  return member.spec.ref.empty() ? fmt::format("@{}", number) : member.spec.ref;
}

}  // namespace

FakeWorkflow* FakeWorkflows::known(const NewWorkflow& spec, std::string_view text,
                                   std::optional<Refusal>& refusal) {
  const auto key = keys_.find({spec.queue, spec.idempotency_key});
  if (!spec.idempotency_key.empty() && key != keys_.end()) {
    if (key->second.text == text) return &flows_.at(key->second.id);
    refusal = {422, "idempotency_mismatch", "the idempotency key was used with another body"};
    return nullptr;
  }
  if (const auto same = flows_.find(spec.id); same != flows_.end()) {
    if (same->second.text == text) return &same->second;
    refusal = {409, "id_mismatch", "another workflow has this id"};
    return nullptr;
  }
  if (!spec.unique) return nullptr;
  for (auto& [id, flow] : flows_) {
    const bool is_holder = !flow.ended_at && flow.spec.queue == spec.queue && flow.spec.unique &&
                           flow.spec.unique->key == spec.unique->key;
    if (!is_holder) continue;
    if (spec.unique->on_conflict != "reject") return &flow;
    refusal = {409, "duplicate_workflow", "a workflow holds this unique key"};
  }
  return nullptr;
}

std::vector<FieldError> FakeWorkflows::faults_of(const FakeWorkflow& flow, const Members& members) {
  std::vector<FieldError> faults;
  std::set<std::string_view> refs;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const NewMember& member = members[i];
    const std::string at = fmt::format("/members/{}", i);
    std::ranges::move(FakeJobs::faults_of(member.job, at + "/job"), std::back_inserter(faults));
    const NewJob& job = member.job;
    if (!job.id.empty() || job.unique || job.expires_at || !job.idempotency_key.empty()) {
      faults.push_back({at + "/job", "a member's job has no id, unique, expires_at or key"});
    }
    if (!member.ref.empty() && !refs.insert(member.ref).second) {
      faults.push_back({at, "another member of the request has this ref"});
    }
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (const Need& need : members[i].needs) {
      if (refs.contains(need.ref) || flow.numbers.contains(need.ref)) continue;
      faults.push_back({fmt::format("/members/{}", i),
                        fmt::format("no member has the ref {}; check the spelling", need.ref)});
    }
  }
  if (const auto circle = circle_in(members); faults.empty() && circle) {
    faults.push_back(
        {fmt::format("/members/{}", *circle),
         "the member needs itself, through what it needs; take one of the needs away"});
  }
  return faults;
}

std::size_t FakeWorkflows::append(FakeWorkflow& flow, Members members) {
  const std::size_t first = flow.members.size();
  std::size_t existing = 0;
  for (NewMember& spec : members) {
    const std::size_t number = flow.members.size();
    if (!spec.ref.empty() && !flow.numbers.try_emplace(spec.ref, number).second) {
      ++existing;
      continue;
    }
    if (spec.job.queue.empty()) spec.job.queue = flow.spec.queue;
    flow.members.emplace_back().spec = std::move(spec);
    ++flow.counts.blocked;
    flow.to_judge.push_back(number);
  }
  for (std::size_t number = first; number < flow.members.size(); ++number) {
    FakeMember& member = flow.members[number];
    for (const Need& need : member.spec.needs) {
      const std::size_t needed = flow.numbers.at(need.ref);
      member.needs.push_back(needed);
      flow.members[needed].needed_by.push_back(number);
    }
  }
  return existing;
}

// Decides what follows from ends and additions, until nothing does.
void FakeWorkflows::advance(FakeWorkflow& flow) {
  if (flow.is_advancing) return;
  flow.is_advancing = true;
  for (;;) {
    if (!flow.to_judge.empty()) {
      const std::size_t number = flow.to_judge.front();
      flow.to_judge.pop_front();
      judge(flow, number);
      continue;
    }
    const bool stops = flow.spec.on_member_failed == "stop" && flow.state == "running";
    if (stops && has_uncaught(flow)) {
      stop(flow, "member_failed");
      continue;
    }
    const bool has_room = !flow.spec.max_active || flow.counts.active < *flow.spec.max_active;
    if (flow.waiting.empty() || !has_room) break;
    release(flow, *flow.waiting.begin());
  }
  flow.is_advancing = false;
  const bool is_closed = !flow.spec.open.value_or(false) || flow.state == "stopping";
  const bool is_done = flow.counts.blocked == 0 && flow.counts.active == 0;
  if (is_closed && is_done && !flow.ended_at) end(flow);
}

void FakeWorkflows::judge(FakeWorkflow& flow, std::size_t number) {
  const FakeMember& member = flow.members[number];
  if (member.state != "blocked") return;
  if (flow.state != "running") return set_state(flow, number, "skipped", "cancelled");
  std::size_t met = 0;
  std::size_t lost = 0;
  for (std::size_t i = 0; i < member.needs.size(); ++i) {
    const FakeMember& by = flow.members[member.needs[i]];
    const bool counts = is_met(member.spec.needs[i], by);
    met += counts;
    lost += !counts && by.has_ended();
  }
  const std::size_t all = member.needs.size();
  const bool needs_any = member.spec.needs_any.value_or(false);
  if (met == all || (needs_any && met > 0)) {
    flow.waiting.insert(number);
  } else if (needs_any ? lost == all : lost > 0) {
    set_state(flow, number, "skipped");
  }
}

void FakeWorkflows::release(FakeWorkflow& flow, std::size_t number) {
  FakeMember& member = flow.members[number];
  flow.waiting.erase(number);
  for (std::size_t i = 0; i < member.needs.size(); ++i) {
    FakeMember& by = flow.members[member.needs[i]];
    if (member.spec.needs[i].on == "failed" && by.state == "failed") by.is_caught = true;
  }
  FakeJob& job = jobs_.release(member.spec.job);
  job.workflow = JobWorkflow{.id = flow.spec.id,
                             .name = flow.spec.name,
                             .ref = member.spec.ref,
                             .number = static_cast<std::int64_t>(number),
                             .role = "member"};
  member.job_id = job.spec.id;
  set_state(flow, number, "active");
}

void FakeWorkflows::set_state(FakeWorkflow& flow, std::size_t number, std::string_view state,
                              std::string_view reason) {
  FakeMember& member = flow.members[number];
  --count_of(flow.counts, member.state);
  member.state = state;
  member.reason = reason;
  ++count_of(flow.counts, state);
  flow.waiting.erase(number);
  if (!member.has_ended()) return;
  for (const std::size_t by : member.needed_by) flow.to_judge.push_back(by);
}

void FakeWorkflows::stop(FakeWorkflow& flow, std::string_view reason) {
  flow.state = "stopping";
  flow.reason = reason;
  ++flow.version;
  for (std::size_t number = 0; number < flow.members.size(); ++number) {
    const FakeMember& member = flow.members[number];
    if (member.state == "blocked") set_state(flow, number, "skipped", "cancelled");
    if (member.state == "active") static_cast<void>(jobs_.cancel(member.job_id, reason));
  }
}

void FakeWorkflows::end(FakeWorkflow& flow) {
  const bool has_failed = flow.spec.on_member_failed != "ignore" && has_uncaught(flow);
  if (flow.state == "stopping") {
    flow.state = flow.reason == "cancelled" ? "cancelled" : "failed";
  } else {
    flow.state = has_failed ? "failed" : "succeeded";
    if (has_failed) flow.reason = "member_failed";
  }
  flow.ended_at = jobs_.now_;
  flow.spec.open = false;
  ++flow.version;
  if (flow.state == "succeeded") {
    flow.callbacks.on_success = submit_callback(flow, flow.spec.on_success);
  } else {
    flow.callbacks.on_failure = submit_callback(flow, flow.spec.on_failure);
  }
  flow.callbacks.on_end = submit_callback(flow, flow.spec.on_end);
}

// Its id; empty if there is none.
std::string FakeWorkflows::submit_callback(FakeWorkflow& flow,
                                           const std::optional<NewJob>& callback) {
  if (!callback) return {};
  FakeJob& job = jobs_.release(*callback);
  job.workflow = JobWorkflow{.id = flow.spec.id, .name = flow.spec.name, .role = "callback"};
  return job.spec.id;
}

std::optional<FakeRefusal> FakeWorkflows::cancel(FakeWorkflow& flow, std::string_view reason) {
  if (flow.ended_at) return Refusal{409, "invalid_state", "the workflow has ended"};
  flow.cancel_reason = reason;
  stop(flow, "cancelled");
  advance(flow);
  return std::nullopt;
}

std::optional<FakeRefusal> FakeWorkflows::skip(FakeWorkflow& flow, std::size_t number) {
  if (flow.members[number].state != "blocked") {
    return Refusal{409, "invalid_state",
                   "the member is not blocked; only a blocked one is skipped"};
  }
  set_state(flow, number, "skipped", "by_call");
  ++flow.version;
  advance(flow);
  return std::nullopt;
}

std::optional<std::size_t> FakeWorkflows::number_of(const FakeWorkflow& flow,
                                                    std::string_view ref) {
  if (ref.starts_with('@')) {
    const auto number = JsonView(ref.substr(1)).natural();
    if (number && *number < flow.members.size()) return *number;
    return std::nullopt;
  }
  const auto found = flow.numbers.find(ref);
  if (found == flow.numbers.end()) return std::nullopt;
  return found->second;
}

void FakeWorkflows::job_ended(const FakeJob& job) {
  if (!job.workflow || !job.workflow->number) return;
  FakeWorkflow& flow = flows_.at(job.workflow->id);
  const auto number = static_cast<std::size_t>(*job.workflow->number);
  if (flow.members[number].state != "active") return;
  const bool has_succeeded = job.state == "succeeded";
  set_state(flow, number, has_succeeded ? "succeeded" : "failed",
            has_succeeded ? std::string_view() : job.state);
  advance(flow);
}

void FakeWorkflows::describe(const FakeJob& job, ClaimedJob& claim) const {
  if (!job.workflow) return;
  const FakeWorkflow& flow = flows_.at(job.workflow->id);
  ClaimedWorkflow& told = claim.workflow.emplace();
  told.generation = 1;
  told.id = flow.spec.id;
  told.name = flow.spec.name;
  told.ref = job.workflow->ref;
  told.number = job.workflow->number;
  told.role = job.workflow->role;
  told.state = told.number ? "running" : flow.state;
  if (!told.number) {
    told.counts = flow.counts;
    for (std::size_t n = 0; n < flow.members.size() && told.failed.size() < kShownFailures; ++n) {
      if (flow.members[n].state == "failed") told.failed.push_back(name_of(flow.members[n], n));
    }
    return;
  }
  for (const std::size_t needed : flow.members[static_cast<std::size_t>(*told.number)].needs) {
    const FakeMember& member = flow.members[needed];
    Parent parent{.id = member.job_id, .state = member.state, .reason = member.reason};
    const FakeJob* const its_job = jobs_.find(member.job_id);
    if (its_job != nullptr && member.state == "succeeded") {
      parent.result = its_job->result.value_or("null");
    }
    claim.parents.emplace_back(member.spec.ref, std::move(parent));
  }
}

std::optional<FakeRefusal> FakeWorkflows::grow(const FakeJob& job, Growth growth) {
  if (growth.empty()) return std::nullopt;
  FakeWorkflow& flow = flows_.at(job.workflow->id);
  if (auto faults = faults_of(flow, growth.members); !faults.empty()) {
    return Refusal{422, "validation_failed", "the growth has faults", std::move(faults)};
  }
  std::vector<std::size_t> skipped;
  for (const std::string& ref : growth.skip) {
    const auto number = number_of(flow, ref);
    const auto own = static_cast<std::size_t>(*job.workflow->number);
    const bool may_be = number && flow.members[*number].state == "blocked" &&
                        std::ranges::count(flow.members[*number].needs, own) > 0;
    if (!may_be) {
      return Refusal{422, "validation_failed",
                     fmt::format("{} is no blocked member that needs this one", ref)};
    }
    skipped.push_back(*number);
  }
  append(flow, std::move(growth.members));
  for (const std::size_t number : skipped) set_state(flow, number, "skipped", "by_call");
  advance(flow);
  return std::nullopt;
}

}  // namespace millrace::sdk
