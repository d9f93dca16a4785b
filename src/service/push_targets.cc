#include "service/push_targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/text.h"
#include "service/audit.h"
#include "service/convert.h"
#include "service/names_cursor.h"
#include "service/push_desk.h"

namespace millrace::service {
namespace {

using api::ProblemCode;

constexpr auto kKind = core::CatalogKind::kPushTarget;
// For all targets together: a target never waits for another's calls, so each has its own.
constexpr std::int64_t kMaxConcurrencyTogether = 4'000;
constexpr int kTries = 3;  // for a document that another user is changing

api::Problem no_such_target() {
  return api::make_problem(ProblemCode::kNotFound, "there is no such push target");
}

bool sees(const Caller& caller, const api::PushTarget& target) {
  return std::ranges::all_of(target.queues,
                             [&](const std::string& queue) { return caller.allows_queue(queue); });
}

std::optional<api::PushTarget> target_in(const core::CatalogEntry& entry) {
  return api::read_stored_push_target(entry.body.view());
}

PushTargetAnswer answer_of(Caller& caller, const core::CatalogEntry& entry,
                           api::PushTarget target) {
  PushTargetAnswer answer{
      .entry = entry, .target = std::move(target), .health = {}, .served_by = {}};
  PushDesk* const desk = caller.services.push;
  if (desk == nullptr) return answer;
  answer.health = desk->health(entry.name.view());
  answer.served_by = desk->served_by();
  // A receiver's answer may reveal details of its network.
  const bool operates = caller.access == nullptr || caller.access->allows(api::Scope::kOperate) ||
                        caller.access->allows(api::Scope::kAdmin);
  if (answer.health && !(operates && caller.sees_payloads())) {
    for (api::PushOutcome& outcome : answer.health->last) outcome.error.clear();
  }
  return answer;
}

// As this node knows it; the first shard's answer to a change decides.
std::optional<PushTargetAnswer> find_target(Caller& caller, std::string_view name) {
  const auto snapshot = caller.services.catalog.snapshot();
  const core::CatalogEntry* const entry = snapshot->find(kKind, name);
  if (entry == nullptr) return std::nullopt;
  auto target = target_in(*entry);
  if (!target || !sees(caller, *target)) return std::nullopt;
  return answer_of(caller, *entry, std::move(*target));
}

// In the node's own name: this node has checked the token.
Task<Answered<core::CatalogReply>> change(Caller& caller, const core::Command& command) {
  engine::Request request(command);
  const Asking asking{engine::kNodesOwn, nullptr};
  Ask ask(caller.port, std::move(request), asking);
  engine::Answer answer = co_await ask;
  auto* const reply = reply_in<core::CatalogReply>(answer);
  if (reply == nullptr) co_return refused(caller.problem_of(answer));
  if (reply->refusal) co_return refused(to_problem(reply->refusal, "push target"));
  co_return std::move(*reply);
}

std::string members_of(const api::PushTarget& target) {
  std::string text;
  JsonWriter json(text);
  api::encode_settings(json, target);
  return text;
}

// `before`: the target at that version; none: it did not exist. `action`: for the audit.
Task<Answered<PushTargetAnswer>> write(Caller& caller, const std::string& name,
                                       const api::PushTarget& target,
                                       const std::optional<std::uint64_t>& if_version,
                                       std::string_view action,
                                       const std::optional<api::PushTarget>& before) {
  core::PutCatalogEntry put;
  put.kind = kKind;
  put.name = SharedBytes(name);
  put.body = SharedBytes(api::stored_push_target(target));
  put.if_version = if_version;
  core::Origin origin = about(action, "push_target", name, target.pause_reason);
  if (before) origin.before = SharedBytes(members_of(*before));
  origin.after = SharedBytes(members_of(target));
  put.by = caller.origin_of(std::move(origin));
  const core::Command command(std::move(put));
  auto reply = co_await change(caller, command);
  if (!reply) co_return refused(reply);
  if (reply->entries.empty()) co_return refused(no_such_target());
  const core::CatalogEntry& entry = reply->entries.front();
  caller.services.catalog.put(entry);
  if (caller.services.push != nullptr) caller.services.push->look();
  PushTargetAnswer answer = answer_of(caller, entry, target);
  answer.created = reply->created;
  co_return answer;
}

std::optional<api::Problem> refusal_of_sum(Caller& caller, std::string_view name,
                                           const api::PushTarget& target) {
  std::int64_t sum = target.concurrency;
  caller.services.catalog.snapshot()->each(kKind, [&](const core::CatalogEntry& entry) {
    if (entry.name.view() == name) return;
    if (const auto other = target_in(entry)) sum += other->concurrency;
  });
  if (sum <= kMaxConcurrencyTogether) return std::nullopt;
  return api::make_fault(api::FieldError::Place::kPointer, "/concurrency",
                         fmt::format("the concurrency of all push targets together must be at most "
                                     "{}; lower that of others first",
                                     kMaxConcurrencyTogether));
}

}  // namespace

api::PushTargetView PushTargetAnswer::view() const {
  return {.name = entry.name.view(),
          .target = &target,
          .version = entry.version,
          .created_at = entry.created_at,
          .updated_at = entry.updated_at,
          .health = health ? &*health : nullptr,
          .served_by = served_by};
}

Task<Answered<PushTargetPage>> list_push_targets(Caller& caller, const api::Page& page) {
  const auto after = parse_name_cursor(page.cursor);
  if (!after) co_return refused(bad_cursor());
  PushTargetPage made;
  bool more = false;
  caller.services.catalog.snapshot()->each(kKind, [&](const core::CatalogEntry& entry) {
    if (more || entry.name.view() <= *after) return;
    auto target = target_in(entry);
    if (!target || !sees(caller, *target)) return;
    more = made.targets.size() == static_cast<std::size_t>(page.limit);
    if (!more) made.targets.push_back(answer_of(caller, entry, std::move(*target)));
  });
  if (more) made.next = name_cursor(made.targets.back().entry.name.view());
  co_return made;
}

Task<Answered<PushTargetAnswer>> get_push_target(Caller& caller, std::string_view name) {
  auto found = find_target(caller, name);
  if (!found) co_return refused(no_such_target());
  co_return std::move(*found);
}

Task<Answered<PushTargetAnswer>> put_push_target(Caller& caller, std::string_view name,
                                                 const api::PutPushTarget& put,
                                                 std::optional<std::uint64_t> if_version) {
  if (!api::is_name(name)) {
    co_return refused(
        api::make_fault(api::FieldError::Place::kParameter, "name", std::string(api::kNameRule)));
  }
  if (!sees(caller, put.target)) {
    co_return refused(ProblemCode::kForbidden, "the token does not open all of these queues");
  }
  // The target sends payloads to a place of the caller's choice.
  if (!caller.sees_payloads()) co_return refused(lacks_scope(api::Scope::kPayload));
  if (auto problem = refusal_of_sum(caller, name, put.target)) {
    co_return refused(std::move(*problem));
  }
  const std::string target_name(name);
  for (int tries = 1;; ++tries) {
    const auto snapshot = caller.services.catalog.snapshot();
    const core::CatalogEntry* const known = snapshot->find(kKind, name);
    api::PushTarget target = put.target;
    std::optional<api::PushTarget> before;
    auto condition = if_version;
    if (known != nullptr) {
      before = target_in(*known);
      if (before && !sees(caller, *before)) {
        co_return refused(ProblemCode::kForbidden, "another token has a push target of this name");
      }
      if (before && !put.has_headers) target.headers = before->headers;
      if (before && !put.has_secrets) target.secrets = before->secrets;
      if (before && !put.has_paused) {
        target.paused = before->paused;
        target.pause_reason = before->pause_reason;
      }
    }
    if (!condition) condition = known == nullptr ? 0 : known->version;
    if (!target.paused) target.pause_reason.clear();
    if (caller.services.push != nullptr) {
      if (auto fault = caller.services.push->fault_of(target)) {
        co_return refused(std::move(*fault));
      }
    }
    auto answer = co_await write(caller, target_name, target, condition, "push_target.set", before);
    const bool conflicts = !answer && answer.error().code == ProblemCode::kVersionConflict;
    if (conflicts && !if_version && tries < kTries) continue;
    co_return answer;
  }
}

Task<Answered<>> delete_push_target(Caller& caller, std::string_view name,
                                    std::optional<std::uint64_t> if_version) {
  const auto found = find_target(caller, name);
  if (!found) co_return refused(no_such_target());
  core::DeleteCatalogEntry removal;
  removal.kind = kKind;
  removal.name = SharedBytes(name);
  removal.if_version = if_version;
  core::Origin origin = about("push_target.deleted", "push_target", name);
  origin.before = SharedBytes(members_of(found->target));
  removal.by = caller.origin_of(std::move(origin));
  const core::CatalogKey key{kKind, removal.name};
  const core::Command command(std::move(removal));
  auto reply = co_await change(caller, command);
  if (!reply) co_return refused(reply);
  caller.services.catalog.remove(key);
  if (caller.services.push != nullptr) caller.services.push->look();
  co_return Answered<>();
}

Task<Answered<PushTargetAnswer>> pause_push_target(Caller& caller, std::string_view name,
                                                   bool paused, std::string_view reason) {
  const std::string target_name(name);
  for (int tries = 1;; ++tries) {
    auto found = find_target(caller, name);
    if (!found) co_return refused(no_such_target());
    const std::optional<api::PushTarget> before = found->target;
    found->target.paused = paused;
    found->target.pause_reason = paused ? std::string(reason) : std::string();
    const std::optional<std::uint64_t> version = found->entry.version;
    auto answer = co_await write(caller, target_name, found->target, version,
                                 paused ? "push_target.paused" : "push_target.resumed", before);
    const bool conflicts = !answer && answer.error().code == ProblemCode::kVersionConflict;
    if (conflicts && tries < kTries) continue;
    co_return answer;
  }
}

Task<Answered<api::PushTestResult>> test_push_target(Caller& caller, std::string_view name) {
  auto found = find_target(caller, name);
  if (!found) co_return refused(no_such_target());
  PushDesk* const desk = caller.services.push;
  if (desk == nullptr) {
    co_return refused(ProblemCode::kOverloaded, "this server calls no push targets");
  }
  auto call = [&](const std::stop_token&) { return desk->test(name, found->target); };
  auto done = co_await caller.read(Lane::kSearches, call);
  if (!done) co_return refused(done);
  co_await note_audit(caller, about("push_target.tested", "push_target", name));
  if (!*done) co_return refused(std::move(done->error()));
  co_return std::move(**done);
}

}  // namespace millrace::service
