// Helpers for the client's calls: query strings, and reading an answer.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "constants.h"
#include "json_reader.h"
#include "millrace/client.h"

namespace millrace::sdk {

// Builds "?a=1&b=2".
class QueryString {
 public:
  void add(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    text_ += text_.empty() ? '?' : '&';
    text_ += fmt::format("{}={}", name, url_encode(value));
  }
  void add(std::string_view name, const std::vector<std::string>& values) {
    add(name, fmt::format("{}", fmt::join(values, ",")));
  }
  void add(std::string_view name, const std::optional<Timestamp>& value) {
    if (value) add(name, format_rfc3339(*value));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

inline Headers if_match(std::optional<std::int64_t> version) {
  if (!version) return {};
  return {{"If-Match", fmt::format("\"{}\"", *version)}};
}

template <typename Read>
auto then(Result<Response> response, Read&& read) -> decltype(read(std::string_view{})) {
  if (!response) return std::unexpected(std::move(response.error()));
  auto value = read(response->body);
  if (!value) value.error().status = response->status;
  return value;
}

// Waits for `delay`; shorter if `stop` is triggered.
void pause_for(Milliseconds delay, const std::stop_token& stop);

// Repeats `get(wait)` until what it finds has ended, which it itself waits for, at most `wait` at a
// time. `what` names the thing in the error kWaitTimeout.
template <typename Get>
auto wait_for_end(const ClientOptions& options, std::string_view what, Milliseconds timeout,
                  Get get) -> decltype(get(timeout)) {
  const auto began = std::chrono::steady_clock::now();
  const auto deadline = began + timeout;
  // What a transaction submits comes a moment after its commit: until then there is none.
  const auto comes = options.try_again ? std::min(began + kCommitPatience, deadline) : began;
  for (;;) {
    const auto left = std::chrono::ceil<Milliseconds>(deadline - std::chrono::steady_clock::now());
    const Milliseconds wait = std::clamp(left, Milliseconds{0}, kLongestWait);
    auto found = get(wait);
    const bool is_missing = !found && found.error().problem() == Problem::kNotFound;
    if (is_missing && std::chrono::steady_clock::now() < comes) {
      pause_for(kCommitPause, options.stop);
      if (!options.stop.stop_requested()) continue;
    }
    if (!found || found->is_final()) return found;
    if (left > wait) continue;
    Error error;
    error.kind = ErrorKind::kWaitTimeout;
    error.code = "wait_timeout";
    error.message =
        fmt::format("{} is {} and has not ended within {} ms", what, found->state, timeout.count());
    return std::unexpected(std::move(error));
  }
}

inline Result<Submitted> read_submitted(Result<Response> response) {
  const bool is_new = response && response->status == 201;
  auto job = then(std::move(response), read_job);
  if (!job) return std::unexpected(std::move(job.error()));
  return Submitted{std::move(*job), is_new};
}

}  // namespace millrace::sdk
