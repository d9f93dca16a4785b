// Equality of events, for tests. Each type is taken apart by structured bindings, so that a member
// which is added to an event and forgotten here does not compile.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <variant>
#include <vector>

#include "core/event.h"

namespace millrace::store {

template <typename T>
bool same(const T& a, const T& b);

inline auto parts(const core::LogLine& v) {
  const auto& [seq, n, attempt, at, level, message] = v;
  return std::tie(seq, n, attempt, at, level, message);
}
inline auto parts(const core::IdempotencyKey& v) {
  const auto& [key, body, expires_at] = v;
  return std::tie(key, body, expires_at);
}
inline auto parts(const core::JobRef& v) {
  const auto& [id, queue, type, attempt] = v;
  return std::tie(id, queue, type, attempt);
}
inline auto parts(const core::QueueChanged& v) {
  const auto& [queue, change, settings, reason] = v;
  return std::tie(queue, change, settings, reason);
}
inline auto parts(const core::Submitted& v) {
  const auto& [job, key] = v;
  return std::tie(job, key);
}
inline auto parts(const core::Claimed::Item& v) {
  const auto& [job, token, expires_at, length, deadline, waited] = v;
  return std::tie(job, token, expires_at, length, deadline, waited);
}
inline auto parts(const core::Claimed& v) {
  const auto& [worker, items] = v;
  return std::tie(worker, items);
}
inline auto parts(const core::Extended::Item& v) {
  const auto& [id, expires_at, progress] = v;
  return std::tie(id, expires_at, progress);
}
inline auto parts(const core::Extended& v) { return std::tie(v.items); }
inline auto parts(const core::AttemptEnded& v) {
  const auto& [job, token, worker, outcome, state, run_at, counted, crashed, keep, ran, result,
               error] = v;
  return std::tie(job, token, worker, outcome, state, run_at, counted, crashed, keep, ran, result,
                  error);
}
inline auto parts(const core::Logged& v) {
  const auto& [id, lines, drop_below] = v;
  return std::tie(id, lines, drop_below);
}
inline auto parts(const core::BecameDue& v) { return std::tie(v.jobs); }
inline auto parts(const core::Expired& v) {
  const auto& [job, keep] = v;
  return std::tie(job, keep);
}
inline auto parts(const core::CancelRequested& v) {
  const auto& [job, worker, token, reason] = v;
  return std::tie(job, worker, token, reason);
}
inline auto parts(const core::Cancelled& v) {
  const auto& [job, reason, keep] = v;
  return std::tie(job, reason, keep);
}
inline auto parts(const core::Retried& v) { return std::tie(v.job, v.from); }
inline auto parts(const core::Finished& v) { return std::tie(v.job, v.from, v.token, v.keep); }
inline auto parts(const core::Edited& v) {
  const auto& [job, priority, run_at, state, payload, max_attempts, tags] = v;
  return std::tie(job, priority, run_at, state, payload, max_attempts, tags);
}
inline auto parts(const core::Deleted::Item& v) {
  const auto& [job, state, unique_key] = v;
  return std::tie(job, state, unique_key);
}
inline auto parts(const core::Deleted& v) {
  const auto& [cause, items] = v;
  return std::tie(cause, items);
}
inline auto parts(const core::QueuePurged& v) {
  const auto& [queue, deleted] = v;
  return std::tie(queue, deleted);
}
inline auto parts(const core::QueueDeleted& v) { return std::tie(v.queue); }
inline auto parts(const core::KeysExpired& v) { return std::tie(v.until); }
inline auto parts(const core::UniquesReleased& v) { return std::tie(v.until); }
inline auto parts(const core::EpochStarted& v) {
  const auto& [epoch, first_token] = v;
  return std::tie(epoch, first_token);
}
inline auto parts(const core::LeasesExtended& v) { return std::tie(v.by); }

template <typename T>
concept HasParts = requires(const T& value) { parts(value); };

template <typename T>
bool same_value(const T& a, const T& b) {
  if constexpr (HasParts<T>) {
    return std::apply(
        [&](const auto&... left) {
          return std::apply([&](const auto&... right) { return (same(left, right) && ...); },
                            parts(b));
        },
        parts(a));
  } else {
    return a == b;
  }
}
template <typename T>
bool same_value(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b, [](const T& x, const T& y) { return same(x, y); });
}
template <typename T>
bool same_value(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}
template <typename T>
bool same_value(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return (a == nullptr) == (b == nullptr) && (a == nullptr || same(*a, *b));
}
inline bool same_value(const core::Event& a, const core::Event& b) {
  return a.index() == b.index() &&
         std::visit([&](const auto& x) { return same(x, std::get<std::decay_t<decltype(x)>>(b)); },
                    a);
}

template <typename T>
bool same(const T& a, const T& b) {
  return same_value(a, b);
}

}  // namespace millrace::store
