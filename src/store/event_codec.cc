#include "store/event_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "core/event_fields.h"
#include "store/record_wire.h"
#include "store/wire_reader.h"
#include "store/wire_writer.h"

namespace millrace::store {
namespace {

// Fields of EventBatch.
constexpr int kFormatField = 1;
constexpr int kAtField = 2;
constexpr int kEventsField = 3;
constexpr int kNamesField = 4;
constexpr int kPoliciesField = 5;

// The names are for error messages.
constexpr std::array<std::string_view, std::variant_size_v<core::Event>> kEventNames = {
    "queue_changed",
    "submitted",
    "claimed",
    "extended",
    "attempt_ended",
    "logged",
    "became_due",
    "expired",
    "cancel_requested",
    "cancelled",
    "retried",
    "edited",
    "deleted",
    "queue_purged",
    "keys_expired",
    "uniques_released",
    "epoch_started",
    "leases_extended",
    "finished",
    "queue_deleted",
    "schedule_set",
    "schedule_advanced",
    "schedule_deleted",
    "catalog_put",
    "catalog_deleted",
    "limit_set",
    "limit_deleted",
    "slowed_down",
    "breaker_turned",
    "debounced",
    "share_taken",
    "shares_set",
    "operation_set",
    "operation_advanced",
    "operations_forgotten",
    "audited",
    "workflow_set",
    "members_added",
    "members_released",
    "members_settled",
    "members_revived",
    "workflow_forgotten"};

// An event's field in the `Event` message is 1 plus its index in core::Event, so the order of the
// variant is part of the format.
constexpr int field_of(std::size_t index) { return static_cast<int>(index) + 1; }
// kEventNames.size() or more: no event has that field.
std::size_t index_of(int field) { return static_cast<std::size_t>(field) - 1; }

// One alternative, written as if it were the whole `Event` message.
struct EventRef {
  const core::Event& event;
};
// See base/tomorrow.h: tomorrow's program has its own form for the end of an attempt of such a job.
constexpr int kEventOfTomorrow = field_of(kEventNames.size() - 1) + 1;
bool ends_job_of_tomorrow(const core::Event& event) {
  const auto* ended = std::get_if<core::AttemptEnded>(&event);
  return ended != nullptr && is_of_tomorrow(ended->job.type.view());
}

void describe(WireWriter& wire, const EventRef& reference) {
  if (kOfTomorrow && ends_job_of_tomorrow(reference.event)) {
    return wire.message(kEventOfTomorrow, std::get<core::AttemptEnded>(reference.event));
  }
  const int field = field_of(reference.event.index());
  std::visit([&](const auto& alternative) { wire.message(field, alternative); }, reference.event);
}

template <std::size_t Index>
void read_alternative(WireReader& wire, core::Event& event) {
  wire.message(field_of(Index), event.emplace<Index>());
}

template <std::size_t... Index>
void read_alternative_at(std::size_t index, WireReader& wire, core::Event& event,
                         std::index_sequence<Index...>) {
  using Read = void (*)(WireReader&, core::Event&);
  static constexpr std::array<Read, sizeof...(Index)> kReads = {&read_alternative<Index>...};
  kReads[index](wire, event);
}

// The job in an event that holds a whole one; null: the event holds none.
const core::Job* job_in(const core::Event& event) {
  if (const auto* submitted = std::get_if<core::Submitted>(&event)) return &submitted->job;
  if (const auto* retried = std::get_if<core::Retried>(&event)) return &retried->job;
  if (const auto* finished = std::get_if<core::Finished>(&event)) return &finished->job;
  return nullptr;
}

// The first event of workflows; all from it on are theirs.
constexpr auto kFirstOfWorkflows = static_cast<std::size_t>(
    std::ranges::find(kEventNames, std::string_view("workflow_set")) - kEventNames.begin());

bool shows_workflow(const core::AuditImage& image) {
  return image.schedule != nullptr &&
         (!image.schedule->spec.workflow.empty() || !image.schedule->spec.queues.empty());
}

bool needs_workflows(const core::ScheduleAdvanced& advanced) {
  return advanced.progress.last_is_workflow ||
         std::ranges::any_of(advanced.runs, &core::ScheduleRun::workflow);
}

bool needs_workflows(const core::Schedule& schedule) {
  return !schedule.spec.workflow.empty() || !schedule.spec.queues.empty() ||
         schedule.progress.last_is_workflow;
}

bool needs_workflows(const core::Event& event, const core::Job* job) {
  if (event.index() >= kFirstOfWorkflows) return true;
  if (job != nullptr) return job->extras != nullptr && job->extras->member != nullptr;
  if (const auto* deleted = std::get_if<core::Deleted>(&event)) {
    return deleted->cause == core::DeleteCause::kWorkflow;
  }
  if (const auto* set = std::get_if<core::ScheduleSet>(&event)) {
    return needs_workflows(set->schedule);
  }
  if (const auto* advanced = std::get_if<core::ScheduleAdvanced>(&event)) {
    return needs_workflows(*advanced);
  }
  if (const auto* audited = std::get_if<core::Audited>(&event)) {
    return shows_workflow(audited->before) || shows_workflow(audited->after);
  }
  const auto* operation = std::get_if<core::OperationSet>(&event);
  return operation != nullptr && operation->part.spec.filter.workflow.has_value();
}

EventFormat format_of(const core::Event& event) {
  const core::Job* const job = job_in(event);
  if (kOfTomorrow) {
    const bool of_tomorrow = job != nullptr && is_of_tomorrow(job->type.view());
    if (of_tomorrow || ends_job_of_tomorrow(event)) return kFormatOfTomorrow;
  }
  return needs_workflows(event, job) ? EventFormat::kWorkflows : EventFormat::kFirst;
}

Status decode_event(std::string_view body, Time at, const SharedPartsReader& shared,
                    core::Event& event) {
  WireReader wire(body, at, &shared);
  const std::size_t index = index_of(wire.next_field());
  if (kOfTomorrow && wire.next_field() == kEventOfTomorrow) {
    wire.message(kEventOfTomorrow, event.emplace<core::AttemptEnded>());
    wire.expect_end();
    return wire.ok() ? Status() : failure("attempt_ended of tomorrow: " + wire.problem());
  }
  if (index >= kEventNames.size()) {
    return failure(wire.next_field() == 0 ? "the event is missing"
                                          : fmt::format("unknown event {}", wire.next_field()));
  }
  read_alternative_at(index, wire, event, std::make_index_sequence<kEventNames.size()>());
  wire.expect_end();
  if (!wire.ok()) return failure(fmt::format("{}: {}", kEventNames[index], wire.problem()));
  return {};
}

}  // namespace

EventFormat format_of(const core::EventBatch& batch) {
  EventFormat format = EventFormat::kFirst;
  for (const core::Event& event : batch.events) format = std::max(format, format_of(event));
  return format;
}

void encode_events(const core::EventBatch& batch, std::string& out) {
  SharedPartsWriter shared;
  WireWriter wire(out, batch.at, &shared);
  wire.number(kFormatField, format_of(batch));
  wire.duration(kAtField, batch.at.time_since_epoch());
  for (const core::Event& event : batch.events) wire.message(kEventsField, EventRef{event});
  wire.bytes(kNamesField, shared.names());
  for (const auto& policy : shared.policies()) wire.message(kPoliciesField, *policy);
  wire.finish();
}

Result<core::EventBatch> decode_events(std::string_view body) {
  WireReader wire(body, Time{});
  EventFormat format{};
  Duration at{};
  wire.number(kFormatField, format);
  if (wire.ok() && (format == EventFormat{} || format > kNewestEventFormat)) {
    return failure(fmt::format(
        "the events have format {}, and this version reads up to {}; start a newer version",
        static_cast<std::uint32_t>(format), static_cast<std::uint32_t>(kNewestEventFormat)));
  }
  wire.duration(kAtField, at);

  // The names and policies that the events refer to come after them.
  std::vector<std::string_view> event_bodies;
  for (std::string_view event; wire.take_raw(kEventsField, event);) event_bodies.push_back(event);
  SharedPartsReader shared;
  wire.bytes(kNamesField, shared.names);
  std::vector<core::RetryPolicy> policies;
  wire.message(kPoliciesField, policies);
  wire.expect_end();
  if (!wire.ok()) return failure(fmt::format("damaged event batch: {}", wire.problem()));
  for (core::RetryPolicy& policy : policies) shared.policies.push_back(share(std::move(policy)));

  core::EventBatch batch;
  batch.at = Time{at};
  batch.events.reserve(event_bodies.size());
  for (const std::string_view event_body : event_bodies) {
    core::Event& event = batch.events.emplace_back();
    if (const Status read = decode_event(event_body, batch.at, shared, event); !read) {
      return failure(fmt::format("event {} of {}: {}", batch.events.size(), event_bodies.size(),
                                 read.error().message));
    }
  }
  if (format != format_of(batch)) {
    return failure(fmt::format("the batch has events of format {}, but says format {}",
                               static_cast<std::uint32_t>(format_of(batch)),
                               static_cast<std::uint32_t>(format)));
  }
  return batch;
}

}  // namespace millrace::store
