#include "engine/shard/row_budget.h"

#include <variant>

#include "core/audit/audit_scribe.h"
#include "core/bounds.h"
#include "core/kinds.h"
#include "core/row_bytes.h"

namespace millrace::engine {
namespace {

using core::bytes_of;
using core::bytes_of_error;
using core::kItemBytes;
using core::kRefBytes;
using core::kTimeBytes;

// Beyond row_bytes() of a command, its claim may expire jobs. Only one command adds this uncounted,
// since what a command has added is counted before the next one.
static_assert(kRowBudgetBytes + kMaxCommandBytes + core::kMaxExpiredPerClaim * kRefBytes <
              core::kMaxJournalBodyBytes);

constexpr std::size_t kNumberBytes = 8;  // of a member, with its tag

struct EventBytes {
  std::size_t operator()(const core::QueueChanged& e) const {
    std::size_t bytes = 2 * kRefBytes + bytes_of(e.settings.retry) + bytes_of(e.settings.limits);
    if (e.settings.fair) {
      for (const core::FairWeight& own : e.settings.fair->weights) {
        bytes += kItemBytes + own.key.size();
      }
    }
    return bytes + e.pause_reason.size();
  }
  std::size_t operator()(const core::Submitted& e) const { return kItemBytes + row_bytes(e.job); }
  std::size_t operator()(const core::Claimed& e) const {
    return kRefBytes + e.items.size() * (kRefBytes + kItemBytes);
  }
  std::size_t operator()(const core::Extended& e) const {
    std::size_t bytes = kItemBytes;
    for (const auto& item : e.items) bytes += kItemBytes + bytes_of(item.progress);
    return bytes;
  }
  std::size_t operator()(const core::AttemptEnded& e) const {
    return 2 * kRefBytes + e.result.size() + bytes_of_error(e.error);
  }
  std::size_t operator()(const core::Logged& e) const { return kItemBytes + bytes_of(e.lines); }
  std::size_t operator()(const core::BecameDue& e) const {
    return kItemBytes + e.jobs.size() * kRefBytes;
  }
  std::size_t operator()(const core::Expired&) const { return kRefBytes; }
  std::size_t operator()(const core::CancelRequested& e) const {
    return 2 * kRefBytes + e.reason.size();
  }
  std::size_t operator()(const core::Cancelled& e) const { return kRefBytes + e.reason.size(); }
  std::size_t operator()(const core::Retried& e) const { return kItemBytes + row_bytes(e.job); }
  std::size_t operator()(const core::Finished& e) const { return kItemBytes + row_bytes(e.job); }
  std::size_t operator()(const core::Edited& e) const {
    return kRefBytes + kItemBytes + e.payload.size() + bytes_of(e.tags);
  }
  std::size_t operator()(const core::Deleted& e) const {
    std::size_t bytes = kItemBytes;
    for (const auto& item : e.items) bytes += kRefBytes + item.unique_key.size();
    return bytes;
  }
  std::size_t operator()(const core::QueuePurged&) const { return kRefBytes; }
  std::size_t operator()(const core::QueueDeleted&) const { return kRefBytes; }
  std::size_t operator()(const core::ScheduleSet& e) const { return bytes_of(e.schedule); }
  std::size_t operator()(const core::ScheduleAdvanced& e) const {
    return kRefBytes + 2 * kItemBytes + e.progress.broken.size() + e.runs.size() * kItemBytes +
           e.progress.owed.size() * kTimeBytes;
  }
  std::size_t operator()(const core::ScheduleDeleted&) const { return kRefBytes; }
  std::size_t operator()(const core::CatalogPut& e) const { return kRefBytes + e.body.size(); }
  std::size_t operator()(const core::CatalogDeleted&) const { return kRefBytes; }
  std::size_t operator()(const core::LimitSet& e) const {
    std::size_t bytes = kRefBytes + bytes_of(e.limit.settings);
    for (const core::LimitPause& pause : e.limit.pauses) {
      bytes += kItemBytes + pause.key.size() + pause.reason.size();
    }
    return bytes;
  }
  std::size_t operator()(const core::LimitDeleted&) const { return kRefBytes; }
  std::size_t operator()(const core::ShareTaken&) const { return 2 * kRefBytes; }
  std::size_t operator()(const core::SharesSet& e) const {
    return 2 * kRefBytes + (e.book ? e.book->grants.size() * kItemBytes : 0);
  }
  std::size_t operator()(const core::SlowedDown& e) const { return kRefBytes + e.key.size(); }
  std::size_t operator()(const core::BreakerTurned& e) const { return kRefBytes + e.key.size(); }
  std::size_t operator()(const core::Debounced& e) const {
    return kRefBytes + kItemBytes + e.payload.size();
  }
  std::size_t operator()(const core::OperationSet& e) const {
    return kRefBytes + bytes_of(e.part.spec) + e.part.reason.size();
  }
  std::size_t operator()(const core::OperationAdvanced& e) const {
    return kRefBytes + e.reason.size();
  }
  std::size_t operator()(const core::OperationsForgotten& e) const {
    return kItemBytes + e.ids.size() * kItemBytes;
  }
  std::size_t operator()(const core::Audited& e) const {
    return kRefBytes + bytes_of(e.actor) + e.name.size() + e.reason.size() + bytes_of(e.before) +
           bytes_of(e.after);
  }
  std::size_t operator()(const core::WorkflowSet& e) const {
    return kItemBytes + bytes_of(e.workflow);
  }
  std::size_t operator()(const core::MembersAdded& e) const {
    return kRefBytes + bytes_of(e.members);
  }
  std::size_t operator()(const core::MembersReleased& e) const {
    return kItemBytes + e.numbers.size() * kNumberBytes;
  }
  std::size_t operator()(const core::MembersSettled& e) const {
    return kRefBytes + e.items.size() * 4 * kNumberBytes;
  }
  std::size_t operator()(const core::MembersRevived& e) const {
    return kItemBytes + e.numbers.size() * kNumberBytes;
  }
  std::size_t operator()(const core::WorkflowForgotten&) const { return kRefBytes; }
  std::size_t operator()(const core::KeysExpired&) const { return kItemBytes; }
  std::size_t operator()(const core::UniquesReleased&) const { return kItemBytes; }
  std::size_t operator()(const core::EpochStarted&) const { return kItemBytes; }
  std::size_t operator()(const core::LeasesExtended&) const { return kItemBytes; }
};

}  // namespace

std::size_t row_bytes(const core::Event& event) { return std::visit(EventBytes{}, event); }
std::size_t row_bytes(const core::Command& command) {
  const core::Origin* const origin = core::origin_of(command);
  const std::size_t own = std::visit(
      []<typename C>(const C& given) { return core::Kind<C>::row_bytes(given); }, command);
  return own + (origin == nullptr ? 0 : bytes_of(*origin));
}

}  // namespace millrace::engine
