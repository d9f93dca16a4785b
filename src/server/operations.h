// The server's own operations offered over HTTP: readiness, metrics, backups.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/routing/gateway.h"
#include "server/metrics/metrics.h"
#include "server/metrics/queue_sampler.h"
#include "server/stores/backend.h"
#include "service/catalog.h"
#include "service/operations.h"

namespace millrace::server {

// Sends requests to shards from a thread that may block.
class ShardQuestions final : public engine::ReplyPort {
 public:
  // None: no answer came in time. May be called on any thread except the shard's.
  std::optional<engine::Answer> ask(engine::Gateway& gateway, engine::Request request,
                                    Duration patience, std::string_view credentials = {});

  void deliver(std::span<engine::Delivery> deliveries) override;

 private:
  Mutex mutex_;
  WaitCondition answered_;
  std::uint64_t last_ticket_ MILLRACE_GUARDED_BY(mutex_) = 0;
  // By ticket, while a caller waits for the answer.
  std::map<engine::Ticket, std::optional<engine::Answer>> open_ MILLRACE_GUARDED_BY(mutex_);
};

class ServerOperations final : public service::Operations {
 public:
  struct Parts {
    Backend& backend;
    const Metrics& metrics;
    const service::Catalog& catalog;
    Logger log;
    // The health of the push targets that this node serves.
    std::function<std::vector<std::pair<std::string, api::PushHealth>>()> push_health{};
    // By api::ErrorStatus; none if another node reports them.
    std::function<std::optional<std::array<std::uint64_t, 3>>()> error_groups{};
    std::function<TraceCounts()> trace_counts{};  // none: no traces are exported
    std::string directory{};  // of the store's files; empty if the store is in a database
    // The expiry of the certificate shown to clients; none: plain HTTP.
    std::function<std::optional<Time>()> certificate_ends{};
  };
  ServerOperations(service::About about, Parts parts);

  const service::About& about() const override { return about_; }
  service::Readiness readiness() const override;
  api::Cluster cluster() const override;
  api::Configuration configuration() const override;
  api::Decoded<api::Cluster> set_draining(const std::string& node, bool draining) override;
  std::string metrics_text() override;
  // Sets the result of configuration(). Thread-safe.
  void configure(api::Configuration configuration);
  api::Diagnosis diagnosis() override;  // diagnosis.cc
  // Whether each shard that this node leads accepts and answers a request within seconds.
  bool shards_answer();
  api::Decoded<service::BackupDone> backup(const std::string& path) override;

 private:
  const service::About about_;
  Parts parts_;
  ShardQuestions questions_;
  QueueSampler sampler_;
  Mutex backup_mutex_;  // one backup at a time
  mutable Mutex configuration_mutex_;
  api::Configuration configuration_ MILLRACE_GUARDED_BY(configuration_mutex_);
};

}  // namespace millrace::server
