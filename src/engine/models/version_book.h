// The versions that workers report, and since when: for the groups of errors, and so that a chart
// can mark a deploy. Not in the log: the shard's thread reports them when workers appear.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "core/event.h"
#include "core/string_map.h"

namespace millrace::engine {

inline constexpr std::size_t kMaxVersionedWorkers = 10'000;
inline constexpr std::size_t kMaxDeploys = 1'000;
inline constexpr std::size_t kMaxTypeVersions = 5'000;

// A version was seen for the first time: of any worker, or for a type of job.
struct Deploy {
  Time at{};
  std::string type;  // empty: any type
  std::string version;
  std::string sdk;  // of the first worker seen
};

class VersionBook {
 public:
  void worker_seen(std::string_view worker, std::string_view version, std::string_view sdk,
                   Time at);
  // Notes the types started by a new version.
  void take(const core::EventBatch& batch);
  // The worker's version at `at`; empty: unknown.
  std::string_view version_of(std::string_view worker, Time at) const;
  const std::vector<Deploy>& deploys() const { return deploys_; }  // by time

  bool changed() const { return changed_; }
  std::string save();
  void change_all() { changed_ = true; }
  bool load(std::string_view blob);

 private:
  struct Since {
    Time at{};
    std::string version;
    std::string sdk;
  };
  struct Worker {
    std::vector<Since> versions;  // by time; the last few
    Time seen_at{};
  };
  const Since* find(std::string_view worker, Time at) const;
  void note(Deploy deploy);

  StringMap<Worker> workers_;
  std::vector<Deploy> deploys_;
  // (type, version); the type is empty for versions of any worker.
  std::set<std::pair<std::string, std::string>> known_;
  bool changed_ = false;
};

}  // namespace millrace::engine
