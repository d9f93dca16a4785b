// Sends bodies to an OpenTelemetry collector, one at a time, over libcurl.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace millrace::push {

struct PostEnd {
  int status = 0;        // 0: no answer
  std::string answer{};  // with a status: the start of the body
  std::string error{};   // without an answer: the reason
  std::optional<std::chrono::seconds> retry_after{};
};

class SpanPost {
 public:
  virtual ~SpanPost() = default;
  // Blocks for seconds at most; returns early once `stop` is true.
  virtual PostEnd post(const std::string& body, const std::atomic<bool>& stop) = 0;
};

// `endpoint`: "http://collector:4318"; "/v1/traces" is added if the address has no path.
std::unique_ptr<SpanPost> make_span_post(const std::string& endpoint,
                                         const std::string& user_agent);
std::string traces_url(std::string endpoint);

}  // namespace millrace::push
