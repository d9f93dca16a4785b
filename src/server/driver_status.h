// What a driver is told at its start, and what it tells of itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "engine/shard.h"
#include "server/trim_policy.h"
#include "store/tables.h"

namespace millrace::server {

// Told what the driver's threads do; for metrics. Each call comes on the thread that did it; must
// not block.
class DriverProbe {
 public:
  virtual ~DriverProbe() = default;
  // An append returned durable. `requests`: how many came in since the row before.
  virtual void committed(std::chrono::nanoseconds took, std::size_t body_bytes,
                         std::size_t requests) = 0;
  virtual void append_failed(store::AppendOutcome outcome) = 0;
  virtual void flushed(std::chrono::nanoseconds took, std::size_t jobs, bool ok) = 0;
};

struct DriverOptions {
  engine::ShardOptions shard;
  std::uint64_t memory_bytes = std::uint64_t{1} << 40;  // what the process may use
  std::string liveness_file;
  EventRetention events;
};

struct DriverStatus {
  engine::Shard::Figures figures;
  Seq synced{};  // in the tables, beyond a power failure
  bool draining = false;
  bool drained = false;          // all of that is done
  bool journal_failing = false;  // the last append did not succeed
  bool tables_failing = false;
  std::uint64_t memory_budget = 0;  // bytes
  engine::MemoryRoom memory_room{};
  std::optional<std::string> ended;  // the shard has stopped for good
  bool broken = false;               // and why: its journal can't be trusted
  bool resigned = false;             // nothing more is decided, and what was is durable
  bool in_doubt = false;             // whether it still leads: nothing is decided meanwhile
  Duration wall_ahead{};             // of the shard's time; negative: behind
};

}  // namespace millrace::server
