#include "base/mutant.h"

#include <array>
#include <cstddef>

namespace millrace {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Mutant::kLast)> kNames = {
    "none",
    "reply-before-commit",
    "refusal-before-commit",
    "skip-sync",
    "retry-sync",
    "checksum-ignored",
    "append-ignores-predecessor",
    "append-overwrites",
    "unknown-appended-anew",
    "flush-unfenced",
    "stale-prefetch",
    "slot-released-twice",
    "slot-leaked-on-cancel",
    "wake-up-dropped",
    "timers-on-wall-clock",
    "token-unchecked",
    "tokens-restart",
    "attempt-counted-at-nack",
    "lease-expires-early",
    "leases-expired-at-restart",
    "late-key",
    "partial-atomic-enqueue",
    "backoff-overflow",
    "late-ack-overwrites",
    "retry-without-record",
    "pause-forgotten",
    "payload-normalised",
    "read-after-lease",
    "take-uncompared",
    "forwarded-twice",
    "outbox-unkeyed",
    "outbox-acked-unheard",
    "doubt-ignored",
    "inbox-row-kept",
    "inbox-order-ignored",
    "retry-unfenced",
    "forgotten-unfenced",
    "claim-unbounded",
    "foreign-finish-believed",
    "format-raised-alone",
    "deleted-queue-kept",
    "format-gate-open",
    "catalog-entry-kept",
    "schedule-progress-lost",
    "stale-schedule-fires",
    "overlap-ignored",
    "instant-early",
    "missed-instant-kept",
    "limit-slot-late",
    "limit-slot-leaked",
    "limit-bucket-forgotten",
    "limit-opening-dropped",
    "audit-late",
    "limit-keys-unbounded",
    "limit-pause-forgotten",
    "order-freed-at-retry",
    "why-forgets-rate",
    "slow-down-forgotten",
    "retry-budget-ignored",
    "breaker-forgotten",
    "breaker-probes-unbounded",
    "debounce-shortens-backoff",
    "fair-credit-wound-up",
    "fair-tag-forgotten",
    "share-raised-first",
    "old-share-believed",
    "slot-leaked-at-takeover",
    "operation-cursor-apart",
    "operation-cursor-lost",
    "operation-rate-wound-up",
    "operation-takes-later",
    "report-of-any-round",
    "late-member-dropped",
};
static_assert(!kNames.back().empty(), "a name for each");

}  // namespace

std::string_view mutant_name(Mutant mutant) {
  const auto index = static_cast<std::size_t>(mutant);
  return index < kNames.size() ? kNames[index] : std::string_view();
}

Mutant mutant_by_name(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Mutant>(i);
  }
  return Mutant::kNone;
}

}  // namespace millrace
