#include "millrace/handler.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <typeinfo>

#include "pending.h"

namespace millrace::sdk {
namespace {

constexpr std::string_view kStopped = "stopped";  // of Stopped, until its reason is known

std::string name_of(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return name ? name.get() : "exception";
}

Outcome call(const Handlers& handlers, Context& context) {
  try {
    try {
      return handlers(context);
    } catch (const Ending& ending) {
      return ending.outcome();  // may be the application's
    }
  } catch (...) {
    return Outcome::failed(detail::error_of_current_exception());
  }
}

Outcome of_stopped(StopReason told) {
  switch (told) {
    case StopReason::kCancelled:
      return Outcome::cancelled();
    case StopReason::kStopping:
      return Outcome::released();
    default:
      return Outcome::failed(
          {.type = "Stopped", .message = "the handler ended before it was told to"});
  }
}

}  // namespace

std::string detail::text_of(const std::exception& fault) {
  const char* text = fault.what();  // of the application's class: it may return anything
  return text == nullptr ? "the error can't be described: its what() returned a null pointer"
                         : text;
}

JobError detail::error_of_current_exception() {
  try {
    throw;
  } catch (const std::exception& fault) {
    return {.type = name_of(typeid(fault)), .message = text_of(fault)};
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    return {.type = type == nullptr ? "exception" : name_of(*type),
            .message = "what was thrown is not a std::exception"};
  }
}

Outcome NonRetryable::outcome() const {
  return Outcome::failed_for_good({.type = "NonRetryable", .message = detail::text_of(*this)});
}
Outcome RetryAfter::outcome() const {
  return Outcome::failed({.type = "RetryAfter", .message = detail::text_of(*this)}, delay_);
}
Outcome Snooze::outcome() const { return Outcome::snoozed(delay_); }
Outcome Cancel::outcome() const { return Outcome::cancelled(detail::text_of(*this)); }
Outcome Stopped::outcome() const { return {.outcome = std::string(kStopped)}; }

std::string_view name_of(StopReason reason) {
  switch (reason) {
    case StopReason::kNone:
      return "";
    case StopReason::kCancelled:
      return "cancelled";
    case StopReason::kTimeout:
      return "timeout";
    case StopReason::kLeaseLost:
      return "lease_lost";
    case StopReason::kStopping:
      return "stopping";
  }
  return "";
}

Outcome run_handler(const Handlers& handlers, Context& context) {
  const TraceScope trace({context.job().traceparent, context.job().tracestate});
  Outcome outcome = call(handlers, context);
  const StopReason told = context.stop_reason();
  if (told == StopReason::kTimeout) {
    return Outcome::failed({.type = "timeout", .message = "the attempt's time was over"});
  }
  // A handler that ends itself while the worker stops may do so before it is told.
  if (outcome.outcome == kStopped) {
    const bool ends_early = told == StopReason::kNone && context.stopping();
    outcome = of_stopped(ends_early ? StopReason::kStopping : told);
  }
  if (outcome.outcome != "succeeded") {
    outcome.enqueue.clear();
    outcome.grow = {};
    return outcome;
  }
  if (!outcome.result.empty() && !is_json(outcome.result)) {
    return Outcome::failed({.type = "outcome_refused",
                            .message = fmt::format("the result of the handler is not JSON: {}",
                                                   outcome.result.substr(0, 40))});
  }
  const std::lock_guard lock(context.pending_->mutex);
  for (NewJob& job : context.pending_->enqueued) outcome.enqueue.push_back(std::move(job));
  Growth& grown = context.pending_->grown;
  std::ranges::move(grown.members, std::back_inserter(outcome.grow.members));
  std::ranges::move(grown.skip, std::back_inserter(outcome.grow.skip));
  return outcome;
}

Handlers& Handlers::set(std::string type, Handler handler) {
  by_type_.insert_or_assign(std::move(type), std::move(handler));
  return *this;
}

Handlers& Handlers::otherwise(Handler handle) {
  otherwise_ = std::move(handle);
  return *this;
}

Handlers& Handlers::use(Middleware middleware) {
  middleware_.push_back(std::move(middleware));
  return *this;
}

std::vector<std::string> Handlers::types() const {
  std::vector<std::string> types;
  if (otherwise_) return types;
  for (const auto& [type, handler] : by_type_) types.push_back(type);
  return types;
}

bool Handlers::has(std::string_view type) const {
  return otherwise_ || by_type_.find(type) != by_type_.end();
}

Outcome Handlers::operator()(Context& context) const {
  const auto found = by_type_.find(context.job().type);
  const Handler& own = found == by_type_.end() ? otherwise_ : found->second;
  if (!own) {
    return Outcome::failed(
        {.type = "no_handler",
         .message = fmt::format("the worker has no handler for {}", context.job().type)});
  }
  Handler wrapped = std::ref(own);
  for (auto outer = middleware_.rbegin(); outer != middleware_.rend(); ++outer) {
    wrapped = [&middleware = *outer, next = std::move(wrapped)](Context& inner) {
      return middleware(inner, next);
    };
  }
  return wrapped(context);
}

}  // namespace millrace::sdk
