// millrace work --simulate: carries out the steps of each payload.
#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "cli/executor/executor.h"
#include "cli/executor/simulation.h"
#include "millrace/transport.h"

namespace millrace::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr sdk::Milliseconds kHttpCallTimeout{30'000};

// Each step returns the attempt's outcome, or none to continue with the next step.
struct Doing {
  sdk::Context& context;
  bool allow_http_calls;

  std::optional<sdk::Outcome> operator()(const SleepStep& step) const {
    context.sleep_for(sdk::Milliseconds(step.ms));
    return std::nullopt;
  }
  std::optional<sdk::Outcome> operator()(const LogStep& step) const {
    context.log(step.level, step.message);
    return std::nullopt;
  }
  std::optional<sdk::Outcome> operator()(const ComputeStep& step) const {
    const auto until = SteadyClock::now() + sdk::Milliseconds(step.ms);
    volatile std::uint64_t number = 1;
    while (SteadyClock::now() < until) {
      for (int i = 0; i < 10'000; ++i) number = number * 6364136223846793005ULL + 1;
      context.throw_if_stopped();
    }
    return std::nullopt;
  }
  std::optional<sdk::Outcome> operator()(const HttpCallStep& step) const {
    if (!allow_http_calls) {
      return sdk::Outcome::failed_for_good(
          {.type = "payload",
           .message = "http_call is not allowed; start the worker with --allow-http-calls"});
    }
    const std::size_t path =
        std::min(step.url.find('/', step.url.find("://") + 3), step.url.size());
    const auto transport =
        sdk::make_http_transport({.url = step.url.substr(0, path), .user_agent = "millrace-work"});
    const auto answer = transport->send({.method = step.method,
                                         .path = step.url.substr(path),
                                         .timeout = kHttpCallTimeout,
                                         .stop = context.stop_token()});
    if (!answer) {
      context.throw_if_stopped();
      return sdk::Outcome::failed({.type = "http_call", .message = answer.error().message});
    }
    const bool good = step.status == 0 ? answer->status >= 200 && answer->status <= 299
                                       : answer->status == step.status;
    if (good) return std::nullopt;
    return sdk::Outcome::failed(
        {.type = "http_call", .message = fmt::format("{} answered {}", step.url, answer->status)});
  }
  std::optional<sdk::Outcome> operator()(const FailStep& step) const {
    if (step.until_attempt != 0 && context.job().attempt > step.until_attempt) return std::nullopt;
    const sdk::JobError error{.type = "simulated", .message = step.message};
    return step.retryable ? sdk::Outcome::failed(error) : sdk::Outcome::failed_for_good(error);
  }
};

}  // namespace

Executor make_simulator(bool allow_http_calls) {
  return [allow_http_calls](sdk::Context& context) {
    const auto steps = parse_steps(context.job().payload);
    if (!steps) {
      return sdk::Outcome::failed_for_good({.type = "payload", .message = steps.error().message});
    }
    for (const Step& step : *steps) {
      context.throw_if_stopped();
      if (auto end = std::visit(Doing{context, allow_http_calls}, step)) return std::move(*end);
    }
    return sdk::Outcome::succeeded(fmt::format(R"({{"steps":{}}})", steps->size()));
  };
}

}  // namespace millrace::cli
