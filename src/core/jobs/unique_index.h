// Unique keys and the job of a queue that holds each. A job holds its key while it is live, and
// longer if its requested hold time, counted from submission, is not over.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/btree_set.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/string_map.h"

namespace millrace::core {

class UniqueIndex {
 public:
  struct Holder {
    JobId job;
    std::optional<Time> released_at;  // set when the job has ended and still holds the key
  };

  // Null: the key is free at `now`.
  const Holder* find(std::string_view queue, std::string_view key, Time now) const;
  // Whether an ended job holds the key, even if its hold time is over.
  bool is_held_after_end(std::string_view queue, std::string_view key) const;
  // Gives the key to the live job, whoever held it. True: an ended job held it until now.
  bool take(std::string_view queue, std::string_view key, const JobId& job);
  // The holder has ended. It keeps the key until `hold_until`, or frees it now (none). False:
  // another job holds the key, or no job does.
  bool ended(std::string_view queue, std::string_view key, const JobId& job,
             std::optional<Time> hold_until);
  // Removes the keys whose hold ends at or before `until`.
  void release(Time until);

  std::optional<Time> earliest_release() const;
  std::size_t size() const { return holders_.size(); }
  // "queue \0 key" with its holder, in no order.
  const StringMap<Holder>& holders() const { return holders_; }

 private:
  static std::string name(std::string_view queue, std::string_view key);
  void forget_release(const std::string& name, const Holder& holder);

  StringMap<Holder> holders_;
  absl::btree_set<std::pair<Time, std::string>> by_release_;
};

}  // namespace millrace::core
