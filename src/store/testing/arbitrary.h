// Arbitrary values for tests: every member may be anything its type can hold, edges included. The
// same seed gives the same values.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "core/event.h"
#include "store/value_fields.h"

namespace millrace::store {

class Arbitrary {
 public:
  explicit Arbitrary(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_.next() % bound; }
  bool coin() { return below(2) == 0; }

  template <typename T>
  T number() {
    switch (below(6)) {
      case 0:
        return std::numeric_limits<T>::max();
      case 1:
        return std::numeric_limits<T>::min();
      case 2:
        return static_cast<T>(below(3));
      case 3:
        return static_cast<T>(below(100'000));
      default:
        return static_cast<T>(random_.next() >> below(64));
    }
  }
  template <typename T>
  T enumerator(T last) {
    return static_cast<T>(below(static_cast<std::uint64_t>(last) + 1));
  }
  template <typename Make>
  auto maybe(Make make) -> std::optional<decltype(make())> {
    if (coin()) return std::nullopt;
    return make();
  }
  template <typename Make>
  auto several(std::uint64_t most, Make make) -> std::vector<decltype(make())> {
    std::vector<decltype(make())> made;
    for (std::uint64_t left = below(most + 1); left > 0; --left) made.push_back(make());
    return made;
  }

  Time time() { return time_from_ms(number<std::int64_t>()); }
  Duration duration() { return Duration{number<std::int64_t>()}; }
  LeaseToken token() { return LeaseToken{number<std::uint64_t>()}; }
  SharedBytes bytes(std::uint64_t most = 40) {
    std::string content;
    for (std::uint64_t left = below(most + 1); left > 0; --left) {
      content.push_back(static_cast<char>(random_.next()));
    }
    return SharedBytes(content);
  }
  // Few, so that they repeat.
  SharedBytes name() { return SharedBytes(below(5) == 0 ? "" : "name" + std::to_string(below(9))); }
  JobId id() { return {raw()}; }
  Fingerprint fingerprint() { return {raw()}; }

  core::RetryPolicy policy() {
    if (below(3) == 0) return *core::default_retry_policy();
    return {enumerator(core::RetryStrategy::kList), duration(), duration(), number<std::uint32_t>(),
            several(3, [&] { return duration(); })};
  }
  std::shared_ptr<const core::RetryPolicy> shared_policy() {
    return std::make_shared<core::RetryPolicy>(policy());
  }
  std::shared_ptr<const core::JobError> error() {
    if (coin()) return nullptr;
    return std::make_shared<core::JobError>(core::JobError{
        bytes(), bytes(200), bytes(300), number<std::uint64_t>(), number<std::uint32_t>(), time()});
  }
  std::shared_ptr<const core::Progress> progress() {
    if (coin()) return nullptr;
    const auto percent = maybe([&] { return static_cast<double>(below(1001)) / 10; });
    return std::make_shared<core::Progress>(core::Progress{percent, bytes(), bytes()});
  }
  core::UniqueRule unique_rule() {
    return {bytes(), maybe([&] { return duration(); }), enumerator(core::OnConflict::kReplace)};
  }
  std::shared_ptr<const core::JobExtras> extras() {
    if (coin()) return nullptr;
    return std::make_shared<core::JobExtras>(
        core::JobExtras{maybe([&] { return unique_rule(); }), several(3, [&] { return bytes(); }),
                        several(3, [&] { return std::pair(bytes(), bytes()); }), bytes(), bytes()});
  }
  core::Attempt attempt() {
    return {number<std::uint32_t>(),       number<std::uint32_t>(),  bytes(), time(),
            maybe([&] { return time(); }), enumerator(kLastOutcome), error()};
  }
  core::LogLine log_line() {
    return {number<std::uint32_t>(), number<std::uint32_t>(),
            number<std::uint32_t>(), time(),
            number<std::uint8_t>(),  bytes(300)};
  }
  core::QueueSettings settings() {
    const auto length = [&] { return duration(); };
    return {number<std::uint32_t>(),
            maybe([&] { return number<std::uint32_t>(); }),
            shared_policy(),
            duration(),
            maybe([&] { return number<std::uint64_t>(); }),
            {maybe(length), maybe(length), maybe(length), maybe(length)}};
  }
  core::Job job() {
    core::Job job;
    job.id = id();
    job.ord = number<std::uint64_t>();
    job.queue = name();
    job.type = name();
    job.payload = bytes(500);
    job.result = bytes();
    job.state = enumerator(kLastState);
    job.priority = number<std::int16_t>();
    job.attempt = number<std::uint32_t>();
    job.max_attempts = number<std::uint32_t>();
    job.crashes = number<std::uint32_t>();
    job.generation = number<std::uint32_t>();
    job.version = number<std::uint64_t>();
    job.created_at = time();
    job.run_at = time();
    job.expires_at = maybe([&] { return time(); });
    job.finished_at = maybe([&] { return time(); });
    if (coin()) job.latest = attempt();
    job.log_lines = number<std::uint32_t>();
    job.token = token();
    job.lease_expires_at = maybe([&] { return time(); });
    job.lease_length = duration();
    job.lease_given = duration();
    job.deadline = maybe([&] { return time(); });
    job.cancel_requested = coin();
    job.cancel_reason = bytes();
    job.lease = duration();
    job.timeout = maybe([&] { return duration(); });
    job.retry = shared_policy();
    job.last_error = error();
    job.progress = progress();
    job.extras = extras();
    return job;
  }

  core::JobRef ref() { return {id(), name(), name(), number<std::uint32_t>()}; }
  core::Keep keep() { return enumerator(core::Keep::kForgotten); }
  core::Event event();  // testing/arbitrary_event.h
  core::EventBatch batch(std::uint64_t most_events) {
    return {time(), several(most_events, [&] { return event(); })};
  }

 private:
  std::array<std::uint8_t, 16> raw() {
    std::array<std::uint8_t, 16> bytes;
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random_.next());
    return bytes;
  }

  Random random_;
};

}  // namespace millrace::store
