// Option values in human form: durations, times, NAME=VALUE, retry policies.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "base/result.h"
#include "millrace/job.h"

namespace millrace::cli {

// Options whose values are converted during parsing, so that an invalid value is a usage error that
// names the option.
CLI::Option* add_duration(CLI::App& app, const std::string& flags,
                          std::optional<sdk::Milliseconds>& out, const std::string& description);
CLI::Option* add_time(CLI::App& app, const std::string& flags, std::optional<sdk::Timestamp>& out,
                      const std::string& description);
// STRATEGY[:BASE[:MAX]] or list:DELAY,DELAY,...
CLI::Option* add_retry(CLI::App& app, const std::string& flags,
                       std::optional<sdk::RetryPolicy>& out, const std::string& description);

// -s, --state: states of a job. An unknown one is a usage error that lists the known ones.
CLI::Option* add_states(CLI::App& app, std::vector<std::string>& out,
                        const std::string& description);

// --dst-gap and --dst-overlap of a schedule.
void add_dst_policies(CLI::App& app, std::string& gap, std::string& overlap);

// Fails if the payload is not JSON, and says where.
Status check_payload(std::string_view payload);
Result<sdk::RetryPolicy> parse_retry(std::string_view text);
sdk::JobLimit parse_limit(std::string_view text);  // NAME or NAME=KEY
Result<std::pair<std::string, std::string>> parse_assignment(std::string_view text);

}  // namespace millrace::cli
