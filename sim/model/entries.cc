#include "sim/model/entries.h"

#include <optional>
#include <string_view>

#include "core/audit/audit.h"
#include "sim/violation.h"

namespace millrace::sim {
namespace {

// A change that only operators make; none: others make it too, or it was not requested.
struct Changed {
  std::string_view kind;
  std::string_view name;  // empty: not compared
};
struct ByOperators {
  std::optional<Changed> operator()(const core::QueueChanged& e) const {
    if (e.change == core::QueueChange::kCreated) return std::nullopt;
    return Changed{"queue", e.queue.view()};
  }
  std::optional<Changed> operator()(const core::QueueDeleted& e) const {
    return Changed{"queue", e.queue.view()};
  }
  std::optional<Changed> operator()(const core::QueuePurged& e) const {
    return Changed{"queue", e.queue.view()};
  }
  std::optional<Changed> operator()(const core::Retried&) const { return Changed{"job", {}}; }
  std::optional<Changed> operator()(const core::Edited&) const { return Changed{"job", {}}; }
  std::optional<Changed> operator()(const core::Deleted& e) const {
    if (e.cause == core::DeleteCause::kRetention) return std::nullopt;
    return Changed{"job", {}};
  }
  std::optional<Changed> operator()(const core::ScheduleSet& e) const {
    return Changed{"schedule", e.schedule.name.view()};
  }
  std::optional<Changed> operator()(const core::ScheduleDeleted& e) const {
    return Changed{"schedule", e.name.view()};
  }
  // Commands on an operation have separate entries, in another batch.
  std::optional<Changed> operator()(const core::OperationSet& e) const {
    if (e.change != core::OperationChange::kStarted) return std::nullopt;
    return Changed{"operation", {}};
  }
  std::optional<Changed> operator()(const core::CatalogPut& e) const {
    return Changed{"document", e.name.view()};
  }
  std::optional<Changed> operator()(const core::CatalogDeleted& e) const {
    return Changed{"document", e.name.view()};
  }
  template <typename Event>
  std::optional<Changed> operator()(const Event&) const {
    return std::nullopt;
  }
};

bool tells_of(const core::Audited& entry, const Changed& changed) {
  if (!entry.kind.view().starts_with(changed.kind)) return false;
  return changed.name.empty() || entry.name.view() == changed.name;
}

}  // namespace

void check_entries(Seq row, const core::EventBatch& batch, std::uint64_t before, Entries entries,
                   Marks& marks) {
  std::optional<Changed> open;  // has no entry yet
  bool any = false;             // event since the last entry
  for (const core::Event& event : batch.events) {
    if (const auto* entry = std::get_if<core::Audited>(&event)) {
      demand(entry->n == before + 1, "X5", "row {}: entry {} follows entry {}", to_number(row),
             entry->n, before);
      before = entry->n;
      demand(any, "X5", "row {}: entry {} is of no change", to_number(row), entry->n);
      // If changes may lack entries, the previous change may not be this entry's.
      const bool fits = !open || entries == Entries::kMayLack || tells_of(*entry, *open);
      demand(fits, "X5", "row {}: a change of {} has an entry of {}", to_number(row),
             open ? open->kind : "", entry->kind.view());
      open.reset();
      any = false;
      marks.hit(Mark::kAudited);
      continue;
    }
    any = true;
    // A step of an operation needs none: the operation's start has an entry.
    if (std::holds_alternative<core::OperationAdvanced>(event)) {
      open.reset();
      continue;
    }
    const std::optional<Changed> changed = std::visit(ByOperators{}, event);
    if (changed) open = changed;
  }
  demand(!open || entries == Entries::kMayLack, "X5", "row {}: a change of {} has no entry",
         to_number(row), open ? open->kind : "");
}

}  // namespace millrace::sim
