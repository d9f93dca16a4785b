// Requests as JSON text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "millrace/lease.h"

namespace millrace::sdk {

std::string encode_job(const NewJob& job);
std::string encode_batch(std::span<const NewJob> jobs, bool atomic);
std::string encode_poll(std::string_view worker_id, const PollRequest& request);

}  // namespace millrace::sdk
