// The positions of clients that read all shards, which they keep between two pages. A cursor is
// opaque to clients and safe in a URL. It is valid only in its own store and for the same number of
// shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::engine {

// A position in a list of jobs, newest first.
struct JobCursor {
  // Above every order number: all jobs of the shard are still to come.
  static constexpr std::uint64_t kFromNewest = std::numeric_limits<std::int64_t>::max();
  static constexpr std::uint64_t kEnded = 0;

  // For each shard: its jobs with lower order numbers are still to come. Empty: all jobs of all
  // shards.
  std::vector<std::uint64_t> below;

  friend bool operator==(const JobCursor&, const JobCursor&) = default;
};

// A position in a shard's events: the next event is in row `seq`, after the row's first `index`
// events.
struct EventPlace {
  static constexpr std::uint64_t kMaxSeq = std::uint64_t{1} << 53;

  std::uint64_t seq = 1;
  std::uint64_t index = 0;

  friend bool operator==(const EventPlace&, const EventPlace&) = default;
};
using EventPlaces = std::vector<EventPlace>;  // by shard

// Precondition: the cursor is not empty, and not every shard has ended.
std::string encode(const JobCursor& cursor);
std::string encode(const EventPlaces& places);

// None: not a text that encode() produces for this number of shards.
std::optional<JobCursor> decode_job_cursor(std::string_view text, std::size_t shards);
std::optional<EventPlaces> decode_event_places(std::string_view text, std::size_t shards);

}  // namespace millrace::engine
