// For tests: the naive model of limits. It keeps the jobs in a list, and at each question computes
// from the events so far what may start, and in which order. Nothing in it is fast; all of it should
// be plainly right.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/event.h"

namespace millrace::core {

class NaiveLimits {
 public:
  void apply(const Event& event, Time at) {
    std::visit([&](const auto& e) { fold(e, at); }, event);
  }

  struct ModelJob {
    JobId id;
    std::string queue;
    std::string type;
    State state{};
    std::int16_t priority = 0;
    Time run_at{};
    std::uint64_t ord = 0;
    std::optional<Time> expires_at;
    bool started = false;
    JobLimits limits;
  };
  const std::vector<ModelJob>& jobs() const { return jobs_; }
  const ModelJob* find(const JobId& id) const {
    const auto found = std::ranges::find(jobs_, id, &ModelJob::id);
    return found == jobs_.end() ? nullptr : &*found;
  }

  // What a claim of `count` jobs gets: so many claims of one.
  std::vector<JobId> claimed(const std::vector<std::string>& queues,
                             const std::vector<std::string>& types, std::size_t count,
                             Time now) const {
    NaiveLimits later = *this;
    std::vector<JobId> ids;
    while (ids.size() < count) {
      const ModelJob* first = nullptr;
      for (const std::string& queue : queues) {
        if (first == nullptr) first = later.first_of(queue, types, now);
      }
      if (first == nullptr) break;
      ids.push_back(first->id);
      later.start(first->id, now);
    }
    return ids;
  }

  // F2 for each gate: the starts in any stretch of time are at most the burst and what the rate
  // brings meanwhile. `history_` has them since the last edit.
  bool keeps_rates(Time now) const {
    for (const auto& [gate, starts] : history_) {
      const auto bounds = bounds_of(gate);
      if (bounds.rate && level(*bounds.rate, starts, now) < 0) return false;
    }
    return true;
  }

  // A gate: of a limit, or of one of its keys.
  using GateName = std::tuple<LimitKind, std::string, std::string>;
  // F1.
  std::uint64_t in_use(const GateName& gate) const {
    return static_cast<std::uint64_t>(std::ranges::count_if(jobs_, [&](const ModelJob& job) {
      return job.state == State::kRunning && passes(job, gate);
    }));
  }
  std::vector<GateName> gates_of(const ModelJob& job) const {
    std::vector<GateName> gates;
    for (const JobLimit& named : job.limits) {
      const Limit* const limit = limit_of(LimitKind::kNamed, text(named.name));
      if (limit == nullptr || limit->incarnation != named.incarnation) continue;
      gates.emplace_back(LimitKind::kNamed, text(named.name), "");
      if (!named.key.empty()) gates.emplace_back(LimitKind::kNamed, text(named.name), text(named.key));
    }
    if (limit_of(LimitKind::kType, job.type) != nullptr) {
      gates.emplace_back(LimitKind::kType, job.type, "");
    }
    gates.emplace_back(LimitKind::kQueue, job.queue, "");
    return gates;
  }
  Bounds bounds_of(const GateName& gate) const {
    const auto& [kind, name, key] = gate;
    if (kind == LimitKind::kQueue) return queues_.at(name).settings.bounds();
    const Limit& limit = *limit_of(kind, name);
    if (limit.settings.per_key && key.empty()) return {};
    Bounds bounds = limit.settings.bounds;
    for (const KeyBounds& own : limit.settings.keys) {
      if (text(own.key) != key || key.empty()) continue;
      if (own.bounds.concurrency) bounds.concurrency = own.bounds.concurrency;
      if (own.bounds.rate) bounds.rate = own.bounds.rate;
    }
    return bounds;
  }

 private:
  struct ModelQueue {
    QueueSettings settings;
    bool paused = false;
  };
  struct Start {
    Time at{};
    __int128 units = 0;
  };
  using Starts = std::vector<Start>;

  static std::string text(const SharedBytes& bytes) { return std::string(bytes.view()); }
  static __int128 capacity(const Rate& rate) {
    return static_cast<__int128>(rate.burst.value_or(rate.limit)) * rate.per.count();
  }

  // What a bucket that began full has left: whatever the stretch of time up to now, its starts took
  // at most the burst and what came in meanwhile.
  static __int128 level(const Rate& rate, const Starts& starts, Time now) {
    __int128 least = capacity(rate);
    __int128 taken = 0;
    for (auto start = starts.rbegin(); start != starts.rend(); ++start) {
      taken += start->units;
      const __int128 came = static_cast<__int128>(rate.limit) * (now - start->at).count();
      least = std::min(least, capacity(rate) + came - taken);
    }
    return least;
  }

  const Limit* limit_of(LimitKind kind, const std::string& name) const {
    const auto found = limits_.find({kind, name});
    return found == limits_.end() ? nullptr : &found->second;
  }
  bool is_paused(const GateName& gate, Time now) const {
    const auto& [kind, name, key] = gate;
    if (kind == LimitKind::kQueue) return false;
    for (const LimitPause& pause : limit_of(kind, name)->pauses) {
      if (text(pause.key) == key && (!pause.until || now < *pause.until)) return true;
    }
    return false;
  }
  bool passes(const ModelJob& job, const GateName& gate) const {
    return std::ranges::count(gates_of(job), gate) > 0;
  }
  std::uint32_t cost_at(const ModelJob& job, const GateName& gate) const {
    if (std::get<0>(gate) != LimitKind::kNamed) return 1;
    for (const JobLimit& named : job.limits) {
      if (text(named.name) == std::get<1>(gate)) return named.cost;
    }
    return 1;
  }
  bool is_open(const ModelJob& job, const GateName& gate, Time now) const {
    if (is_paused(gate, now)) return false;
    const Bounds bounds = bounds_of(gate);
    if (bounds.concurrency && in_use(gate) >= *bounds.concurrency) return false;
    if (!bounds.rate) return true;
    const auto starts = history_.find(gate);
    const __int128 left = level(*bounds.rate, starts == history_.end() ? Starts{} : starts->second, now);
    return left >= static_cast<__int128>(cost_at(job, gate)) * bounds.rate->per.count();
  }
  bool may_start(const ModelJob& job, Time now) const {
    if (job.state != State::kReady || queues_.at(job.queue).paused) return false;
    if (!job.started && job.expires_at && *job.expires_at <= now) return false;
    return std::ranges::all_of(gates_of(job), [&](const GateName& gate) { return is_open(job, gate, now); });
  }
  const ModelJob* first_of(const std::string& queue, const std::vector<std::string>& types,
                           Time now) const {
    const ModelJob* first = nullptr;
    const auto place = [](const ModelJob& job) {
      return std::tuple(job.priority, job.run_at, job.ord);
    };
    for (const ModelJob& job : jobs_) {
      if (job.queue != queue) continue;
      if (!types.empty() && std::ranges::count(types, job.type) == 0) continue;
      if (first != nullptr && place(*first) < place(job)) continue;
      if (may_start(job, now)) first = &job;
    }
    return first;
  }

  ModelJob& at(const JobId& id) { return *std::ranges::find(jobs_, id, &ModelJob::id); }
  void start(const JobId& id, Time now) {
    ModelJob& job = at(id);
    for (const GateName& gate : gates_of(job)) {
      const Bounds bounds = bounds_of(gate);
      if (!bounds.rate) continue;
      const __int128 units = static_cast<__int128>(cost_at(job, gate)) * bounds.rate->per.count();
      history_[gate].push_back({now, units});
    }
    job.state = State::kRunning;
    job.started = true;
  }
  void take(const Job& job) {
    std::erase_if(jobs_, [&](const ModelJob& each) { return each.id == job.id; });
    ModelJob& made = jobs_.emplace_back();
    made.id = job.id;
    made.queue = text(job.queue);
    made.type = text(job.type);
    made.state = job.state;
    made.priority = job.priority;
    made.run_at = job.run_at;
    made.ord = job.ord;
    made.expires_at = job.expires_at;
    made.started = job.latest.n > 0;
    if (job.extras != nullptr) made.limits = job.extras->limits;
  }
  // Buckets keep what they hold, rounded down, when their rate changes.
  void refit(const std::map<GateName, Bounds>& before, Time at) {
    for (auto& [gate, starts] : history_) {
      const auto old = before.find(gate);
      if (old == before.end() || !exists(gate)) {
        starts.clear();
        continue;
      }
      const Bounds now = bounds_of(gate);
      if (now.rate == old->second.rate) continue;
      if (!now.rate || !old->second.rate) {
        starts.clear();
        continue;
      }
      const __int128 held = level(*old->second.rate, starts, at);
      if (held == capacity(*old->second.rate)) {  // full, as one that nobody has used
        starts.clear();
        continue;
      }
      const __int128 kept = held * now.rate->per.count() / old->second.rate->per.count();
      starts = {{at, capacity(*now.rate) - std::min(kept, capacity(*now.rate))}};
    }
  }
  bool exists(const GateName& gate) const {
    const auto& [kind, name, key] = gate;
    if (kind == LimitKind::kQueue) return queues_.contains(name);
    return limit_of(kind, name) != nullptr;
  }
  std::map<GateName, Bounds> all_bounds() const {
    std::map<GateName, Bounds> all;
    for (const auto& [gate, starts] : history_) {
      if (exists(gate)) all[gate] = bounds_of(gate);
    }
    return all;
  }

  void fold(const QueueChanged& e, Time at) {
    const auto before = all_bounds();
    ModelQueue& queue = queues_[text(e.queue)];
    queue.settings = e.settings;
    if (e.change == QueueChange::kPaused) queue.paused = true;
    if (e.change == QueueChange::kResumed) queue.paused = false;
    refit(before, at);
  }
  void fold(const LimitSet& e, Time at) {
    const auto before = all_bounds();
    limits_[{e.limit.kind, text(e.limit.name)}] = e.limit;
    refit(before, at);
  }
  void fold(const LimitDeleted& e, Time) {
    limits_.erase({e.kind, text(e.name)});
    std::erase_if(history_, [&](const auto& entry) {
      return std::get<0>(entry.first) == e.kind && std::get<1>(entry.first) == text(e.name);
    });
  }
  void fold(const Submitted& e, Time) { take(e.job); }
  void fold(const Retried& e, Time) { take(e.job); }
  void fold(const Finished& e, Time) { take(e.job); }
  void fold(const Claimed& e, Time now) {
    for (const Claimed::Item& item : e.items) start(item.job.id, now);
  }
  void fold(const AttemptEnded& e, Time) {
    ModelJob& job = at(e.job.id);
    job.state = e.state;
    if (e.run_at) job.run_at = *e.run_at;
  }
  void fold(const BecameDue& e, Time) {
    for (const JobRef& job : e.jobs) at(job.id).state = State::kReady;
  }
  void fold(const Expired& e, Time) { at(e.job.id).state = State::kExpired; }
  void fold(const Cancelled& e, Time) { at(e.job.id).state = State::kCancelled; }
  void fold(const Edited& e, Time) {
    ModelJob& job = at(e.job.id);
    if (e.priority) job.priority = *e.priority;
    if (e.run_at) job.run_at = *e.run_at;
    if (e.state) job.state = *e.state;
  }
  void fold(const Deleted& e, Time) {
    for (const Deleted::Item& item : e.items) {
      std::erase_if(jobs_, [&](const ModelJob& job) { return job.id == item.job.id; });
    }
  }
  template <typename Other>
  void fold(const Other&, Time) {}  // says nothing of what may start

  std::vector<ModelJob> jobs_;
  std::map<std::string, ModelQueue> queues_;
  std::map<std::pair<LimitKind, std::string>, Limit> limits_;
  std::map<GateName, Starts> history_;
};

}  // namespace millrace::core
