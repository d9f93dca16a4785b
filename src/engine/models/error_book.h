// The groups of errors of one shard: attempts that failed with the same fingerprint.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/event.h"

namespace millrace::engine {

// The most groups, and the most jobs that wait with an error, over all shards. At the bound, groups
// make room: resolved ones first, then the least recently seen. Jobs beyond the bound are not
// counted as waiting.
inline constexpr std::size_t kMaxErrorGroups = 10'000;
inline constexpr std::size_t kMaxFailedJobs = 1'000'000;
inline constexpr std::size_t kGroupNames = 10;  // queues, types and versions of a group
inline constexpr std::size_t kGroupSample = 5;
inline constexpr std::size_t kTrendHours = 24;
inline constexpr std::size_t kGroupMessageBytes = 512;
// Each part is a separate blob, written when one of its groups has changed.
inline constexpr std::size_t kErrorParts = 64;

struct ErrorGroup {
  std::uint64_t fingerprint = 0;
  std::string error_type;
  std::string message;  // with its variable parts removed
  std::vector<std::string> queues;
  std::vector<std::string> types;
  bool more_queues = false;   // there are more queues than listed
  std::uint64_t waiting = 0;  // jobs that are retrying or dead with this error
  std::uint64_t dead = 0;
  std::uint64_t total = 0;  // attempts that failed with this error
  Time first_seen{};
  Time last_seen{};
  struct Hour {
    std::int64_t hour = 0;
    std::uint64_t failures = 0;
  };
  std::vector<Hour> hours;  // in order, of the last kTrendHours
  struct Version {
    std::string version;
    Time first_seen{};
    Time last_seen{};
    std::uint64_t count = 0;
  };
  std::vector<Version> versions;
  struct Failure {
    JobId job;
    Time at{};
  };
  std::vector<Failure> sample;  // newest first, each job once

  void merge(const ErrorGroup& other);
};

class ErrorBook {
 public:
  ErrorBook(std::size_t most_groups, std::size_t most_jobs)
      : most_groups_(most_groups), most_jobs_(most_jobs) {}

  using VersionOf = std::function<std::string_view(std::string_view worker, Time at)>;
  using IsResolved = std::function<bool(std::uint64_t fingerprint, Time last_seen)>;
  void take(const core::EventBatch& batch, const VersionOf& version_of,
            const IsResolved& is_resolved);

  const std::map<std::uint64_t, ErrorGroup>& groups() const { return groups_; }
  std::uint64_t evicted() const { return evicted_; }
  std::uint64_t passed_over() const { return passed_over_; }
  std::size_t failed_jobs() const { return jobs_.size(); }

  struct Part {
    bool of_jobs = false;
    std::size_t number = 0;
    std::string content;  // empty: the part is empty
  };
  std::vector<Part> take_changed();
  void change_all();
  bool load_groups(std::string_view content);
  bool load_jobs(std::string_view content);

 private:
  struct Failed {
    std::uint64_t fingerprint = 0;
    bool dead = false;
  };

  void fail(const core::AttemptEnded& ended, Time at, const VersionOf& version_of,
            const IsResolved& is_resolved);
  void leave(const JobId& job);
  ErrorGroup& group_of(const core::JobError& error, Time at, const IsResolved& is_resolved);
  void make_room(const IsResolved& is_resolved);
  void change(std::uint64_t fingerprint) { groups_changed_[fingerprint % kErrorParts] = true; }

  std::size_t most_groups_;
  std::size_t most_jobs_;
  std::map<std::uint64_t, ErrorGroup> groups_;
  absl::flat_hash_map<JobId, Failed> jobs_;
  std::uint64_t evicted_ = 0;
  std::uint64_t passed_over_ = 0;
  std::array<bool, kErrorParts> groups_changed_{};
  std::array<bool, kErrorParts> jobs_changed_{};
};

}  // namespace millrace::engine
