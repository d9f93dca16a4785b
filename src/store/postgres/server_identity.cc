#include "store/postgres/server_identity.h"

#include <fmt/format.h>

namespace millrace::store {

Status ServerIdentity::meet(Server server) {
  if (met_ && server.system != met_->system) {
    return failure(
        fmt::format("the address leads to another database cluster (system identifier {}) than "
                    "before ({}); restart the node if that is intended",
                    server.system, met_->system));
  }
  if (met_ && server.timeline < met_->timeline) {
    return failure(
        fmt::format("the database is a former primary (timeline {}, after timeline {}); stop it, "
                    "or make it a standby of its successor",
                    server.timeline, met_->timeline));
  }
  met_ = server;
  return {};
}

}  // namespace millrace::store
