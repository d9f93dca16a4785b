#include "service/workflow_reads.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/bounds.h"
#include "core/workflows/read_workflow.h"
#include "service/convert.h"
#include "service/names_cursor.h"

namespace millrace::service {
namespace {

using api::ProblemCode;

// Jobs that are read at once: each may have a payload and a result of 1 MiB.
constexpr std::size_t kJobsAtOnce = 32;
// A member's wait looks again after this time: no event wakes it while the member is blocked.
constexpr Duration kLookAgain{100};

Result<std::optional<core::WorkflowReply>> read_stored(const engine::Reads& reads,
                                                       const core::GetWorkflow& get) {
  const bool whole = get.limit > 0 || !get.ref.empty() || get.queues;
  auto image = reads.workflow(get.id, 0, whole ? core::kMaxMembers : 0);
  if (!image) return std::unexpected(std::move(image.error()));
  if (!*image) return std::nullopt;
  core::WorkflowReply reply;
  if (whole) {
    core::WorkflowEntry entry;
    entry.workflow = (*image)->workflow;
    entry.add((*image)->members);
    entry.rebuild((*image)->fates);
    reply = core::read_workflow(entry, get);
  } else {
    reply.id = get.id;
    reply.workflow = std::make_shared<const core::Workflow>(std::move((*image)->workflow));
  }
  return reply;
}

api::Problem no_such_member() {
  return api::make_problem(ProblemCode::kNotFound,
                           "the workflow has no such member; name its ref, or @ and its number");
}

std::string encode_cursor(const store::WorkflowCursor& cursor) {
  return std::to_string(to_ms(cursor.created_at)) + "." + to_string(cursor.id);
}
std::optional<store::WorkflowCursor> decode_workflow_cursor(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  std::int64_t ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + dot, ms);
  const auto id = parse_job_id(text.substr(dot + 1));
  if (error != std::errc() || end != text.data() + dot || !id) return std::nullopt;
  return store::WorkflowCursor{time_from_ms(ms), *id};
}

// A cursor in a workflow's members is a number; empty: the first.
std::optional<std::uint32_t> decode_number(std::string_view text) {
  std::uint32_t number = 0;
  if (text.empty()) return number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The jobs as they are now, from memory or else from the tables; null: it is gone.
Task<Answered<std::vector<SharedJobView>>> look_up_jobs(Caller& caller,
                                                        const std::vector<JobId>& ids,
                                                        bool results) {
  std::vector<engine::Request> requests;
  for (const JobId& id : ids) requests.emplace_back(core::GetJob{id});
  std::vector<engine::Answer> answers = co_await caller.answers_to(std::move(requests));
  std::vector<SharedJobView> views(ids.size());
  std::vector<JobId> missing;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto* const reply = reply_in<core::JobReply>(answers[i]);
    if (reply == nullptr) co_return refused(caller.problem_of(answers[i]));
    views[i] = reply->job;
    const bool lacks_result = reply->job != nullptr && results && reply->job->job.result.empty() &&
                              reply->job->job.state == core::State::kSucceeded;
    if ((reply->job == nullptr && !reply->deleted) || lacks_result) missing.push_back(ids[i]);
  }
  if (missing.empty()) co_return views;
  auto read = [&](const std::stop_token&) { return caller.services.reads.fetch(missing); };
  auto jobs = co_await caller.read(Lane::kLookups, read);
  if (!jobs) co_return refused(jobs);
  for (core::Job& job : *jobs) {
    const auto place = std::ranges::find(ids, job.id) - ids.begin();
    SharedJobView& view = views[static_cast<std::size_t>(place)];
    if (view != nullptr && view->job.ord != job.ord) continue;
    core::JobView made;
    if (view != nullptr) {
      made = *view;
      made.job.result = job.result;
    } else {
      made.job = std::move(job);
    }
    view = std::make_shared<const core::JobView>(std::move(made));
  }
  co_return views;
}

// Adds the jobs to members. Returns how many members have what they can have: fewer than all if
// their jobs are too large for one answer.
Task<Answered<std::size_t>> add_jobs(Caller& caller, std::vector<MemberFound>& members,
                                     const api::MemberInclude& include) {
  std::size_t bytes = 0;
  std::size_t done = 0;
  while (done < members.size() && (done == 0 || bytes < caller.services.page_bytes)) {
    std::vector<JobId> ids;
    std::vector<std::size_t> places;
    for (; done < members.size() && ids.size() < kJobsAtOnce; ++done) {
      const MemberFound& member = members[done];
      if (!member.open || member.member.job == core::kNoJob) continue;
      ids.push_back(member.member.job);
      places.push_back(done);
    }
    if (ids.empty()) continue;
    auto views = co_await look_up_jobs(caller, ids, include.result);
    if (!views) co_return refused(views);
    for (std::size_t i = 0; i < places.size(); ++i) {
      SharedJobView& view = (*views)[i];
      if (view != nullptr) bytes += view->job.payload.size() + view->job.result.size();
      members[places[i]].job = std::move(view);
    }
  }
  co_return done;
}

std::vector<MemberFound> found_in(const Caller& caller, core::WorkflowReply& reply) {
  std::vector<MemberFound> found;
  found.reserve(reply.members.size());
  for (core::MemberView& member : reply.members) {
    const bool open = caller.allows_queue(member.spec.queue.view());
    found.push_back({std::move(member), open, nullptr});
  }
  return found;
}

// Looks for the member's end. `wait`: at most this long.
Task<Answered<>> await_member(Caller& caller, const JobId& workflow, const MemberFound& found,
                              Duration wait) {
  const core::MemberView& member = found.member;
  if (member.fate.state == core::MemberState::kActive) {
    engine::WatchJob job{member.job, wait, member.spec.queue};
    auto seen = co_await caller.ask(std::move(job), Caller::Patience::kWait);
    if (!seen) co_return refused(seen);
    wait = std::min(wait, Duration{kLookAgain / 10});  // until its home knows
  }
  engine::WatchJob home{workflow, std::min(wait, kLookAgain)};
  auto reply = co_await caller.ask(std::move(home), Caller::Patience::kWait);
  if (!reply) co_return refused(reply);
  co_return Answered<>();
}

Task<Answered<MemberFound>> find_member(Caller& caller, const JobId& id, std::string_view ref) {
  core::GetWorkflow get;
  get.id = id;
  get.ref = SharedBytes(ref);
  auto reply = co_await find_workflow(caller, get);
  if (!reply) co_return refused(reply);
  if (reply->members.size() != 1) co_return refused(no_such_member());
  co_return std::move(found_in(caller, *reply).front());
}

}  // namespace

api::Problem no_such_workflow() {
  return api::make_problem(ProblemCode::kNotFound, "there is no such workflow");
}

Task<Answered<core::WorkflowReply>> look_up_workflow(Caller& caller, const core::GetWorkflow& get) {
  auto reply = co_await caller.ask(get);
  if (!reply) co_return refused(reply);
  if (reply->workflow != nullptr) co_return std::move(*reply);
  if (reply->deleted) co_return refused(no_such_workflow());
  auto read = [&](const std::stop_token&) { return read_stored(caller.services.reads, get); };
  auto stored = co_await caller.read(Lane::kLookups, read);
  if (!stored) co_return refused(stored);
  if (!*stored) co_return refused(no_such_workflow());
  co_return std::move(**stored);
}

Task<Answered<core::WorkflowReply>> find_workflow(Caller& caller, const core::GetWorkflow& get) {
  auto reply = co_await look_up_workflow(caller, get);
  if (!reply) co_return refused(reply);
  if (!caller.allows_queue(reply->workflow->spec.queue.view())) {
    co_return refused(no_such_workflow());
  }
  if (reply->refusal.why == core::Rejection::kNotFound) co_return refused(no_such_member());
  if (reply->refusal) co_return refused(to_problem(reply->refusal, "workflow"));
  co_return std::move(*reply);
}

Task<Answered<WorkflowPage>> list_workflows(Caller& caller, const api::WorkflowListQuery& query) {
  store::WorkflowQuery wanted;
  wanted.states = query.states;
  wanted.name = query.name;
  wanted.tag = query.tag;
  wanted.created_after = query.created_after;
  wanted.created_before = query.created_before;
  wanted.limit = static_cast<std::uint32_t>(query.page.limit);
  if (!query.queue.empty()) {
    if (!caller.allows_queue(query.queue)) co_return WorkflowPage();
    wanted.queues.push_back(query.queue);
  } else if (caller.limited()) {
    wanted.queues = caller.access->settings().queues;
  }
  if (!query.page.cursor.empty()) {
    wanted.after = decode_workflow_cursor(query.page.cursor);
    if (!wanted.after) co_return refused(bad_cursor());
  }
  if (query.page.fresh) {
    auto fresh = co_await await_projection(caller);
    if (!fresh) co_return refused(fresh);
  }
  auto read = [&](const std::stop_token& gone) {
    wanted.budget.gone = gone;
    return caller.services.reads.list_workflows(wanted);
  };
  auto found = co_await caller.read(Lane::kSearches, read, Caller::Patience::kWait);
  if (!found) co_return refused(found);
  WorkflowPage page;
  page.workflows = std::move(found->workflows);
  if (found->next_after) page.next = encode_cursor(*found->next_after);
  co_return page;
}

Task<Answered<WorkflowFound>> get_workflow(Caller& caller, const JobId& id,
                                           const api::WorkflowGet& query) {
  core::GetWorkflow get;
  get.id = id;
  auto reply = co_await find_workflow(caller, get);
  if (!reply) co_return refused(reply);
  if (query.wait > Duration{0} && !terms::has_ended(reply->workflow->state)) {
    engine::WatchJob watch{id, query.wait};
    auto seen = co_await caller.ask(std::move(watch), Caller::Patience::kWait);
    if (!seen) co_return refused(seen);
    reply = co_await find_workflow(caller, get);
    if (!reply) co_return refused(reply);
  }
  WorkflowFound found{reply->workflow, {}, false};
  if (!query.result) co_return found;
  found.result.emplace();
  const SharedBytes& from = reply->workflow->spec.result_from;
  if (from.empty()) co_return found;
  auto member = co_await find_member(caller, id, from.view());
  if (!member) co_return found;  // an open one may not have it yet
  found.redacted = !member->open || !caller.sees_payloads();
  if (found.redacted) {
    found.result.reset();
  } else if (member->member.fate.state == core::MemberState::kSucceeded) {
    api::Include include;
    include.result = true;
    auto job = co_await find_job(caller, member->member.job, include);
    if (job) found.result = (*job)->job.result;
  }
  co_return found;
}

Task<Answered<MemberPage>> list_members(Caller& caller, const JobId& id,
                                        const api::MemberListQuery& query) {
  const auto first = decode_number(query.page.cursor);
  if (!first) co_return refused(bad_cursor());
  core::GetWorkflow get;
  get.id = id;
  get.first = *first;
  get.limit = static_cast<std::uint32_t>(query.page.limit);
  get.state = query.state;
  auto reply = co_await find_workflow(caller, get);
  if (!reply) co_return refused(reply);
  MemberPage page;
  page.members = found_in(caller, *reply);
  if (reply->next) page.next = std::to_string(*reply->next);
  if (!query.include.job && !query.include.result) co_return page;
  auto done = co_await add_jobs(caller, page.members, query.include);
  if (!done) co_return refused(done);
  if (*done < page.members.size()) {
    page.next = std::to_string(page.members[*done].member.number);
    page.members.resize(*done);
  }
  co_return page;
}

Task<Answered<MemberFound>> get_member(Caller& caller, const JobId& id, std::string_view ref,
                                       const api::MemberGet& query) {
  const Steady begun = caller.services.clock.steady();
  auto found = co_await find_member(caller, id, ref);
  Duration past{0};
  int hasty = 0;  // looks in a row that no wait came before: the shard is stopping
  while (found && !terms::has_ended(found->member.fate.state) && past < query.wait && hasty < 3) {
    auto waited = co_await await_member(caller, id, *found, query.wait - past);
    if (!waited) co_return refused(waited);
    if (caller.client_gone()) break;
    found = co_await find_member(caller, id, ref);
    const Duration before = past;
    past = std::chrono::duration_cast<Duration>(caller.services.clock.steady() - begun);
    hasty = past - before < kLookAgain / 20 ? hasty + 1 : 0;
  }
  if (!found) co_return refused(found);
  if (query.include.job || query.include.result) {
    std::vector<MemberFound> one;
    one.push_back(std::move(*found));
    auto done = co_await add_jobs(caller, one, query.include);
    if (!done) co_return refused(done);
    *found = std::move(one.front());
  }
  co_return found;
}

Task<Answered<MemberPage>> get_graph(Caller& caller, const JobId& id,
                                     const api::GraphQuery& query) {
  const auto first = decode_number(query.cursor);
  if (!first) co_return refused(bad_cursor());
  core::GetWorkflow get;
  get.id = id;
  get.first = *first;
  get.limit = static_cast<std::uint32_t>(api::kMembersPerGraphPage);
  auto reply = co_await find_workflow(caller, get);
  if (!reply) co_return refused(reply);
  MemberPage page;
  page.members = found_in(caller, *reply);
  if (reply->next) page.next = std::to_string(*reply->next);
  co_return page;
}

}  // namespace millrace::service
