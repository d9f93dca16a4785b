#include "server/shard_parts.h"

#include <utility>

namespace millrace::server {

std::vector<store::Tables*> ShardParts::tables_of(const std::vector<store::Store>& stores) {
  std::vector<store::Tables*> tables;
  for (const store::Store& store : stores) tables.push_back(store.tables.get());
  return tables;
}

std::vector<store::Journal*> ShardParts::journals_of(const std::vector<store::Store>& stores) {
  std::vector<store::Journal*> journals;
  for (const store::Store& store : stores) journals.push_back(store.journal.get());
  return journals;
}

ShardParts::ShardParts(std::vector<store::Store> stores, engine::DurableObserver& metrics,
                       Logger log)
    : statistics_(tables_of(stores)), feed_(journals_of(stores)), reads_(tables_of(stores)) {
  for (std::uint32_t shard = 0; shard < stores.size(); ++shard) {
    shards_.push_back(std::make_unique<Shard>(std::move(stores[shard]), statistics_.of(shard),
                                              feed_.observer(shard), metrics, log));
  }
}

void ShardParts::begin_leading(std::uint32_t shard, Seq durable) {
  statistics_.led(shard);
  shards_[shard]->keeper.restore();
  feed_.led(shard, durable);
}

void ShardParts::end_leading(std::uint32_t shard) {
  feed_.not_led(shard);
  shards_[shard]->keeper.save();
  statistics_.not_led(shard);
}

}  // namespace millrace::server
