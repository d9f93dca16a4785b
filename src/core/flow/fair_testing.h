// For tests: the naive model of fair shares. After each event it scans all jobs to find which keys
// have ready or running jobs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/flow/fair_settings.h"
#include "core/jobs/jobs_testing.h"

namespace millrace::core {

class NaiveFair {
 public:
  using ModelJob = NaiveJobs::ModelJob;
  using Tag = std::uint64_t;

  static constexpr Tag kOne = 1 << 20;

  void set(const std::string& queue, const std::optional<FairSettings>& settings) {
    if (!settings) {
      queues_.erase(queue);
    } else {
      Queue& own = queues_[queue];
      if (own.settings.by != settings->by) own.levels.clear();  // tags are in another unit
      own.settings = *settings;
    }
  }
  bool shares(const std::string& queue) const { return queues_.contains(queue); }
  const FairSettings* settings(const std::string& queue) const {
    const auto found = queues_.find(queue);
    return found == queues_.end() ? nullptr : &found->second.settings;
  }

  // The job's key's tag at its priority.
  Tag tag(const ModelJob& job) const {
    if (!shares(job.queue)) return 0;
    return queues_.at(job.queue).levels.at(job.priority).keys.at(job.fair_key).tag;
  }
  Tag weight(const std::string& queue, const std::string& key) const {
    const FairSettings& settings = queues_.at(queue).settings;
    for (const FairWeight& own : settings.weights) {
      if (own.key.view() == key) return own.weight;
    }
    return settings.default_weight;
  }

  void start(const ModelJob& job, Time now) {
    Run& run = runs_[job.id] = {now, 0};
    if (!shares(job.queue)) return;
    Queue& queue = queues_.at(job.queue);
    Level& level = queue.levels.at(job.priority);
    Tag& tag = level.keys.at(job.fair_key).tag;
    const Tag weight = this->weight(job.queue, job.fair_key);
    Tag begins = 0;
    if (queue.settings.by == FairBy::kStarts) {
      begins = std::max(tag, level.now);
      tag = begins + kOne / weight;
    } else {
      const auto own = queue.means.find(job.fair_key);
      const Tag mean = own == queue.means.end() ? queue.mean : own->second;
      run.charged_ms = mean == 0 ? 1'000 : std::max<Tag>(1, (mean + 128) / 256);
      const Tag cost = std::max<Tag>(1, run.charged_ms * kOne / 1'000 / weight);
      begins = std::max(tag, level.now < cost ? 0 : level.now - cost);
      tag = begins + cost;
    }
    level.now = std::max(level.now, begins);
  }

  // What the running job's key was charged for it, in milliseconds; 0 when sharing by starts.
  std::uint32_t charged(const JobId& id) const {
    return static_cast<std::uint32_t>(runs_.at(id).charged_ms);
  }

  void end(const ModelJob& job, Time now) {
    const Run run = runs_.at(job.id);
    runs_.erase(job.id);
    if (!shares(job.queue)) return;
    Queue& queue = queues_.at(job.queue);
    const Tag ran = std::max<Tag>(1, static_cast<Tag>((now - run.since).count()));
    const auto learn = [&](Tag& mean) {
      mean = mean == 0 ? ran * 256 : mean - mean / 8 + ran * 256 / 8;
    };
    learn(queue.means[job.fair_key]);
    learn(queue.mean);
    if (queue.settings.by == FairBy::kStarts || run.charged_ms == 0) return;
    const Tag weight = this->weight(job.queue, job.fair_key);
    const auto units = [&](Tag ms) { return std::max<Tag>(1, ms * kOne / 1'000 / weight); };
    Tag& tag = queue.levels.at(job.priority).keys.at(job.fair_key).tag;
    const Tag later = tag + units(ran);
    tag = later - std::min(later, units(run.charged_ms));
  }

  // Call at the end of an event. `is_offered`: a claim could take the job if all gates were open.
  template <typename IsOffered>
  void settle(const std::vector<ModelJob>& jobs, IsOffered is_offered) {
    for (auto& [name, queue] : queues_) {
      std::map<std::int16_t, std::map<std::string, bool>> live;  // with ready jobs, or without
      for (const ModelJob& job : jobs) {
        if (job.queue != name) continue;
        if (job.state == State::kRunning) live[job.priority][job.fair_key];
        if (is_offered(job)) live[job.priority][job.fair_key] = true;
      }
      for (const auto& [priority, keys] : live) {
        Level& level = queue.levels[priority];
        for (const auto& [key, ready] : keys) {
          const bool known = level.keys.contains(key);
          Key& flow = level.keys[key];
          // A key that is new or returns does not stand before virtual time.
          if (!known || (ready && !flow.ready)) flow.tag = std::max(flow.tag, level.now);
        }
      }
      for (auto level = queue.levels.begin(); level != queue.levels.end();) {
        const auto here = live.find(level->first);
        if (here == live.end()) {
          level = queue.levels.erase(level);  // all keys start anew
          continue;
        }
        for (auto& [key, flow] : level->second.keys) {
          const auto at = here->second.find(key);
          flow.live = at != here->second.end();
          flow.ready = flow.live && at->second;
        }
        std::erase_if(level->second.keys, [&](const auto& entry) {
          return !entry.second.live && entry.second.tag <= level->second.now;
        });
        ++level;
      }
    }
  }

 private:
  struct Key {
    Tag tag = 0;
    bool ready = false;
    bool live = false;
  };
  struct Level {
    Tag now = 0;
    std::map<std::string, Key> keys;
  };
  struct Queue {
    FairSettings settings;
    std::map<std::int16_t, Level> levels;
    std::map<std::string, Tag> means;
    Tag mean = 0;
  };
  struct Run {
    Time since{};
    Tag charged_ms = 0;
  };

  std::map<std::string, Queue> queues_;
  std::map<JobId, Run> runs_;
};

// F5 by starts: for two keys, over any period in which every start could have been of either, the
// starts divided by the weights differ by at most one start of each.
class FairBound {
 public:
  // A job of `key` has started while jobs of all `keys` could have.
  void started(const std::string& key, const std::map<std::string, std::uint64_t>& keys) {
    std::erase_if(pairs_, [&](const auto& pair) {
      return !keys.contains(pair.first.first) || !keys.contains(pair.first.second);
    });
    for (const auto& [a, weight_a] : keys) {
      for (const auto& [b, weight_b] : keys) {
        if (!(a < b) || owes(a) || owes(b)) continue;
        Pair& pair = pairs_[{a, b}];
        if (key == a) pair.difference += 1.0 / static_cast<double>(weight_a);
        if (key == b) pair.difference -= 1.0 / static_cast<double>(weight_b);
        pair.least = std::min(pair.least, pair.difference);
        pair.most = std::max(pair.most, pair.difference);
        const double bound =
            1.0 / static_cast<double>(weight_a) + 1.0 / static_cast<double>(weight_b);
        broken_ = broken_ || pair.most - pair.least > bound + 1e-3;
        longest_ = std::max(longest_, ++pair.starts);
      }
    }
    if (reweighed_) paid_.insert(key);
  }
  void forget() { pairs_.clear(); }
  // The weights changed. A key still owes the old cost of its latest start, so a period begins
  // after both keys have started once more.
  void reweigh() {
    forget();
    reweighed_ = true;
    paid_.clear();
  }
  bool broken() const { return broken_; }
  std::size_t longest() const { return longest_; }

 private:
  struct Pair {
    double difference = 0, least = 0, most = 0;
    std::size_t starts = 0;
  };
  bool owes(const std::string& key) const { return reweighed_ && !paid_.contains(key); }

  std::map<std::pair<std::string, std::string>, Pair> pairs_;
  bool reweighed_ = false;
  std::set<std::string> paid_;  // keys that have started since
  bool broken_ = false;
  std::size_t longest_ = 0;
};

}  // namespace millrace::core
