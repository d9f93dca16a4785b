// What HTTP shows of the server itself: readiness, metrics, backups.
#pragma once

#include <functional>
#include <string>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/statistics.h"
#include "http/operations.h"
#include "server/driver.h"
#include "server/metrics.h"
#include "store/tables.h"

namespace millrace::server {

class ServerOperations final : public http::Operations {
 public:
  struct Parts {
    store::Store& store;
    Driver& driver;
    const Metrics& metrics;
    const engine::Statistics& statistics;
    Logger log;
  };
  ServerOperations(http::About about, Parts parts);

  const http::About& about() const override { return about_; }
  http::Readiness readiness() const override;
  std::string metrics_text() override;
  api::Decoded<http::BackupDone> backup(const std::string& path) override;

 private:
  const http::About about_;
  Parts parts_;
  Mutex backup_mutex_;  // one at a time
};

}  // namespace millrace::server
