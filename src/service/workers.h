// Who works, and orders to them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/list.h"
#include "service/caller.h"

namespace millrace::service {

// Of the workers that the caller may see, and of those what it may see.
struct WorkerPage {
  std::vector<engine::WorkerView> workers;
  std::string next;  // empty: there are no more
};
Task<Answered<WorkerPage>> list_workers(Caller& caller, const api::Page& page);

// To go quiet, or to stop. `id` stays in place until the answer is there.
Task<Answered<engine::WorkerView>> command_worker(Caller& caller, std::string_view id,
                                                  engine::WorkerState state);

}  // namespace millrace::service
