// Works through a shard's parts of operations (core/operations/operation.h) while this node leads
// the shard: it asks the shard for the next step, has jobs selected from the tables, and sends the
// step to the shard. It only decides; its caller sends its requests, reads the tables, and passes
// on the results.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/routing/gateway.h"
#include "node/instant.h"
#include "store/tables.h"

namespace millrace::node {

// How long one selection may take: the parts take turns.
inline constexpr std::chrono::milliseconds kSelectionBudget{500};

// One caller at a time. Call take_asks() and take_selections() after each call.
class OperationRunner {
 public:
  OperationRunner(std::uint32_t shard, std::uint32_t shards) : shard_(shard), shards_(shards) {}

  struct Asking {
    enum class Whom : std::uint8_t {
      kShard,      // the shard, which this node leads
      kAllShards,  // through the router, with engine::kNodesOwn
    } whom{};
    engine::Request request;
    engine::Ticket ticket{};
  };
  std::vector<Asking> take_asks() { return std::exchange(asks_, {}); }
  // Jobs to select from the shard's tables.
  struct Selection {
    std::uint64_t term = 0;
    core::OperationPart part;
    core::JobFilter filter;
    std::uint32_t limit = 0;
  };
  std::vector<Selection> take_selections() { return std::exchange(selections_, {}); }

  // begin(): this node leads the shard from now on. end(): it no longer does.
  void begin();
  void end();
  // Call a few times a second: repeats failed requests. `wall`: by the wall clock.
  void tick(Instant now, Time wall);
  void answered(engine::Ticket ticket, engine::Answer answer);
  void selected(const Selection& selection, const Result<store::Tables::IdPage>& page);

  // A step is running.
  bool busy() const { return selecting_ || step_.has_value(); }

 private:
  // The known state of an operation with a part here.
  struct Known {
    bool told = false;  // only on the first shard: every shard has begun its part
    std::uint32_t sharers = 1;
    Instant look_at{};  // when to ask the other shards
    Instant seen_at{};  // when a step was last handed out
  };

  void ask();
  void look(const JobId& id, Known& known, const core::OperationPart* part);
  void take_work(engine::OperationWork work);
  bool awaits_others(const JobId& id);
  void take_view(const JobId& id, const core::OperationReply& reply);
  void forget_old(const core::OperationReply& reply);
  void pause(Duration time);
  engine::Ticket send(Asking::Whom whom, engine::Request request);

  const std::uint32_t shard_;
  const std::uint32_t shards_;
  std::uint64_t term_ = 0;  // counts terms
  bool leads_ = false;
  std::uint64_t last_ticket_ = 0;
  Instant now_{};
  Time wall_{};
  Instant not_before_{};
  std::optional<engine::Ticket> work_;  // the pending request for work
  bool selecting_ = false;
  std::optional<engine::Ticket> step_;
  std::optional<engine::Ticket> whole_;  // the pending request for the list of all operations
  Instant whole_at_{};
  std::map<JobId, Known> known_;
  std::map<engine::Ticket, JobId> told_;      // pending, to all shards
  std::map<engine::Ticket, JobId> viewed_;    // pending questions to all shards
  std::optional<core::StepOperation> apart_;  // for Mutant::kOperationCursorApart
  std::vector<Asking> asks_;
  std::vector<Selection> selections_;
};

}  // namespace millrace::node
