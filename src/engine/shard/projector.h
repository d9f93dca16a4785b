// When the projection is written. Changes are taken at a batch's end, kept until that batch is
// durable, and handed out once, or again after a failure. At most one flush exists at a time.
#pragma once

#include <optional>

#include "base/result.h"
#include "engine/shard/shard.h"

namespace millrace::engine {

class Projector {
 public:
  // The tables are at `progress`. The changes taken next begin at row `base`, unless `outstanding`
  // ones must be written first.
  Projector(Duration flush_after, std::size_t flush_rows, const store::Progress& progress, Seq base,
            std::optional<Flush> outstanding)
      : flush_after_(flush_after),
        flush_rows_(flush_rows),
        projected_(progress),
        base_(base),
        flush_(std::move(outstanding)) {}

  // A row was decided at `now`.
  void row_decided(Time now) {
    if (!oldest_change_) oldest_change_ = now;
  }
  // Makes the next flush due at once.
  void force() { forced_ = true; }

  // Whether a flush is outstanding that may be handed out now or once it is durable, or whether
  // changes up to row `head` should be taken for one, which would write `rows`.
  bool is_due(Time now, Seq head, std::size_t rows) const {
    return flush_ ? now >= retry_at_ : should_take(now, head, rows);
  }
  void take(std::unique_ptr<const core::Changes> changes, Seq head,
            const store::Checksum& checksum);

  // The flush to write now, if there is one that may be written.
  std::optional<Flush> hand_out(Seq durable, Time now);
  // True: the flush succeeded, and the machine may release the changes.
  bool done(const Status& status, Time now);

  // When hand_out() will next return a flush if nothing else happens (assuming that changes are
  // taken then, if no flush is outstanding).
  std::optional<Time> next_time(Time now, Seq head, Seq durable, std::size_t rows) const;

  const store::Progress& projected() const { return projected_; }
  bool outstanding() const { return flush_.has_value(); }
  // When the oldest row that the tables lack was decided.
  std::optional<Time> behind_since() const { return flush_since_ ? flush_since_ : oldest_change_; }
  // When flushes began to fail; none: the last one succeeded.
  std::optional<Time> failing_since() const { return failing_since_; }

 private:
  bool should_take(Time now, Seq head, std::size_t rows) const;
  Time old_enough_at() const;  // precondition: there is an oldest change

  const Duration flush_after_;
  const std::size_t flush_rows_;
  store::Progress projected_;
  Seq base_{};
  std::optional<Time> oldest_change_;  // decided, but in no flush yet
  bool forced_ = false;
  std::optional<Flush> flush_;
  std::optional<Time> flush_since_;  // when its oldest change was decided
  bool handed_out_ = false;
  Time handed_out_at_{};
  Time pause_until_{};
  std::optional<Time> failing_since_;
  Duration backoff_{};
  Time retry_at_{};
};

}  // namespace millrace::engine
