// Where those who read all shards stand, as clients keep it between two pages: opaque to them, and
// safe in a URL. A cursor is one of this store only; of another number of shards it is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::engine {

// In a list of jobs, newest first.
struct JobCursor {
  // No order number is above it: all jobs of the shard are still to come.
  static constexpr std::uint64_t kFromNewest = std::numeric_limits<std::int64_t>::max();
  static constexpr std::uint64_t kEnded = 0;

  // Of each shard: its jobs of lower order numbers are still to come. Empty: all jobs of all
  // shards.
  std::vector<std::uint64_t> below;

  friend bool operator==(const JobCursor&, const JobCursor&) = default;
};

// In a shard's events: the next one is row `seq`'s, after its first `index` ones.
struct EventPlace {
  static constexpr std::uint64_t kMaxSeq = std::uint64_t{1} << 53;

  std::uint64_t seq = 1;
  std::uint64_t index = 0;

  friend bool operator==(const EventPlace&, const EventPlace&) = default;
};
using EventPlaces = std::vector<EventPlace>;  // by shard

// Precondition: it is not empty, and not every shard has ended.
std::string encode(const JobCursor& cursor);
std::string encode(const EventPlaces& places);

// None: not a text that encode() gives for so many shards.
std::optional<JobCursor> decode_job_cursor(std::string_view text, std::size_t shards);
std::optional<EventPlaces> decode_event_places(std::string_view text, std::size_t shards);

}  // namespace millrace::engine
