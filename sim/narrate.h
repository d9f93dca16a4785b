// Requests and answers in words.
#pragma once

#include <string>

#include "engine/request.h"
#include "engine/routing/gateway.h"
#include "sim/world/disk.h"

namespace millrace::sim {

std::string narrate(const core::ScheduleAdvanced& event);
std::string narrate(const engine::Request& request);
std::string narrate(const engine::Delivery& delivery);
std::string narrate(const store::AppendResult& result, AppendFate fate);

}  // namespace millrace::sim
