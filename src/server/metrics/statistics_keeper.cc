#include "server/metrics/statistics_keeper.h"

#include <algorithm>
#include <cstdint>

#include "store/event_codec.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""s;

constexpr auto kSaveInterval = 60s;
// The most that a start reads for the history.
constexpr std::uint64_t kMaxReplayedBytes = 64 * 1024 * 1024;

}  // namespace

void StatisticsKeeper::restore() {
  std::optional<Seq> saved;
  const auto blob = store_.tables->get_blob(std::string(engine::kStatisticsBlob));
  if (!blob) {
    log_.warn("the server can't read the history of its statistics",
              {{"reason", blob.error().message}});
  } else if (*blob) {
    saved = statistics_.restore(**blob);
    if (!saved) log_.warn("the history of the statistics is damaged; the server starts a new one");
  }
  const Seq from = first_row_to_replay(saved);
  if (from == Seq{}) return;
  const Status status = store_.journal->read(from, [&](const store::JournalRow& row) {
    const auto batch = store::decode_events(row.body);
    if (!batch) return false;  // the shard's recovery says what is wrong with it
    statistics_.replay(row.seq, *batch);
    return true;
  });
  if (!status)
    log_.warn("the server can't read the journal for its statistics",
              {{"reason", status.error().message}});
}

Seq StatisticsKeeper::first_row_to_replay(std::optional<Seq> saved) const {
  const auto extent = store_.journal->extent();
  if (!extent || extent->newest == Seq{}) return {};
  const std::uint64_t newest = to_number(extent->newest);
  const std::uint64_t oldest = to_number(extent->oldest);
  const std::uint64_t mean = std::max<std::uint64_t>(extent->bytes / (newest - oldest + 1), 1);
  const std::uint64_t affordable = std::max<std::uint64_t>(kMaxReplayedBytes / mean, 1);
  std::uint64_t from = saved ? to_number(*saved) + 1 : 1;
  from = std::max({from, oldest, newest - std::min(newest, affordable) + 1});
  return from > newest ? Seq{} : Seq{from};
}

void StatisticsKeeper::save_now_and_then(Time now) {
  if (!saved_at_) saved_at_ = now;
  if (now - *saved_at_ < kSaveInterval) return;
  saved_at_ = now;
  save();
}

void StatisticsKeeper::save() {
  const Status status =
      store_.tables->put_blob(std::string(engine::kStatisticsBlob), statistics_.save());
  if (!status) {
    log_.warn("the server can't save the history of its statistics",
              {{"reason", status.error().message}});
  }
}

}  // namespace millrace::server
