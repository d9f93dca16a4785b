// Which versions workers say they are of, and since when: for the groups of errors, and so that a
// chart can mark a deploy. Not in the log: it is told by the shard's thread as workers come.
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
  std::string type;  // empty: of any
  std::string version;
  std::string sdk;  // of the worker that was first
};

class VersionBook {
 public:
  void worker_seen(std::string_view worker, std::string_view version, std::string_view sdk,
                   Time at);
  // Marks types that are started by a new version.
  void take(const core::EventBatch& batch);
  // That the worker was of then; empty: not known.
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
  // (type, version); the type is empty where any worker is meant.
  std::set<std::pair<std::string, std::string>> known_;
  bool changed_ = false;
};

}  // namespace millrace::engine
