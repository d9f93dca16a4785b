// Has the audit say when it begins, where the nodes of a store are upgraded one by one: while an
// older one takes part, changes have no entries, and nobody could tell that from no changes.
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
    // Runs the function later, on a thread that may block; or never, if the process ends.
    std::function<void(std::function<void()>)> run;
  };
  explicit AuditStart(Parts parts);

  // To be called a few times a second. `leads`: this node leads the first shard.
  void tick(bool leads);
  void deliver(std::span<engine::Delivery> deliveries) override;

 private:
  void look();

  const Parts parts_;
  Mutex mutex_;
  // This process has seen an older node take part, and has not seen the entry.
  bool owed_ MILLRACE_GUARDED_BY(mutex_) = false;
  // Until then it is left to the first shard's leader, who may have started later and not owe it.
  std::chrono::steady_clock::time_point not_before_ MILLRACE_GUARDED_BY(mutex_);
  const std::chrono::milliseconds patience_;
  bool busy_ MILLRACE_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::server
