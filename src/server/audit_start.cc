#include "server/audit_start.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace millrace::server {
namespace {

constexpr std::string_view kAction = "audit.began";
// The entry is among the first ones; another node may have made it.
constexpr std::uint32_t kLookedAt = 200;
constexpr std::chrono::milliseconds kPatience{5'000};
constexpr std::int64_t kSpreadMs = 10'000;

core::Command entry() {
  auto origin = std::make_shared<core::Origin>();
  origin->actor.via = core::AuditVia::kSystem;
  origin->action = SharedBytes(kAction);
  origin->kind = SharedBytes(std::string_view("audit"));
  origin->name = SharedBytes(std::string_view("entries"));
  origin->reason = SharedBytes(
      std::string_view("until now a node of an older version took part, and changes had no entry"));
  return core::NoteAudit{std::move(origin)};
}

std::chrono::milliseconds random_part(std::int64_t most_ms) {
  std::random_device dice;
  return std::chrono::milliseconds{std::uniform_int_distribution<std::int64_t>(0, most_ms)(dice)};
}

bool is_taken(const engine::Answer& answer) {
  const auto* const reply = std::get_if<core::Reply>(&answer);
  return reply != nullptr && std::holds_alternative<core::CatalogReply>(*reply);
}

}  // namespace

// A random delay, so that nodes do not look at the same moment.
AuditStart::AuditStart(Parts parts)
    : parts_(std::move(parts)), patience_(kPatience + random_part(kSpreadMs)) {}

void AuditStart::tick(bool leads) {
  const auto now = std::chrono::steady_clock::now();
  const store::EventFormat level = parts_.format.level();
  if (level == store::EventFormat::kFirst) return;  // this node does not know the level yet
  {
    const MutexLock lock(mutex_);
    if (level < store::EventFormat::kOperations) {
      owed_ = true;
      not_before_ = now + patience_;
      return;
    }
    if (!owed_ || busy_ || (!leads && now < not_before_)) return;
    busy_ = true;
  }
  parts_.run([this] { look(); });
}

void AuditStart::look() {
  const auto rows = parts_.tables.audit({.oldest_first = true, .after = {}, .limit = kLookedAt});
  const bool known = rows && std::ranges::any_of(*rows, [](const core::AuditRow& row) {
                       return row.entry.action.view() == kAction;
                     });
  if (!rows || known) {
    const MutexLock lock(mutex_);
    owed_ = !known;
    busy_ = false;
    return;
  }
  parts_.router.submit(entry(), *this, engine::Ticket{1}, engine::kNodesOwn);
}

void AuditStart::deliver(std::span<engine::Delivery> deliveries) {
  const MutexLock lock(mutex_);
  for (const engine::Delivery& delivery : deliveries) owed_ = !is_taken(delivery.answer);
  busy_ = false;
}

}  // namespace millrace::server
