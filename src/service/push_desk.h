// The interface to the component that calls push receivers. The server implements it.
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
  // Why the server would not call the target: a URL that the policy forbids, an invalid secret.
  virtual std::optional<api::Problem> fault_of(const api::PushTarget& target) const = 0;
  // None: this node does not serve the targets.
  virtual std::optional<api::PushHealth> health(std::string_view target) = 0;
  // The URL of the serving node, as far as this node knows; empty: this node, or unknown.
  virtual std::string served_by() const = 0;
  // Call after the targets changed on this node.
  virtual void look() = 0;

  // Makes one call without a job. Blocks for some seconds, so it runs on the reader pool.
  virtual api::Decoded<api::PushTestResult> test(std::string_view name,
                                                 const api::PushTarget& target) = 0;
};

}  // namespace millrace::service
