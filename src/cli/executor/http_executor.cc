// millrace work --http: sends each job as a POST to a service.
#include <algorithm>

#include "api/push_call.h"
#include "cli/executor/executor.h"
#include "cli/job/outcome.h"
#include "millrace/transport.h"

namespace millrace::cli {
namespace {

sdk::Outcome outcome_of(const api::PushVerdict& verdict) {
  const sdk::JobError error{.type = verdict.error_type, .message = verdict.error_message};
  switch (verdict.end) {
    case api::PushEnd::kSucceeded:
      return sdk::Outcome::succeeded(verdict.result);
    case api::PushEnd::kAccepted:
      return sdk::Outcome::succeeded();
    case api::PushEnd::kDead:
    case api::PushEnd::kDeadAndDisabled:
      return sdk::Outcome::failed_for_good(error);
    case api::PushEnd::kSnoozed:
      return sdk::Outcome::snoozed(verdict.delay);
    case api::PushEnd::kFailed:
      break;
  }
  return sdk::Outcome::failed(error);
}

sdk::Outcome told_to_end(const sdk::Context& context) {
  return context.stop_reason() == sdk::StopReason::kCancelled ? sdk::Outcome::cancelled()
                                                              : sdk::Outcome::released();
}

sdk::Request request_of(const sdk::Context& context, sdk::Milliseconds timeout) {
  const sdk::ClaimedJob& job = context.job();
  if (job.timeout) timeout = std::min(timeout, *job.timeout);
  api::PushedJob pushed{.id = job.id,
                        .queue = job.queue,
                        .type = job.type,
                        .attempt = static_cast<std::uint32_t>(job.attempt),
                        .token = job.token,
                        .created_at = std::nullopt,
                        .timeout = timeout,
                        .traceparent = job.traceparent,
                        .tracestate = job.tracestate};
  if (job.schedule) pushed.schedule = job.schedule->name;
  sdk::Headers headers = api::push_headers(pushed);
  // The transport sets this header itself.
  std::erase_if(headers, [](const auto& header) { return header.first == "content-type"; });
  return {.method = "POST",
          .path = {},
          .body = job.payload,
          .headers = std::move(headers),
          .timeout = timeout,
          .stop = context.stop_token()};
}

}  // namespace

Result<Executor> make_http_executor(HttpExecutorOptions options) {
  const std::string& url = options.url;
  const std::size_t scheme = url.find("://");
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    return failure("--http: write a URL such as http://127.0.0.1:8000/jobs");
  }
  const std::size_t path_at = std::min(url.find_first_of("/?", scheme + 3), url.size());
  std::string path = url.substr(path_at);
  if (!path.starts_with('/')) path.insert(0, "/");
  const std::shared_ptr<sdk::Transport> transport =
      sdk::make_http_transport({.url = url.substr(0, path_at), .user_agent = "millrace-work"});
  return [transport, path, timeout = options.timeout](sdk::Context& context) {
    sdk::Request request = request_of(context, timeout);
    request.path = path;
    const auto answer = transport->send(request);
    if (!answer && context.stop_token().stop_requested()) return told_to_end(context);
    if (!answer) {
      return sdk::Outcome::failed(
          {.type = std::string(answer.error().code), .message = answer.error().message});
    }
    const Time now = std::chrono::floor<Duration>(std::chrono::system_clock::now());
    return outcome_of(api::judge_push_answer({.status = answer->status,
                                              .retry_after = answer->header("retry-after"),
                                              .body = answer->body},
                                             now, kMaxResultBytes));
  };
}

}  // namespace millrace::cli
