#include "engine/shard/cursors.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace millrace::engine {
namespace {

constexpr char kBetweenShards = '.';
constexpr int kOrdBase = 36;

// The shards' parts of a text; none: their number is wrong.
std::optional<std::vector<std::string_view>> split(std::string_view text, std::size_t shards) {
  std::vector<std::string_view> parts;
  while (parts.size() < shards) {
    const std::size_t end = std::min(text.find(kBetweenShards), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) {
      if (parts.size() == shards) return parts;
      return std::nullopt;
    }
    text.remove_prefix(end + 1);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse_number(std::string_view text, int base, std::uint64_t most) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number, base);
  if (parsed.ec != std::errc{} || parsed.ptr != end || number > most) return std::nullopt;
  return number;
}

}  // namespace

// Order numbers in base 36; nothing for a shard that has ended: "5k2..1z".
std::string encode(const JobCursor& cursor) {
  std::string text;
  for (std::size_t shard = 0; shard < cursor.below.size(); ++shard) {
    if (shard > 0) text += kBetweenShards;
    const std::uint64_t below = cursor.below[shard];
    if (below == JobCursor::kEnded) continue;
    char digits[16];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, below, kOrdBase).ptr);
  }
  return text;
}

std::optional<JobCursor> decode_job_cursor(std::string_view text, std::size_t shards) {
  const auto parts = split(text, shards);
  if (!parts) return std::nullopt;
  JobCursor cursor;
  for (const std::string_view part : *parts) {
    const auto below =
        part.empty() ? JobCursor::kEnded : parse_number(part, kOrdBase, JobCursor::kFromNewest);
    if (!below) return std::nullopt;
    cursor.below.push_back(*below);
  }
  const bool ended = std::ranges::all_of(
      cursor.below, [](std::uint64_t below) { return below == JobCursor::kEnded; });
  if (ended || encode(cursor) != text) return std::nullopt;
  return cursor;
}

// "128-0.97-3".
std::string encode(const EventPlaces& places) {
  std::string text;
  for (const EventPlace& place : places) {
    if (!text.empty()) text += kBetweenShards;
    fmt::format_to(std::back_inserter(text), "{}-{}", place.seq, place.index);
  }
  return text;
}

std::optional<EventPlaces> decode_event_places(std::string_view text, std::size_t shards) {
  const auto parts = split(text, shards);
  if (!parts) return std::nullopt;
  EventPlaces places;
  for (const std::string_view part : *parts) {
    const std::size_t dash = std::min(part.find('-'), part.size());
    const auto seq = parse_number(part.substr(0, dash), 10, EventPlace::kMaxSeq);
    const auto index = parse_number(part.substr(std::min(dash + 1, part.size())), 10,
                                    std::numeric_limits<std::uint64_t>::max());
    if (!seq || *seq == 0 || !index) return std::nullopt;
    places.push_back({*seq, *index});
  }
  if (encode(places) != text) return std::nullopt;
  return places;
}

}  // namespace millrace::engine
