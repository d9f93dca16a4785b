// The operations that only the server can carry out: readiness, metrics, nodes, backups. The server
// implements the interface.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/diagnosis.h"
#include "api/meta.h"
#include "api/node.h"
#include "api/problem.h"
#include "base/time.h"

namespace millrace::service {

struct ReadinessCheck {
  std::string name;
  bool ok = true;
  std::string detail;  // empty: null
};
struct Readiness {
  bool draining = false;
  std::vector<ReadinessCheck> checks;  // ready: not draining, and all checks are ok
};

// Facts that stay the same while the server runs.
struct About {
  std::string version;
  std::string commit;  // empty: unknown
  std::string store;   // "sqlite"
  std::string node;
  std::int64_t shards = 1;
  Time started_at{};
};

struct BackupDone {
  std::uint64_t bytes = 0;
};

class Operations {
 public:
  virtual ~Operations() = default;

  // Any thread; does not block.
  virtual const About& about() const = 0;
  virtual Readiness readiness() const = 0;
  virtual api::Cluster cluster() const = 0;
  virtual api::Configuration configuration() const = 0;

  // Any thread. These block, so they run on the reader pool.
  virtual std::string metrics_text() = 0;  // in Prometheus's text format
  virtual api::Diagnosis diagnosis() = 0;
  // `node`: the node's id. Returns the state of all nodes afterwards.
  virtual api::Decoded<api::Cluster> set_draining(const std::string& node, bool draining) = 0;
  // On return the backup is complete and synced. The problem's detail is shown to the caller, who
  // has the scope admin.
  virtual api::Decoded<BackupDone> backup(const std::string& path) = 0;
};

}  // namespace millrace::service
