// The expected effect of operations, derived only from their commands: X4.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "core/command.h"
#include "core/reply.h"
#include "sim/model/model.h"
#include "sim/world/marks.h"

namespace millrace::sim {

class ModelOperations {
 public:
  ModelOperations(Marks& marks, Model& model) : marks_(marks), model_(model) {}

  // A term begins: nothing has been earned since the last one.
  void begin_term(Time now);
  // Each carries out its command and returns the refusal, if any.
  core::Rejection start(const core::StartOperation& command);
  core::Rejection set(const core::SetOperation& command);
  // `admits`: whether the item had its turn and was not put off.
  core::Rejection step(const core::StepOperation& command,
                       const std::function<bool(const core::StepOperation::Item&)>& admits);
  void forget(const core::ForgetOperations& command);

  bool has_rate(const JobId& id) const {
    const auto found = all_.find(id);
    return found != all_.end() && found->second.is.rate_per_s.has_value();
  }
  bool knows(const JobId& id) const { return all_.contains(id); }
  bool any_running() const;

  // Each ends the run if the operation differs from the expected one.
  void check(const core::OperationPart& shown) const;
  void compare(const core::OperationIndex& all) const;

 private:
  using Which = std::pair<JobId, std::uint64_t>;  // another job may later have the same id
  struct Operation {
    core::OperationPart is;
    std::set<Which> touched;
    // Jobs that have matched from the beginning, until they are touched; with their generation,
    // since a job retried meanwhile has not matched all the time.
    std::map<Which, std::uint32_t> due;
    // The number of jobs that it may touch, at the time `level_at`.
    double level = 0;
    Time level_at{};
  };
  void earn(Operation& operation) const;
  void touch(Operation& operation, const Which& which);
  core::Rejection act(Operation& operation, const JobId& id, bool admitted);
  bool is_due(const Operation& operation, const core::Job& job) const;
  void check_whole(const Operation& operation) const;

  Marks& marks_;
  Model& model_;
  std::map<JobId, Operation> all_;
};

}  // namespace millrace::sim
