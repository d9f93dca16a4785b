#include "store/journal_check.h"

#include <fmt/format.h>

#include "base/mutant.h"

namespace millrace::store {

Status check_row(std::uint32_t shard, const JournalRow& row) {
  if (mutated(Mutant::kChecksumIgnored)) return {};
  if (row_checksum(shard, row.seq, row.epoch, row.predecessor, row.body) == row.checksum) return {};
  return failure(fmt::format("journal damaged: shard {}, row {}: its checksum does not match",
                             shard, to_number(row.seq)));
}

Status ChainCheck::check(const JournalRow& row) {
  if (row.seq != expected_) {
    return failure(fmt::format("journal damaged: shard {}, row {} is missing (the next is {})",
                               shard_, to_number(expected_), to_number(row.seq)));
  }
  if (Status checked = check_row(shard_, row); !checked) return checked;
  if (row.seq == Seq{1}) predecessor_ = Checksum{};
  if (predecessor_ && row.predecessor != *predecessor_) {
    return failure(
        fmt::format("journal damaged: shard {}, row {} does not continue the row before it", shard_,
                    to_number(row.seq)));
  }
  predecessor_ = row.checksum;
  expected_ = next(row.seq);
  return {};
}

Status check_range(std::uint32_t shard, Seq from, const Journal::Extent& extent) {
  if (from < extent.oldest) {
    return failure(fmt::format("journal of shard {}: row {} was trimmed; the oldest row is {}",
                               shard, to_number(from), to_number(extent.oldest)));
  }
  if (from > next(extent.newest)) {
    return failure(fmt::format("journal of shard {}: row {} does not exist; the newest row is {}",
                               shard, to_number(from), to_number(extent.newest)));
  }
  return {};
}

}  // namespace millrace::store
