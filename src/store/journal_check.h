// The checks that every journal applies to the rows that it reads, and their error messages.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "store/journal.h"

namespace millrace::store {

// A store with a single journal has only this shard.
inline constexpr std::uint32_t kOnlyShard = 0;

Status check_row(std::uint32_t shard, const JournalRow& row);

// Follows the chain of checksums; expects the rows in order.
class ChainCheck {
 public:
  // `from`: the seq of the first row.
  ChainCheck(std::uint32_t shard, Seq from) : shard_(shard), expected_(from) {}

  // Checks that the row has its checksum, is the next one, and names the checksum of the row
  // before.
  Status check(const JournalRow& row);
  // If the row before the first one exists, this is its checksum: the first row must chain to it.
  void set_predecessor(const Checksum& checksum) { predecessor_ = checksum; }
  Seq expected() const { return expected_; }

 private:
  std::uint32_t shard_;
  Seq expected_;
  std::optional<Checksum> predecessor_;
};

// Whether reading can begin at `from` when rows `oldest` to `newest` (0: none) exist.
Status check_range(std::uint32_t shard, Seq from, const Journal::Extent& extent);

}  // namespace millrace::store
