// The list of workers, and orders to them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/list.h"
#include "service/caller.h"

namespace millrace::service {

// A caller limited to some queues sees its own workers, those of tokens that allow nothing beyond
// its own, and among the shared ones those that serve one of its queues.
bool sees_worker(const Caller& caller, const engine::WorkerView& worker);

// The workers that the caller may see, with the members that it may see.
struct WorkerPage {
  std::vector<engine::WorkerView> workers;
  std::string next;  // empty: there are no more
};
Task<Answered<WorkerPage>> list_workers(Caller& caller, const api::Page& page);

// Tells a worker to go quiet or to stop. `id` must stay valid until the answer arrives.
Task<Answered<engine::WorkerView>> command_worker(Caller& caller, std::string_view id,
                                                  engine::WorkerState state);

}  // namespace millrace::service
