#include "store/postgres/server_identity.h"

#include <fmt/format.h>

namespace millrace::store {

Status ServerIdentity::meet(Server server) {
  if (met_ && server.system != met_->system) {
    return failure(
        fmt::format("this is another database cluster (system identifier {}) than "
                    "before ({}); start the node again if that is meant",
                    server.system, met_->system));
  }
  if (met_ && server.timeline < met_->timeline) {
    return failure(
        fmt::format("this is a former primary (timeline {}; it was {} already): stop "
                    "it, or make it a standby of its successor",
                    server.timeline, met_->timeline));
  }
  met_ = server;
  return {};
}

}  // namespace millrace::store
