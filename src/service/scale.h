// How many workers a queue needs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "api/queue.h"
#include "service/caller.h"

namespace millrace::service {

// The number of workers that start the queue's jobs within the target wait, both new jobs and
// waiting jobs that can start. Jobs that wait at closed gates need no workers, and the number never
// exceeds what the queue's bounds allow to run.
Task<Answered<api::Scale>> scale_queue(Caller& caller, std::string_view queue,
                                       const api::ScaleQuery& query);

struct ScaleFigures {
  bool paused = false;
  std::uint64_t ready = 0;
  std::uint64_t held_back = 0;  // those of `ready` that could not start now
  std::uint64_t running = 0;
  double submitted_per_s = 0;
  double started_per_s = 0;
  std::optional<Duration> run;  // the mean; none: unknown
  // The fewest slots that a bound of the queue or of one of its limits allows, and the name of it.
  std::optional<double> most_slots;
  std::string bound_by;
};
// Pure.
api::Scale scale_of(const ScaleFigures& figures, const api::ScaleQuery& query);

// Figures of a queue as returned by GetQueues. `find_limit` returns the settings of a named limit;
// null: there is no such limit.
using FindLimit = std::function<const core::LimitSettings*(std::string_view name)>;
ScaleFigures scale_figures(const engine::ReadModels& models, const core::Queue& queue,
                           std::uint64_t held_back, const FindLimit& find_limit, Time now);

}  // namespace millrace::service
