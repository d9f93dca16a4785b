// The rows between decision and durability: one in flight, and at most one sealed behind it. It
// chains the checksums.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/event.h"
#include "store/journal.h"

namespace millrace::engine {

class Pipeline {
 public:
  // Continues after row `head` with checksum `head_checksum`, which is durable.
  Pipeline(std::uint32_t shard, Epoch epoch, Seq head, const store::Checksum& head_checksum);

  bool can_seal() const { return sealed_ == nullptr; }
  // Encodes the next row, which takes these inbox rows. Precondition: can_seal().
  void seal(core::EventBatch batch, std::vector<store::InboxKey> taken);

  // The row to give to the journal, or null; from then on it counts as in flight.
  const store::JournalRow* next(Time now);
  // A row is in flight, or is to be tried again after a failed append.
  bool in_flight() const { return appending_ != nullptr; }
  // When the row in flight was first tried.
  Time in_flight_since() const { return since_; }
  // When appends began to fail; none: the last one succeeded.
  std::optional<Time> failing_since() const { return failing_since_; }

  struct Durable {
    Seq seq{};
    std::shared_ptr<const core::EventBatch> batch;
    Duration took{};
  };
  // The row in flight is durable.
  Durable settle(Time now);
  // The row in flight may or may not be durable: next() returns the same row again.
  void retry(Time now);

  Seq head() const { return head_; }  // the newest row, durable or not
  const store::Checksum& head_checksum() const { return head_checksum_; }
  Seq durable() const { return durable_; }
  bool empty() const { return appending_ == nullptr && sealed_ == nullptr; }

 private:
  struct Row {
    store::JournalRow row;
    core::EventBatch batch;
  };

  const std::uint32_t shard_;
  const Epoch epoch_;
  Seq head_;
  store::Checksum head_checksum_;
  Seq durable_;
  std::unique_ptr<Row> appending_;  // not movable: the journal thread holds a pointer into it
  std::unique_ptr<Row> sealed_;
  bool handed_out_ = false;
  Time since_{};
  std::optional<Time> failing_since_;
};

}  // namespace millrace::engine
