// For tests: a list of the jobs, built from the events.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/event.h"

namespace millrace::core {

class NaiveJobs {
 public:
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
    std::uint32_t attempt = 0;
    Time created_at{};
    Time started_at{};
    std::string unique_key;  // of a debounced job
    std::optional<Duration> max_wait;
    JobLimits limits;
    std::string order_key;
    std::string fair_key;
    bool order_passes = false;
    Time place{};
  };
  const std::vector<ModelJob>& jobs() const { return jobs_; }
  const ModelJob* find(const JobId& id) const {
    const auto found = std::ranges::find(jobs_, id, &ModelJob::id);
    return found == jobs_.end() ? nullptr : &*found;
  }

  // The job has started before, and is waiting for or running a later start.
  static bool is_again(const ModelJob& job) {
    return job.attempt > (job.state == State::kRunning ? 1U : 0U);
  }

  // F6: whether it is this job's turn in the line of its order key.
  bool is_its_turn(const ModelJob& job) const {
    if (job.order_key.empty()) return true;
    return std::ranges::none_of(jobs_, [&](const ModelJob& other) {
      if (other.queue != job.queue || other.order_key != job.order_key) return false;
      if (other.id == job.id || is_terminal(other.state)) return false;
      if (other.state == State::kRunning) return true;
      if (other.state == State::kRetrying && other.order_passes) return false;
      return std::pair(other.place, other.ord) < std::pair(job.place, job.ord);
    });
  }

 protected:
  void apply(const Event& event) {
    std::visit([&](const auto& e) { fold(e); }, event);
  }

  static std::string text(const SharedBytes& bytes) { return std::string(bytes.view()); }
  ModelJob& at(const JobId& id) { return *std::ranges::find(jobs_, id, &ModelJob::id); }

  std::vector<ModelJob> jobs_;

 private:
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
    made.attempt = job.attempt;
    made.created_at = job.created_at;
    made.started_at = job.latest.started_at;
    made.place = job.run_at;
    if (job.extras == nullptr) return;
    if (const auto& unique = job.extras->unique) {
      made.unique_key = text(unique->key);
      made.max_wait = unique->max_wait;
    }
    made.limits = job.extras->limits;
    made.order_key = text(job.extras->order_key);
    made.fair_key = text(job.extras->fair_key);
    made.order_passes = job.extras->order_passes;
  }
  void fold(const Submitted& e) { take(e.job); }
  void fold(const Retried& e) { take(e.job); }
  void fold(const Finished& e) { take(e.job); }
  void fold(const Claimed& e) {
    for (const Claimed::Item& item : e.items) {
      at(item.job.id).state = State::kRunning;
      at(item.job.id).started = true;
      at(item.job.id).attempt = item.job.attempt;
    }
  }
  void fold(const AttemptEnded& e) {
    ModelJob& job = at(e.job.id);
    job.state = e.state;
    if (e.run_at) job.run_at = *e.run_at;
    if (!e.counted) --job.attempt;
  }
  void fold(const Debounced& e) {
    ModelJob& job = at(e.job.id);
    job.state = e.state;
    job.run_at = e.run_at;
    if (job.state != State::kRetrying) job.place = e.run_at;
  }
  void fold(const BecameDue& e) {
    for (const JobRef& job : e.jobs) at(job.id).state = State::kReady;
  }
  void fold(const Expired& e) { at(e.job.id).state = State::kExpired; }
  void fold(const Cancelled& e) { at(e.job.id).state = State::kCancelled; }
  void fold(const Edited& e) {
    ModelJob& job = at(e.job.id);
    if (e.priority) job.priority = *e.priority;
    if (e.run_at) job.run_at = job.place = *e.run_at;
    if (e.state) job.state = *e.state;
  }
  void fold(const Deleted& e) {
    for (const Deleted::Item& item : e.items) {
      std::erase_if(jobs_, [&](const ModelJob& job) { return job.id == item.job.id; });
    }
  }
  template <typename Other>
  void fold(const Other&) {}  // does not change a job's state
};

}  // namespace millrace::core
