// The figures of push targets.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "api/push_target.h"
#include "server/metrics/metric_families.h"

namespace millrace::server {

// At most 128 targets have their own figures; the rest are summed as `(other)`.
void add_push(FamilyList& out, const std::vector<std::pair<std::string, api::PushHealth>>& targets);

}  // namespace millrace::server
