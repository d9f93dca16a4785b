// A push target as the pusher serves it, and the worker names under which it holds jobs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/push_target.h"
#include "base/ids.h"

namespace millrace::push {

struct Target {
  std::string name;
  std::uint64_t version = 0;
  api::PushTarget settings;
};
using Targets = std::vector<std::shared_ptr<const Target>>;  // by name

// The name of the worker that holds a target's jobs. Clients can't use such a name, and lists don't
// show it.
inline constexpr std::string_view kWorkerPrefix = "~push:";
inline std::string worker_of(std::string_view target) {
  return std::string(kWorkerPrefix) += target;
}

// A live lease held by a target's worker.
struct HeldLease {
  std::string target;
  JobId job;
  LeaseToken token{};
};

}  // namespace millrace::push
