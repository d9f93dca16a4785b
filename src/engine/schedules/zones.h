// The source of time zones: the files of a directory, read once, and again after a package update
// has replaced them.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "calendar/zone.h"
#include "calendar/zone_files.h"
#include "engine/shard/shard_clock.h"

namespace millrace::engine {

// Thread-safe.
class Zones {
 public:
  virtual ~Zones() = default;
  // The error names the zone and the reason, and suggests a name.
  virtual Result<std::shared_ptr<const calendar::Zone>> find(std::string_view name) = 0;
  // The version of the zone data: "2025b". A greater one is newer. Empty: unknown.
  virtual std::string version() = 0;
};

// Knows no zone but UTC, which needs no data.
Zones& utc_alone();

class ZoneCache final : public Zones {
 public:
  // An update is noticed within this time.
  static constexpr std::chrono::seconds kLooksAgainAfter{10};

  ZoneCache(std::string directory, const TimeSource& time)
      : directory_(std::move(directory)), time_(time) {}

  Result<std::shared_ptr<const calendar::Zone>> find(std::string_view name) override;
  std::string version() override;

 private:
  struct Entry {
    std::shared_ptr<const calendar::Zone> zone;
    calendar::FileStamp stamp;
    std::chrono::nanoseconds looked_at{};
  };
  Status open() MILLRACE_REQUIRES(mutex_);

  const std::string directory_;
  const TimeSource& time_;
  Mutex mutex_;
  std::optional<calendar::ZoneFiles> files_ MILLRACE_GUARDED_BY(mutex_);
  std::chrono::nanoseconds list_looked_at_ MILLRACE_GUARDED_BY(mutex_){};
  std::map<std::string, Entry, std::less<>> zones_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::engine
