// What every journal checks of the rows that it reads, and says of those that are wrong.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "store/journal.h"

namespace millrace::store {

// Until a store holds many shards, every journal is this one's.
inline constexpr std::uint32_t kOnlyShard = 0;

Status check_row(std::uint32_t shard, const JournalRow& row);

// Follows the chain: give it the rows in order.
class ChainCheck {
 public:
  // `from`: the first row to come.
  ChainCheck(std::uint32_t shard, Seq from) : shard_(shard), expected_(from) {}

  // The row has its checksum, is the next one, and names the checksum of the one before.
  Status check(const JournalRow& row);
  // The row before the first one, where it is there: the first must chain to it.
  void set_predecessor(const Checksum& checksum) { predecessor_ = checksum; }
  Seq expected() const { return expected_; }

 private:
  std::uint32_t shard_;
  Seq expected_;
  std::optional<Checksum> predecessor_;
};

// Reading `from` on when rows `oldest` to `newest` (0: none) are there.
Status check_range(std::uint32_t shard, Seq from, const Journal::Extent& extent);

}  // namespace millrace::store
