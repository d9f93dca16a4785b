// The answer to a query, summed over the series of one or several shards.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/statistics/statistics.h"
#include "engine/statistics/statistics_series.h"

namespace millrace::engine {

class StatisticsSum {
 public:
  explicit StatisticsSum(const StatsQuery& query);  // must outlive the sum

  SeriesFamily family() const { return family_; }
  std::size_t length() const { return length_; }  // of the slots that it sums: see kSlotLengths
  // The blobs that it may need have names in [first, end).
  std::string first_blob() const;
  std::string end_blob() const;

  // --- For each shard in turn: begin(), then the chunks in memory, then the tables' blobs.
  void begin() { had_.clear(); }
  void add(std::string_view name, const StatisticsSlot& slot);
  // The blob of this name has been added; a later add_blob() of it does nothing.
  void has(std::string name) { had_.insert(std::move(name)); }
  // Accepts any chunk. False: damaged.
  bool add_blob(const std::string& name, std::string_view blob);

  StatsReply reply();

 private:
  struct Columns {
    std::array<std::vector<std::uint64_t>, kCountedEvents> counts;
    std::vector<Histogram> wait;
    std::vector<Histogram> run;

    explicit Columns(std::size_t size);
    void add(std::size_t at, const StatisticsSlot& slot);
    void merge(const Columns& other);
    std::uint64_t events() const;
  };
  void pool();

  const StatsQuery& query_;
  SeriesFamily family_{};
  std::size_t length_ = 0;
  Duration step_{};
  std::size_t steps_ = 0;
  Time from_{};
  Time end_{};
  std::set<std::string> had_;
  std::map<std::string, Columns> groups_;
};

}  // namespace millrace::engine
