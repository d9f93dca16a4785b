#include "server/shard/trim_policy.h"

#include <algorithm>

#include "store/event_codec.h"

namespace millrace::server {
namespace {

Result<Time> time_of_row(store::Journal& journal, Seq seq) {
  Result<Time> at = failure("the journal does not have this row");
  const Status status = journal.read(seq, [&](const store::JournalRow& row) {
    auto batch = store::decode_events(row.body);
    at = batch ? Result<Time>(batch->at) : std::unexpected(batch.error());
    return false;
  });
  if (!status) return std::unexpected(status.error());
  return at;
}

// The first row in [oldest, end) that is not older than `cutoff`, or `end`; times ascend with seqs.
Result<std::uint64_t> first_not_older(store::Journal& journal, std::uint64_t oldest,
                                      std::uint64_t end, Time cutoff) {
  while (oldest < end) {
    const std::uint64_t middle = oldest + (end - oldest) / 2;
    const Result<Time> at = time_of_row(journal, Seq{middle});
    if (!at) return std::unexpected(at.error());
    if (*at < cutoff) {
      oldest = middle + 1;
    } else {
      end = middle;
    }
  }
  return end;
}

}  // namespace

Result<Seq> trim_point(store::Journal& journal, TrimBounds bounds, Time now,
                       EventRetention retention) {
  const Result<store::Journal::Extent> extent = journal.extent();
  if (!extent) return std::unexpected(extent.error());
  const std::uint64_t oldest = to_number(extent->oldest);
  const std::uint64_t rows = to_number(extent->newest) - oldest + 1;
  const std::uint64_t most_rows = journal.most_rows();
  const bool waits = extent->bytes <= retention.bytes + kMaxUnreadBytes && rows <= most_rows;
  const Seq needed = waits ? std::min(bounds.synced, next(bounds.read)) : bounds.synced;
  const std::uint64_t end = std::min(to_number(needed), to_number(extent->newest));
  if (oldest == 0 || oldest >= end) return extent->oldest;

  const Result<Time> oldest_at = time_of_row(journal, extent->oldest);
  if (!oldest_at) return std::unexpected(oldest_at.error());
  std::uint64_t below = oldest;
  if (*oldest_at < now - retention.age) {
    const auto found = first_not_older(journal, oldest, end, now - retention.age);
    if (!found) return std::unexpected(found.error());
    below = *found;
  }
  if (extent->bytes > retention.bytes) {
    const std::uint64_t mean = std::max<std::uint64_t>(extent->bytes / rows, 1);
    const std::uint64_t excess = (extent->bytes - retention.bytes) / mean;
    below = std::max(below, std::min(oldest + excess, end));
  }
  if (rows > most_rows) below = std::max(below, std::min(oldest + (rows - most_rows), end));
  return Seq{below};
}

}  // namespace millrace::server
