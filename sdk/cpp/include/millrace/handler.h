// Handlers: their input, their results, and the set of handlers of an application.
//
//   millrace::sdk::Handlers handlers;
//   handlers.on<Mail>("mail.send", [](millrace::sdk::Context& context, const Mail& mail) {
//     deliver(mail, context.stop_token());  // an exception fails the attempt
//   });
#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "millrace/lease.h"
#include "millrace/members.h"
#include "millrace/outcome.h"
#include "millrace/workflow.h"

namespace millrace::sdk {

class Handlers;

// The reason why a handler was told to end.
enum class StopReason {
  kNone,       // it was not told
  kCancelled,  // the job was cancelled
  kTimeout,    // the attempt's time is over: it fails, whatever the handler returns
  kLeaseLost,  // another worker may have the job: the handler's result is ignored
  kStopping,   // the worker is stopping and the grace time is over; a second is left
};

// "cancelled", "timeout", "lease_lost", "stopping"; "" for kNone.
std::string_view name_of(StopReason reason);

// Thrown by Context::parent<T>(): the parent has no result. what() says why, and names its job.
class NoResult : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One attempt, as seen by its handler. Thread-safe; valid until the handler returns.
class Context {
 public:
  const ClaimedJob& job() const { return job_; }
  // The fencing token: later leases of any job have greater ones.
  std::uint64_t token() const { return job_.token; }

  // Triggered once, when the attempt should end early; stop_reason() gives the reason.
  std::stop_token stop_token() const { return stop_.get_token(); }
  StopReason stop_reason() const;
  // The worker is stopping. The handler has WorkerOptions::grace to save a checkpoint and end.
  bool stopping() const;
  void throw_if_stopped() const;
  // Waits; throws Stopped as soon as the handler is told to end.
  void sleep_for(Milliseconds time) const;

  // Sent within a second. `progress`: 0 to 100 percent and a message of up to 1,024 bytes, both cut
  // to their bounds. `checkpoint`: raw JSON for the next attempt; with the message at most 64 KiB.
  // A checkpoint that is invalid or too large is dropped, with a line in the job's log.
  void progress(Progress progress, std::string checkpoint = {});
  // Adds a line to the job's log; sent within a second or with the outcome. Beyond 256 KiB, the
  // oldest unsent lines are dropped. Levels: debug, info, warn, error, or the nearest of these.
  void log(std::string_view level, std::string_view message);

  // Sent with the outcome. For each limit, the last request counts. Throws std::invalid_argument
  // unless the length is 100 ms to an hour.
  void slow_down(SlowDown wish);

  // Submits a job in the commit of the attempt's outcome, only if the attempt succeeds.
  void enqueue(NewJob job);
  template <typename Payload>
    requires(!std::convertible_to<Payload, NewJob>)
  void enqueue(std::string_view type, const Payload& payload, NewJob options = {}) {
    enqueue(new_job(type, payload, std::move(options)));
  }
  template <typename Payload>
  void enqueue(const JobType<Payload>& type, const std::type_identity_t<Payload>& payload) {
    enqueue(new_job(type, payload));
  }

  // The workflow that the job belongs to; unset if it belongs to none.
  const std::optional<ClaimedWorkflow>& workflow() const { return job_.workflow; }
  // What the job's member needs, by ref, as it ended.
  const std::vector<std::pair<std::string, Parent>>& parents() const { return job_.parents; }
  // Throws std::out_of_range, with the refs of those there are, if the member does not need `ref`.
  const Parent& parent(std::string_view ref) const;
  // The parent's result as a type that has a Codec. Also throws NoResult, if the parent has not
  // succeeded or its result was left out.
  template <typename T>
  T parent(std::string_view ref) const {
    return decode<T>(result_of(ref));
  }

  // Adds a member to the job's workflow in the commit of the attempt's outcome, only if the attempt
  // succeeds. A ref that is there is left alone. Returns a need of its success, for further
  // members. Throws std::logic_error if the job is no member of a workflow, and
  // std::invalid_argument if `ref` is empty or was added already.
  Need add(std::string ref, NewJob job, std::vector<Need> needs = {}, Needed needed = Needed::kAll);
  // Skips a member that waits for this one, in the same commit. Throws as add() does.
  void skip(std::string ref);

 private:
  friend class WorkerCore;
  friend class FakeJobs;
  friend Outcome run_handler(const Handlers& handlers, Context& context);
  struct Pending;
  Context(ClaimedJob job, std::shared_ptr<Pending> pending);
  std::string_view result_of(std::string_view ref) const;

  ClaimedJob job_;
  std::shared_ptr<Pending> pending_;
  std::stop_source stop_;
};

// Called for each claimed job, on one of the worker's threads. If it throws, the attempt fails.
using Handler = std::function<Outcome(Context&)>;

// Wraps each handler: it may inspect the context, call `next` or not, and return its outcome or
// another. Exceptions of the handler pass through it.
using Middleware = std::function<Outcome(Context& context, const Handler& next)>;

namespace detail {

template <typename Call>
Outcome outcome_of(Call&& call) {
  using Returned = std::invoke_result_t<Call>;
  if constexpr (std::is_void_v<Returned>) {
    std::forward<Call>(call)();
    return Outcome::succeeded("null");
  } else if constexpr (std::convertible_to<Returned, Outcome>) {
    return std::forward<Call>(call)();
  } else {
    return done(std::forward<Call>(call)());
  }
}

}  // namespace detail

// The handlers of an application, by type. Copyable. Not thread-safe while handlers are added.
class Handlers {
 public:
  // `handle` takes (Context&, const Payload&) or (const Payload&), and returns an Outcome, a result
  // of any type that has a Codec, or nothing. A payload that can't be decoded fails the attempt.
  template <typename Payload, typename Handle>
  Handlers& on(std::string type, Handle handle) {
    return on(std::move(type), Handler([handle = std::move(handle)](Context& context) mutable {
                const auto payload = decode<Payload>(context.job().payload);
                return detail::outcome_of([&]() -> decltype(auto) {
                  if constexpr (std::invocable<Handle&, Context&, const Payload&>) {
                    return handle(context, payload);
                  } else {
                    return handle(payload);
                  }
                });
              }));
  }
  // The same of a type of jobs that producers use, too.
  template <typename Payload, typename Handle>
  Handlers& on(const JobType<Payload>& type, Handle handle) {
    constexpr bool kFits = std::invocable<Handle&, Context&, const Payload&> ||
                           std::invocable<Handle&, const Payload&>;
    static_assert(kFits,
                  "the handler takes (Context&, const Payload&) or (const Payload&), with the "
                  "payload of the job's type");
    if constexpr (kFits) on<Payload>(type.name, std::move(handle));
    return *this;
  }
  // A handler that reads context.job().payload itself; it returns the same types as above.
  template <typename Handle>
    requires std::invocable<Handle&, Context&>
  Handlers& on(std::string type, Handle handle) {
    return set(std::move(type), [handle = std::move(handle)](Context& context) mutable {
      return detail::outcome_of([&]() -> decltype(auto) { return handle(context); });
    });
  }
  // The handler of all other types. A worker with it claims jobs of any type.
  Handlers& otherwise(Handler handle);
  // The first middleware is the outermost.
  Handlers& use(Middleware middleware);

  // The types that have their own handler; empty if there is a handler for all types.
  std::vector<std::string> types() const;
  bool has(std::string_view type) const;
  // Calls the job's handler inside the middleware.
  Outcome operator()(Context& context) const;

 private:
  Handlers& set(std::string type, Handler handle);

  std::map<std::string, Handler, std::less<>> by_type_;
  Handler otherwise_;
  std::vector<Middleware> middleware_;
};

}  // namespace millrace::sdk
