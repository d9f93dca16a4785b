// How many workers a queue needs.
#pragma once

#include <string_view>

#include "api/queue.h"
#include "service/caller.h"

namespace millrace::service {

// The workers that start the queue's jobs within the target wait: of what comes in, and of what
// waits and could start. Jobs that wait at closed gates ask for none, and nobody is asked for
// beyond what the queue's bounds allow to run.
Task<Answered<api::Scale>> scale_queue(Caller& caller, std::string_view queue,
                                       const api::ScaleQuery& query);

// The same, of figures. Pure.
struct ScaleFigures {
  bool paused = false;
  std::uint64_t ready = 0;
  std::uint64_t held_back = 0;  // of these, those that could not start now
  std::uint64_t running = 0;
  double submitted_per_s = 0;
  double started_per_s = 0;
  std::optional<Duration> run;  // the mean; none: unknown
  // The fewest slots that a bound of the queue or of one of its limits allows, and whose it is.
  std::optional<double> most_slots;
  std::string bound_by;
};
api::Scale scale_of(const ScaleFigures& figures, const api::ScaleQuery& query);

}  // namespace millrace::service
