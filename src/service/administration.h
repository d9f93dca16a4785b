// Operations on the server itself, for operators.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/diagnosis.h"
#include "api/meta.h"
#include "api/node.h"
#include "service/caller.h"

namespace millrace::service {

struct ReadinessAnswer {
  bool draining = false;
  bool ready = false;
  std::optional<std::vector<ReadinessCheck>> checks;  // none: the caller may not see them
};
ReadinessAnswer readiness(const Caller& caller);

Answered<api::Configuration> configuration(const Caller& caller);
Answered<api::Cluster> nodes(const Caller& caller);
Task<Answered<std::string>> metrics(Caller& caller);  // in Prometheus's text format
Task<Answered<api::Diagnosis>> diagnosis(Caller& caller);
Task<Answered<BackupDone>> backup(Caller& caller, const std::string& path);

// `node`: the node's id; must stay valid until the answer arrives.
Task<Answered<api::Cluster>> set_draining(Caller& caller, const std::string& node, bool draining);

}  // namespace millrace::service
