// Helpers for the client's calls: query strings, and reading an answer.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
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

inline Result<Submitted> read_submitted(Result<Response> response) {
  const bool is_new = response && response->status == 201;
  auto job = then(std::move(response), read_job);
  if (!job) return std::unexpected(std::move(job.error()));
  return Submitted{std::move(*job), is_new};
}

}  // namespace millrace::sdk
