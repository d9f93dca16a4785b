// Statistics as bytes. The format is "MRS1", then numbers as base-128 varints and texts preceded by
// their length: through, series. A series is queue, type and, for each ring, its slots as
// differences of their index, counts and histogram entries. A checksum ends the blob.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "engine/statistics/statistics_series.h"

namespace millrace::engine {

class BlobWriter {
 public:
  explicit BlobWriter(Seq through);
  void add(std::string_view queue, std::string_view type, const StatisticsSeries& series);
  std::string finish();

 private:
  void number(std::uint64_t value);
  void text(std::string_view value);
  void histogram(const Histogram& histogram);

  std::string body_;
  std::uint64_t series_ = 0;
  Seq through_;
};

struct SavedStatistics {
  struct Series {
    std::string queue;
    std::string type;
    StatisticsSeries history;
  };
  Seq through{};
  std::vector<Series> series;
};

// None: not such a blob, or a damaged one.
std::optional<SavedStatistics> read_blob(std::string_view blob);

}  // namespace millrace::engine
