// A chunk of a family's series as bytes, with a checksum at the end that covers all of it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "engine/statistics/statistics_series.h"

namespace millrace::engine {

class ChunkWriter {
 public:
  void add(std::string_view name, const std::vector<StatisticsSlot>& slots, bool with_times);
  std::size_t size() const { return body_.size(); }
  std::string finish();

 private:
  std::string body_;
  std::uint64_t series_ = 0;
};

// Calls `visit` with each slot, series by series, in order of slots. False: the blob is not a
// chunk, or is damaged; then nothing was visited.
using VisitSlot = std::function<void(std::string_view name, StatisticsSlot slot)>;
bool read_chunk(std::string_view blob, const VisitSlot& visit);

}  // namespace millrace::engine
