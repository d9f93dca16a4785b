#include "core/jobs/unique_index.h"

namespace millrace::core {

std::string UniqueIndex::name(std::string_view queue, std::string_view key) {
  std::string result;
  result.reserve(queue.size() + 1 + key.size());
  result.append(queue).push_back('\0');  // a queue's name has no such character
  return result.append(key);
}

const UniqueIndex::Holder* UniqueIndex::find(std::string_view queue, std::string_view key,
                                             Time now) const {
  const auto found = holders_.find(name(queue, key));
  if (found == holders_.end()) return nullptr;
  const Holder& holder = found->second;
  return holder.released_at && *holder.released_at <= now ? nullptr : &holder;
}

bool UniqueIndex::is_held_after_end(std::string_view queue, std::string_view key) const {
  const auto found = holders_.find(name(queue, key));
  return found != holders_.end() && found->second.released_at;
}

void UniqueIndex::forget_release(const std::string& name, const Holder& holder) {
  if (holder.released_at) by_release_.erase({*holder.released_at, name});
}

bool UniqueIndex::take(std::string_view queue, std::string_view key, const JobId& job) {
  const std::string full = name(queue, key);
  Holder& holder = holders_[full];
  forget_release(full, holder);
  const bool was_held = holder.released_at.has_value();
  holder = {job, std::nullopt};
  return was_held;
}

bool UniqueIndex::ended(std::string_view queue, std::string_view key, const JobId& job,
                        std::optional<Time> hold_until) {
  const std::string full = name(queue, key);
  const auto found = holders_.find(full);
  if (found == holders_.end() || found->second.job != job) return false;
  forget_release(full, found->second);
  if (hold_until) {
    found->second.released_at = hold_until;
    by_release_.insert({*hold_until, full});
  } else {
    holders_.erase(found);
  }
  return true;
}

void UniqueIndex::release(Time until) {
  while (!by_release_.empty() && by_release_.begin()->first <= until) {
    holders_.erase(by_release_.begin()->second);
    by_release_.erase(by_release_.begin());
  }
}

std::optional<Time> UniqueIndex::earliest_release() const {
  if (by_release_.empty()) return std::nullopt;
  return by_release_.begin()->first;
}

}  // namespace millrace::core
