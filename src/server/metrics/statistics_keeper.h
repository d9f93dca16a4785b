// Keeps the history of a shard's statistics across restarts and changes of its leader: a blob
// beside the tables, saved once a minute and read by other nodes too, plus the journal's rows since
// then.
#pragma once

#include <chrono>

#include "base/log.h"
#include "base/time.h"
#include "engine/statistics/statistics.h"
#include "store/tables.h"

namespace millrace::server {

class StatisticsKeeper {
 public:
  StatisticsKeeper(engine::Statistics& statistics, store::Store& store, Logger log)
      : statistics_(statistics), store_(store), log_(std::move(log)) {}

  // Called before the shard is led, after the former leader has ended. Reads a bounded part of the
  // journal; anything older is missing from the history.
  void restore();
  // Called about once a second; saves when it is time.
  void save_now_and_then(Time now);
  void save();

 private:
  Seq first_row_to_replay(std::optional<Seq> saved) const;

  engine::Statistics& statistics_;
  store::Store& store_;
  Logger log_;
  std::optional<Time> saved_at_;
};

}  // namespace millrace::server
