// One life of a server without sockets and threads: a store, a shard on it, and the driver's steps,
// one at a time. Its answers are recorded in the ledger.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "engine/observer.h"
#include "engine/shard/shard.h"
#include "sim/crash_points/disk.h"
#include "sim/crash_points/ledger.h"
#include "store/tables.h"

namespace millrace::crash_points {

class Life final : public engine::DurableObserver, public engine::ReplyPort {
 public:
  // Opens the store, recovers the shard, and checks the result against the ledger, which records
  // problems. An error means that the store was refused. `disk` holds the store; its hook does not
  // see the check.
  static Result<std::unique_ptr<Life>> start(const std::string& directory, Disk& disk,
                                             Ledger& ledger, const Logger& log);

  void ask(engine::Request request);
  void step();
  // False: there was nothing to append, or the append failed.
  bool append();
  bool flush();
  void sync();
  void trim();
  // Does everything that is possible without waiting; gives up after a while if the disk fails.
  void settle();

  store::Store& store() { return store_; }
  engine::Shard& shard() { return *shard_; }
  bool ended() const { return shard_->ended().has_value(); }

  void durable(Seq, const core::EventBatch&) override {}
  void deliver(std::span<engine::Delivery>) override {}

 private:
  Life(Ledger& ledger, store::Store store) : ledger_(ledger), store_(std::move(store)) {}
  void examine(Disk& disk);
  void collect();

  Ledger& ledger_;
  store::Store store_;
  std::unique_ptr<engine::Shard> shard_;
  bool broken_ = false;  // the journal can't be trusted: no more answers are allowed
};

}  // namespace millrace::crash_points
