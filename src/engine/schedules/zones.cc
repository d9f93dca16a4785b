#include "engine/schedules/zones.h"

#include <utility>

namespace millrace::engine {
namespace {

class UtcAlone final : public Zones {
 public:
  Result<std::shared_ptr<const calendar::Zone>> find(std::string_view name) override {
    return failure("there is no data of time zones: " + std::string(name) + " is unknown");
  }
  std::string version() override { return {}; }
};

}  // namespace

Zones& utc_alone() {
  static UtcAlone zones;
  return zones;
}

// The list of names, made anew if a package's update has replaced it.
Status ZoneCache::open() {
  const auto now = time_.since_boot();
  if (files_ && now - list_looked_at_ < kLooksAgainAfter) return {};
  list_looked_at_ = now;
  if (files_ && !files_->list_changed()) return {};
  auto opened = calendar::ZoneFiles::open(directory_);
  if (!opened) {
    // The data already read stay valid while the files are being replaced.
    if (files_) return {};
    return std::unexpected(opened.error());
  }
  files_.emplace(std::move(*opened));
  // A caller that has seen the new version must get its data.
  for (auto& [name, entry] : zones_) entry.looked_at = now - kLooksAgainAfter;
  return {};
}

Result<std::shared_ptr<const calendar::Zone>> ZoneCache::find(std::string_view name) {
  const MutexLock lock(mutex_);
  const auto now = time_.since_boot();
  const auto known = zones_.find(name);
  if (known != zones_.end() && now - known->second.looked_at < kLooksAgainAfter) {
    return known->second.zone;
  }
  if (Status opened = open(); !opened) return std::unexpected(opened.error());
  const auto stamp = files_->stamp(name);
  if (!stamp) {
    zones_.erase(std::string(name));
    return std::unexpected(stamp.error());
  }
  if (known != zones_.end() && known->second.stamp == *stamp) {
    known->second.looked_at = now;
    return known->second.zone;
  }
  auto zone = files_->load(name);
  if (!zone) {
    zones_.erase(std::string(name));
    return std::unexpected(zone.error());
  }
  Entry& entry = zones_[std::string(name)];
  entry = {std::make_shared<const calendar::Zone>(std::move(*zone)), *stamp, now};
  return entry.zone;
}

std::string ZoneCache::version() {
  const MutexLock lock(mutex_);
  if (!open()) return {};
  return files_->version();
}

}  // namespace millrace::engine
