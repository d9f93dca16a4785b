// What operators ask of the server itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/meta.h"
#include "api/node.h"
#include "service/caller.h"

namespace millrace::service {

struct ReadinessAnswer {
  bool draining = false;
  bool ready = false;
  std::optional<std::vector<ReadinessCheck>> checks;  // none: the caller is a stranger
};
ReadinessAnswer readiness(const Caller& caller);

Task<Answered<std::string>> metrics(Caller& caller);  // in Prometheus's text format
Task<Answered<BackupDone>> backup(Caller& caller, const std::string& path);

// Of a node by its id, which stays in place until the answer is there.
Task<Answered<api::Cluster>> set_draining(Caller& caller, const std::string& node, bool draining);

}  // namespace millrace::service
