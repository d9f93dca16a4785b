#include "engine/statistics/statistics_sum.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/statistics/statistics_blob.h"

namespace millrace::engine {
namespace {

// The coarsest slots that suit the step, among those kept for the length of the window.
std::size_t length_for(Duration window, Duration step) {
  std::size_t finest = 0;
  while (finest + 1 < kLengths && window > kSlotLengths[finest].kept()) ++finest;
  std::size_t length = finest;
  while (length + 1 < kLengths && kSlotLengths[length + 1].length <= step &&
         step % kSlotLengths[length + 1].length == Duration{0}) {
    ++length;
  }
  return length;
}

SeriesFamily family_for(const StatsQuery& query) {
  switch (query.by) {
    case StatsBy::kAll:
    case StatsBy::kQueue:
      break;
    case StatsBy::kType:
      // A type's series covers all queues.
      return query.visible ? SeriesFamily::kPair : SeriesFamily::kType;
    case StatsBy::kFairKey:
      return SeriesFamily::kFairKey;
    case StatsBy::kTag:
      return SeriesFamily::kTag;
  }
  return SeriesFamily::kQueue;
}

std::optional<std::int64_t> value_at(const Histogram& histogram, double share) {
  const auto bucket = histogram.quantile(share);
  return bucket ? std::optional(Histogram::middle_of(*bucket)) : std::nullopt;
}

StatsPercentiles percentiles(const std::vector<Histogram>& histograms) {
  StatsPercentiles result;
  for (const Histogram& histogram : histograms) {
    result.p50.push_back(value_at(histogram, 0.50));
    result.p95.push_back(value_at(histogram, 0.95));
    result.p99.push_back(value_at(histogram, 0.99));
  }
  return result;
}

}  // namespace

StatisticsSum::Columns::Columns(std::size_t size) : wait(size), run(size) {
  for (auto& column : counts) column.resize(size);
}

void StatisticsSum::Columns::add(std::size_t at, const StatisticsSlot& slot) {
  for (std::size_t i = 0; i < kCountedEvents; ++i) counts[i][at] += slot.counts[i];
  wait[at].merge(slot.wait);
  run[at].merge(slot.run);
}

void StatisticsSum::Columns::merge(const Columns& other) {
  for (std::size_t at = 0; at < wait.size(); ++at) {
    for (std::size_t i = 0; i < kCountedEvents; ++i) counts[i][at] += other.counts[i][at];
    wait[at].merge(other.wait[at]);
    run[at].merge(other.run[at]);
  }
}

std::uint64_t StatisticsSum::Columns::events() const {
  std::uint64_t sum = 0;
  for (const auto& column : counts) {
    for (const std::uint64_t count : column) sum += count;
  }
  return sum;
}

StatisticsSum::StatisticsSum(const StatsQuery& query)
    : query_(query), family_(family_for(query)), length_(length_for(query.window, query.step)) {
  const Duration length = kSlotLengths[length_].length;
  const std::int64_t slots =
      std::max<std::int64_t>(1, (query.step + length - Duration{1}) / length);
  step_ = slots * length;
  steps_ = static_cast<std::size_t>((query.window + step_ - Duration{1}) / step_);
  end_ = Time{(query.now.time_since_epoch() / step_ + 1) * step_};
  from_ = end_ - static_cast<std::int64_t>(steps_) * step_;
  if (query.by == StatsBy::kAll) groups_.try_emplace("", steps_);
}

std::string StatisticsSum::first_blob() const {
  return chunk_name(family_, length_, from_.time_since_epoch() / kSlotLengths[length_].chunk());
}

std::string StatisticsSum::end_blob() const {
  return chunk_name(family_, length_, end_.time_since_epoch() / kSlotLengths[length_].chunk() + 1);
}

void StatisticsSum::add(std::string_view series, const StatisticsSlot& slot) {
  const Time begin{slot.index * kSlotLengths[length_].length};
  if (begin < from_ || begin >= end_) return;
  std::string_view queue = series, name = series;
  if (family_ >= SeriesFamily::kPair) {
    queue = series.substr(0, series.find('\n'));
    name = series.substr(queue.size() + 1);
  }
  if (query_.visible && family_ != SeriesFamily::kType && !query_.visible(queue)) return;
  if (query_.by == StatsBy::kAll) {
    name = {};
  } else if (!query_.name.empty() && query_.name != name) {
    return;
  }
  groups_.try_emplace(std::string(name), steps_)
      .first->second.add(static_cast<std::size_t>((begin - from_) / step_), slot);
}

bool StatisticsSum::add_blob(const std::string& name, std::string_view blob) {
  if (name < first_blob() || name >= end_blob() || had_.contains(name)) return true;
  had_.insert(name);
  return read_chunk(
      blob, [this](std::string_view series, const StatisticsSlot& slot) { add(series, slot); });
}

// The names of all times and shards may be more than one shard has at a time.
void StatisticsSum::pool() {
  const std::size_t most = family_ >= SeriesFamily::kFairKey ? kMaxTopSeries : kMaxStatisticsSeries;
  const std::size_t named = groups_.size() - (groups_.contains(std::string(kOtherSeries)) ? 1 : 0);
  if (named <= most) return;
  std::vector<std::pair<std::uint64_t, std::string>> order;
  for (const auto& [name, columns] : groups_) {
    if (name != kOtherSeries) order.emplace_back(columns.events(), name);
  }
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  auto& others = groups_.try_emplace(std::string(kOtherSeries), steps_).first->second;
  for (std::size_t i = most; i < order.size(); ++i) {
    const auto found = groups_.find(order[i].second);
    others.merge(found->second);
    groups_.erase(found);
  }
}

StatsReply StatisticsSum::reply() {
  pool();
  StatsReply reply{from_, step_, {}};
  for (auto& [name, columns] : groups_) {
    reply.groups.push_back(
        {name, std::move(columns.counts), percentiles(columns.wait), percentiles(columns.run)});
  }
  return reply;
}

}  // namespace millrace::engine
