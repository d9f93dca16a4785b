#include "calendar/tzif.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace millrace::calendar {
namespace {

// RFC 9636, 3.2: utoff is above -25 hours and below 26.
constexpr std::int32_t kMinUtoff = -25 * 3600 + 1;
constexpr std::int32_t kMaxUtoff = 26 * 3600 - 1;

struct Header {
  char version = 0;
  std::size_t isutcnt = 0;
  std::size_t isstdcnt = 0;
  std::size_t leapcnt = 0;
  std::size_t timecnt = 0;
  std::size_t typecnt = 0;
  std::size_t charcnt = 0;

  // The size of the following block, whose times have `time_size` bytes. Counts have 32 bits: no
  // overflow.
  std::size_t block_size(std::size_t time_size) const {
    return timecnt * (time_size + 1) + typecnt * 6 + charcnt + leapcnt * (time_size + 4) +
           isstdcnt + isutcnt;
  }
};

constexpr std::size_t kHeaderSize = 44;

// Big-endian, two's complement.
std::int64_t read_integer(std::string_view bytes) {
  std::uint64_t value = bytes[0] < 0 ? ~std::uint64_t{0} : 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(value);
}

bool read_header(std::string_view bytes, Header& header) {
  if (bytes.size() < kHeaderSize || !bytes.starts_with("TZif")) return false;
  header.version = bytes[4];
  if (header.version != 0 && (header.version < '2' || header.version > '4')) return false;
  std::size_t* const counts[] = {&header.isutcnt, &header.isstdcnt, &header.leapcnt,
                                 &header.timecnt, &header.typecnt,  &header.charcnt};
  std::size_t at = 20;
  for (std::size_t* const count : counts) {
    *count = static_cast<std::uint32_t>(read_integer(bytes.substr(at, 4)));
    at += 4;
  }
  const auto some_or_none = [&](std::size_t count) {
    return count == 0 || count == header.typecnt;
  };
  return header.typecnt > 0 && header.typecnt <= 256 && header.charcnt > 0 &&
         some_or_none(header.isutcnt) && some_or_none(header.isstdcnt);
}

struct Block {
  std::int32_t first_offset = 0;
  std::vector<Zone::Transition> transitions;
};

Result<Block> read_block(std::string_view bytes, const Header& header, std::size_t time_size) {
  const std::string_view times = bytes.substr(0, header.timecnt * time_size);
  const std::string_view types = bytes.substr(times.size(), header.timecnt);
  const std::string_view records = bytes.substr(times.size() + types.size(), header.typecnt * 6);

  std::vector<std::int32_t> offsets;
  for (std::size_t i = 0; i < header.typecnt; ++i) {
    const std::int64_t offset = read_integer(records.substr(i * 6, 4));
    if (offset < kMinUtoff || offset > kMaxUtoff) {
      return failure(fmt::format("its offset of {} seconds is out of range", offset));
    }
    offsets.push_back(static_cast<std::int32_t>(offset));
  }
  Block block;
  block.first_offset = offsets[0];
  for (std::size_t i = 0; i < header.timecnt; ++i) {
    const std::int64_t at = read_integer(times.substr(i * time_size, time_size));
    const auto type = static_cast<unsigned char>(types[i]);
    if (type >= offsets.size()) return failure("it names a local time type that it does not have");
    if (i > 0 && at <= block.transitions.back().at) {
      return failure("its transitions are not in ascending order");
    }
    block.transitions.push_back({at, offsets[type]});
  }
  return block;
}

// "\n<rule>\n"; an empty rule means none.
Result<std::optional<PosixRule>> read_footer(std::string_view bytes) {
  const std::size_t end = bytes.find('\n', 1);
  if (!bytes.starts_with('\n') || end == std::string_view::npos) {
    return failure("it has no footer");
  }
  const std::string_view text = bytes.substr(1, end - 1);
  if (text.empty()) return std::nullopt;
  auto rule = parse_posix_rule(text);
  if (!rule) return std::unexpected(rule.error());
  return *rule;
}

std::uint64_t fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace

Result<Zone> read_tzif(std::string_view bytes) {
  if (bytes.size() > kMaxTzifBytes) return failure("it is too large for a time zone file");
  std::string_view rest = bytes;
  Header header;
  std::size_t time_size = 4;
  if (!read_header(rest, header)) return failure("it is not a TZif file of version 1 to 4");
  rest.remove_prefix(kHeaderSize);
  if (header.version != 0) {
    const std::size_t skipped = header.block_size(time_size);
    const char version = header.version;
    if (rest.size() < skipped) return failure("it is truncated");
    rest.remove_prefix(skipped);
    if (!read_header(rest, header) || header.version != version) {
      return failure("its second header is damaged");
    }
    rest.remove_prefix(kHeaderSize);
    time_size = 8;
  }
  if (rest.size() < header.block_size(time_size)) return failure("it is truncated");
  if (header.leapcnt > 0) return failure("it counts leap seconds, so its clock is not UTC");
  auto block = read_block(rest, header, time_size);
  if (!block) return std::unexpected(block.error());
  rest.remove_prefix(header.block_size(time_size));

  std::optional<PosixRule> rule;
  if (header.version != 0) {
    auto footer = read_footer(rest);
    if (!footer) return std::unexpected(footer.error());
    rule = *footer;
  }
  // RFC 9636, 3.3: the rule agrees with the last transition.
  if (rule && !block->transitions.empty()) {
    const Zone::Transition& last = block->transitions.back();
    const bool handled = last.at >= kMinSecond && last.at <= kMaxSecond;
    if (handled && Zone(0, {}, rule).span_at(last.at).offset != last.offset) {
      return failure("its rule contradicts its last transition");
    }
  }
  Zone zone(block->first_offset, std::move(block->transitions), rule);
  zone.set_digest(fnv1a(bytes));
  return zone;
}

}  // namespace millrace::calendar
