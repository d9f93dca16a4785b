// The members of a queue and of its settings: see describe.h.
#pragma once

#include <tuple>

#include "core/describe.h"
#include "core/jobs/job_fields.h"
#include "core/queues/queue.h"

namespace millrace::core {

constexpr auto describe(Of<Retention>) {
  return std::tuple(Field(1, &Retention::succeeded), Field(2, &Retention::dead),
                    Field(3, &Retention::cancelled), Field(4, &Retention::expired));
}

constexpr auto describe(Of<FairWeight>) {
  return std::tuple(Field(1, &FairWeight::key), Field(2, &FairWeight::weight));
}

constexpr auto describe(Of<FairSettings>) {
  return std::tuple(Field(1, &FairSettings::weights), Field(2, &FairSettings::default_weight),
                    Field(3, &FairSettings::by));
}

constexpr auto describe(Of<QueueSettings>) {
  return std::tuple(Field(1, &QueueSettings::max_attempts), Field(2, &QueueSettings::max_crashes),
                    Field(3, &QueueSettings::retry), Field(4, &QueueSettings::lease),
                    Field(5, &QueueSettings::max_ready), Field(6, &QueueSettings::retention),
                    Field(7, &QueueSettings::concurrency), Field(8, &QueueSettings::rate),
                    Field(9, &QueueSettings::limits), Field(10, &QueueSettings::breaker),
                    Field(11, &QueueSettings::fair), Field(12, &QueueSettings::ageing),
                    Field(13, &QueueSettings::max_ready_per_key));
}

constexpr auto describe(Of<QueueLimits>) { return std::tuple(Field(1, &QueueLimits::limits)); }

constexpr auto describe(Of<QueuePatch>) {
  return std::tuple(Field(1, &QueuePatch::max_attempts), Field(2, &QueuePatch::max_crashes),
                    Field(3, &QueuePatch::retry, Form::kOwnPolicy), Field(4, &QueuePatch::lease),
                    Field(5, &QueuePatch::max_ready), Field(6, &QueuePatch::succeeded),
                    Field(7, &QueuePatch::dead), Field(8, &QueuePatch::cancelled),
                    Field(9, &QueuePatch::expired), Field(10, &QueuePatch::concurrency),
                    Field(11, &QueuePatch::rate), Field(12, &QueuePatch::limits),
                    Field(13, &QueuePatch::breaker), Field(14, &QueuePatch::fair),
                    Field(15, &QueuePatch::ageing), Field(16, &QueuePatch::max_ready_per_key));
}

constexpr auto describe(Of<Queue>) {
  return std::tuple(Field(0, &Queue::name, Form::kApart), Field(1, &Queue::settings),
                    Field(2, &Queue::paused), Field(3, &Queue::pause_reason),
                    Field(4, &Queue::version), Field(5, &Queue::counts), Field(6, &Queue::created),
                    Field(7, &Queue::pruned), Field(0, &Queue::oldest_ready_at, Form::kApart));
}

}  // namespace millrace::core
