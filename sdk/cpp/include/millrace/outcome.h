// How an attempt ends: what a handler returns or throws.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/codec.h"
#include "millrace/lease.h"

namespace millrace::sdk {

// The result of an attempt.
struct Outcome {
  std::string outcome{};
  std::string result{};  // raw JSON
  std::optional<JobError> error{};
  bool retryable = true;
  std::optional<Milliseconds> delay{};
  std::vector<NewJob> enqueue{};  // submitted in the same commit, if the attempt succeeds
  Growth grow{};                  // of the job's workflow, in the same way
  std::string reason{};           // for a cancellation; becomes a line in the job's log

  static Outcome succeeded(std::string result_json = {});
  // Retried while attempts are left, after `delay` or else the job's own delay.
  static Outcome failed(JobError error, std::optional<Milliseconds> delay = {});
  // Dead at once, since a retry would not help.
  static Outcome failed_for_good(JobError error);
  // The job runs again later; this attempt does not count.
  static Outcome snoozed(Milliseconds delay);
  // The job is given back; this attempt does not count.
  static Outcome released();
  static Outcome cancelled(std::string reason = {});
};

namespace detail {

// What the exception says; a substitute if it says nothing.
std::string text_of(const std::exception& fault);
// The type and the text of the exception that is being handled, of whatever type.
JobError error_of_current_exception();

}  // namespace detail

// A success whose result is of any type that has a Codec.
template <typename Result>
Outcome done(const Result& result) {
  std::string json;
  try {
    json = encode(result);
  } catch (...) {
    return Outcome::failed(
        {.type = "outcome_refused", .message = detail::error_of_current_exception().message});
  }
  return Outcome::succeeded(std::move(json));
}

// Results of an attempt other than a value or an error. Can be thrown, or returned as an Outcome.
class Ending : public std::exception {
 public:
  const char* what() const noexcept override { return message_.c_str(); }
  virtual Outcome outcome() const = 0;
  operator Outcome() const { return outcome(); }  // NOLINT: as a value in the place of an Outcome

 protected:
  explicit Ending(std::string message) : message_(std::move(message)) {}

 private:
  std::string message_;
};

// The job is dead, even if attempts are left.
class NonRetryable : public Ending {
 public:
  explicit NonRetryable(std::string message) : Ending(std::move(message)) {}
  Outcome outcome() const override;
};

// The attempt failed; the next one starts after `delay`.
class RetryAfter : public Ending {
 public:
  explicit RetryAfter(Milliseconds delay, std::string message = "to be tried again later")
      : Ending(std::move(message)), delay_(delay) {}
  Outcome outcome() const override;

 private:
  Milliseconds delay_;
};

// The job runs again after `delay`; this attempt does not count.
class Snooze : public Ending {
 public:
  explicit Snooze(Milliseconds delay) : Ending("snoozed"), delay_(delay) {}
  Outcome outcome() const override;

 private:
  Milliseconds delay_;
};

// The job is cancelled. The reason becomes a line in its log.
class Cancel : public Ending {
 public:
  explicit Cancel(std::string reason) : Ending(std::move(reason)) {}
  Outcome outcome() const override;
};

// The handler ends because it was told to: cancelled, timed out, or given back. Thrown by
// Context::sleep_for() and Context::throw_if_stopped().
class Stopped : public Ending {
 public:
  Stopped() : Ending("the handler was told to end") {}
  Outcome outcome() const override;
};

}  // namespace millrace::sdk
