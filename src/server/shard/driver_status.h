// A driver's options and status.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "core/bounds.h"
#include "engine/shard/shard.h"
#include "server/shard/trim_policy.h"
#include "store/tables.h"

namespace millrace::server {

// Receives notifications from the driver's threads, for metrics. Called on the notifying thread;
// must not block.
class DriverProbe {
 public:
  virtual ~DriverProbe() = default;
  // An append is durable. `requests`: the number that came in since the row before.
  virtual void committed(std::chrono::nanoseconds took, std::size_t body_bytes,
                         std::size_t requests) = 0;
  virtual void append_failed(store::AppendOutcome outcome) = 0;
  virtual void flushed(std::chrono::nanoseconds took, std::size_t jobs, bool ok) = 0;
};

struct DriverOptions {
  engine::ShardOptions shard;
  std::uint64_t memory_bytes = std::uint64_t{1} << 40;  // the process's limit
  std::string liveness_file;
  EventRetention events;

  // The queues that each of `shards` may have. A queue holds 4 KiB until it is deleted; all of them
  // together may hold a quarter of the memory.
  [[nodiscard]] std::size_t max_queues(std::uint32_t shards) const {
    return std::min<std::uint64_t>(core::kMaxQueues, memory_bytes / 4 / 4096 / shards);
  }
};

struct DriverStatus {
  engine::Shard::Figures figures;
  Seq synced{};  // the tables are synced up to this row
  bool draining = false;
  bool drained = false;          // the drain is complete
  bool journal_failing = false;  // the last append did not succeed
  bool tables_failing = false;
  bool archive_failing = false;     // there is an archive, and the last write to it failed
  std::uint64_t memory_budget = 0;  // bytes
  engine::MemoryRoom memory_room{};
  std::optional<std::string> ended;  // set if the shard has stopped for good; the reason
  bool broken = false;               // it has stopped because its journal can't be trusted
  bool resigned = false;             // nothing more is decided; all decisions are durable
  bool in_doubt = false;             // unsure whether it still leads; decides nothing meanwhile
  Duration wall_ahead{};             // relative to the shard's time; negative: behind
};

}  // namespace millrace::server
