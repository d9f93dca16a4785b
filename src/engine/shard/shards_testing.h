// For tests: queues that lie on a given shard, and the tables and journals of a store with several
// shards.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/routing/scatter_gather.h"
#include "store/event_codec.h"
#include "store/memory/memory_store.h"
#include "store/testing/failing_store.h"
#include "store/testing/jobs.h"

namespace millrace::engine {

// The first of "q0", "q1", ... that lies on the shard.
inline std::string queue_on(ShardNumber shard, ShardNumber shards) {
  for (int i = 0;; ++i) {
    std::string queue = "q" + std::to_string(i);
    if (shard_of(queue, shards) == shard) return queue;
  }
}

class ShardsForTests {
 public:
  explicit ShardsForTests(ShardNumber shards) {
    for (ShardNumber shard = 0; shard < shards; ++shard) {
      store::Store store = store::make_memory_store();
      shards_.push_back({std::make_unique<store::FailingTables>(std::move(store.tables)),
                         std::make_unique<store::FailingJournal>(std::move(store.journal)),
                         queue_on(shard, shards)});
    }
  }

  ShardNumber shards() const { return static_cast<ShardNumber>(shards_.size()); }
  store::FailingTables& tables(ShardNumber shard) { return *shards_[shard].tables; }
  store::FailingJournal& journal(ShardNumber shard) { return *shards_[shard].journal; }
  const std::string& queue(ShardNumber shard) const { return shards_[shard].queue; }
  std::vector<store::Tables*> all_tables() {
    std::vector<store::Tables*> all;
    for (Shard& shard : shards_) all.push_back(shard.tables.get());
    return all;
  }
  std::vector<store::Journal*> all_journals() {
    std::vector<store::Journal*> all;
    for (Shard& shard : shards_) all.push_back(shard.journal.get());
    return all;
  }

  // Adds a job to the tables as the shard's next one. Its id names the shard `id_of`.
  core::Job add_job(ShardNumber shard, Time created_at, ShardNumber id_of) {
    Shard& on = shards_[shard];
    core::Job job = store::make_job(++on.jobs, on.queue);
    job.created_at = job.run_at = created_at;
    job.id = make_job_id(created_at, queue_bits(shards_[id_of].queue), shard * 1'000'000 + on.jobs);
    job.payload = SharedBytes("\"" + on.queue + " " + std::to_string(on.jobs) + "\"");
    MILLRACE_CHECK(on.flusher.flush(*on.tables, {job}).has_value());
    return job;
  }
  core::Job add_job(ShardNumber shard, Time created_at) {
    return add_job(shard, created_at, shard);
  }

  // Appends the shard's next row; it is durable.
  Seq append(ShardNumber shard, const core::EventBatch& batch) {
    Shard& on = shards_[shard];
    store::JournalRow row;
    row.seq = Seq{++on.rows};
    row.epoch = Epoch{1};
    row.predecessor = on.last;
    store::encode_events(batch, row.body);
    // Every memory store believes that it is shard 0.
    on.last = row.checksum = store::row_checksum(0, row.seq, row.epoch, on.last, row.body);
    MILLRACE_CHECK(on.journal->append(row).outcome == store::AppendOutcome::kDurable);
    return row.seq;
  }

 private:
  struct Shard {
    std::unique_ptr<store::FailingTables> tables;
    std::unique_ptr<store::FailingJournal> journal;
    std::string queue;
    store::Flusher flusher = {};
    std::uint64_t jobs = 0;
    std::uint64_t rows = 0;
    store::Checksum last = {};
  };
  std::vector<Shard> shards_;
};

}  // namespace millrace::engine
