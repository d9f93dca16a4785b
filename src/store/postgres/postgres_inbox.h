// The inboxes of a database's shards: the table millrace.inbox_rows, which millrace.enqueue,
// millrace.finish and others write (inbox_schema.cc).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "store/inbox.h"
#include "store/postgres/connection_pool.h"

namespace millrace::store {

class PostgresInbox final : public Inbox {
 public:
  explicit PostgresInbox(std::shared_ptr<ConnectionPool> pool) : pool_(std::move(pool)) {}

  Result<bool> in_use() override;
  Result<std::vector<InboxPage>> read(std::span<InboxReader> readers) override;
  Result<std::vector<InboxRow>> finishes(std::uint32_t shard) override;
  Result<FetchedRows> fetch(std::uint32_t shard, std::span<const InboxKey> keys) override;
  Status drop(std::uint32_t shard, std::span<const InboxKey> keys) override;
  Status reject(std::uint32_t shard, std::span<const RejectedRow> rows) override;
  Result<JobId> sweep_fences(JobId after) override;
  Status sweep_rejected() override;
  Status move(std::uint32_t shard, const InboxKey& key, std::uint32_t to) override;

 private:
  Status write(const char* sql, Parameters parameters);

  const std::shared_ptr<ConnectionPool> pool_;
};

// Two arrays: the transactions' numbers and the rows' numbers.
void add_keys(Parameters& parameters, std::span<const InboxKey> keys);

}  // namespace millrace::store
