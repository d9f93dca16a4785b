// Adds an entry to the audit that says where it begins, for a store whose nodes are upgraded one by
// one. While an older node takes part, changes get no audit entries, which would look like no
// changes.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <utility>

#include "base/mutex.h"
#include "engine/routing/gateway.h"
#include "engine/store_format.h"
#include "store/tables.h"

namespace millrace::server {

// Thread-safe. Must outlive the gateway that it sends its request to.
class AuditStart final : public engine::ReplyPort {
 public:
  struct Parts {
    const engine::StoreFormat& format;
    store::Tables& tables;    // the first shard's, which commits the entry
    engine::Gateway& router;  // reaches every shard
    // Runs the function later, on a thread that may block; never runs it if the process ends first.
    std::function<void(std::function<void()>)> run;
  };
  explicit AuditStart(Parts parts);

  // Must be called a few times a second. `leads`: this node leads the first shard.
  void tick(bool leads);
  void deliver(std::span<engine::Delivery> deliveries) override;

 private:
  void look();

  const Parts parts_;
  Mutex mutex_;
  // This process has seen an older node take part, and has not yet seen the entry.
  bool owed_ MILLRACE_GUARDED_BY(mutex_) = false;
  // Until then the entry is left to the first shard's leader, which may have started later and not
  // owe it.
  std::chrono::steady_clock::time_point not_before_ MILLRACE_GUARDED_BY(mutex_);
  const std::chrono::milliseconds patience_;
  bool busy_ MILLRACE_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::server
