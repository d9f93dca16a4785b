// Serves the catalog's push targets on this node while it leads the first shard. Gives the pusher
// (push/pusher.h) its targets, its clock, the leases of other nodes, and a thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/thread_pool.hpp>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "push/pusher.h"
#include "server/operations.h"
#include "server/stores/backend.h"
#include "service/catalog.h"
#include "service/push_desk.h"

namespace millrace::server {

// The configured policy, with this machine's addresses.
Result<push::AddressPolicy> push_policy(const Config& config);

class PushService final : public service::PushDesk {
 public:
  struct Parts {
    Backend& backend;
    service::Catalog& catalog;
    const Clock& clock;
    push::AddressPolicy policy;
    std::size_t max_result_bytes = 0;
    Logger log;
  };
  explicit PushService(Parts parts);
  // Call stop() first, so that it ends before the backend's shards do.
  ~PushService() override;

  void start() { pusher_.start(); }
  // Begins no more calls, and waits for those in flight until the deadline.
  void stop(Steady deadline);

  std::optional<api::Problem> fault_of(const api::PushTarget& target) const override;
  std::optional<api::PushHealth> health(std::string_view target) override;
  std::string served_by() const override;
  void look() override { pusher_.look(); }
  api::Decoded<api::PushTestResult> test(std::string_view name,
                                         const api::PushTarget& target) override;

  // For /metrics: the targets that this node serves.
  std::vector<std::pair<std::string, api::PushHealth>> all_health() { return pusher_.all_health(); }

 private:
  push::Pusher::Parts pusher_parts();
  std::shared_ptr<const push::Targets> targets();
  Result<std::vector<push::HeldLease>> held(const std::vector<std::string>& targets);
  void disable(const push::Target& target, const std::string& reason);

  Parts parts_;
  ShardQuestions questions_;
  std::unique_ptr<push::Caller> caller_;
  boost::asio::thread_pool readers_{1};

  Mutex mutex_;
  std::shared_ptr<const service::CatalogSnapshot> seen_ MILLRACE_GUARDED_BY(mutex_);
  std::shared_ptr<const push::Targets> targets_ MILLRACE_GUARDED_BY(mutex_);

  Mutex test_mutex_;  // one test at a time: each occupies a thread of the read pool
  bool is_testing_ MILLRACE_GUARDED_BY(test_mutex_) = false;

  push::Pusher pusher_;  // last: its calls and answers end first
};

}  // namespace millrace::server
