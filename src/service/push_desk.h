// What operations on push targets need of whoever calls the receivers. The server implements it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/problem.h"
#include "api/push_target.h"

namespace millrace::service {

class PushDesk {
 public:
  virtual ~PushDesk() = default;

  // --- Any thread; does not block.
  // Why the server would not call it: a URL that the policy forbids, a secret that is none.
  virtual std::optional<api::Problem> fault_of(const api::PushTarget& target) const = 0;
  // None: this node does not serve the targets.
  virtual std::optional<api::PushHealth> health(std::string_view target) = 0;
  // The URL of the node that does, as far as this one knows; empty: it is this one, or unknown.
  virtual std::string served_by() const = 0;
  // The targets have changed on this node.
  virtual void look() = 0;

  // Blocks, for some seconds: called on the pool for reads. One call with no job.
  virtual api::Decoded<api::PushTestResult> test(std::string_view name,
                                                 const api::PushTarget& target) = 0;
};

}  // namespace millrace::service
