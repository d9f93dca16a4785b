// What operations should do, from their commands alone: X4.
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

  // A term begins: nothing was earned since the last one.
  void begin_term(Time now);
  // Each does what the command does, and says whether it is refused.
  core::Rejection start(const core::StartOperation& command);
  core::Rejection set(const core::SetOperation& command);
  // `admits`: whether the item had its turn, and was not put off.
  core::Rejection step(const core::StepOperation& command,
                       const std::function<bool(const core::StepOperation::Item&)>& admits);
  void forget(const core::ForgetOperations& command);

  bool has_rate(const JobId& id) const {
    const auto found = all_.find(id);
    return found != all_.end() && found->second.is.rate_per_s.has_value();
  }
  bool knows(const JobId& id) const { return all_.contains(id); }
  bool any_running() const;

  // Each ends the run if the operation is shown, or is, another one than it should be.
  void check(const core::OperationPart& shown) const;
  void compare(const core::OperationIndex& all) const;

 private:
  using Which = std::pair<JobId, std::uint64_t>;  // another job may get the id
  struct Operation {
    core::OperationPart is;
    std::set<Which> touched;
    // Those that match from the beginning on, until they are touched; with their generation, since
    // one that was retried meanwhile has not matched all the time.
    std::map<Which, std::uint32_t> due;
    // What it may touch now, as of a time.
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
