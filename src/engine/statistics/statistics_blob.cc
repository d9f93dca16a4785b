#include "engine/statistics/statistics_blob.h"

#include <limits>
#include <utility>

#include "digest/fingerprint.h"

namespace millrace::engine {
namespace {

constexpr std::string_view kMagic = "MRS1";

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

std::string_view as_text(const Fingerprint& fingerprint) {
  return {reinterpret_cast<const char*>(fingerprint.bytes.data()), fingerprint.bytes.size()};
}

// After a fault everything it reads is zero or empty, and ok() says so.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  // At most `limit`.
  std::uint64_t number(std::uint64_t limit) {
    const std::uint64_t value = number();
    if (value <= limit) return value;
    ok_ = false;
    return 0;
  }
  std::string text() {
    const std::uint64_t size = number(rest_.size());
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }
  void histogram(Histogram& into) {
    for (std::uint64_t left = number(Histogram::kBuckets); left > 0 && ok_; --left) {
      const auto bucket = static_cast<Histogram::Bucket>(number(Histogram::kBuckets - 1));
      into.add(bucket, static_cast<std::uint32_t>(number(kMaxCount)));
    }
  }
  void ring(StatisticsRing& into) {
    std::uint64_t index = 0;
    for (auto left = number(static_cast<std::uint64_t>(into.kept)); left > 0 && ok_; --left) {
      index += number(kMaxIndex);
      StatisticsSlot& slot = into.at(static_cast<std::int64_t>(index));
      for (std::uint32_t& count : slot.counts)
        count = static_cast<std::uint32_t>(number(kMaxCount));
      histogram(slot.wait);
      histogram(slot.run);
    }
  }
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

 private:
  static constexpr std::uint64_t kMaxCount = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint64_t kMaxIndex = std::uint64_t{1} << 48;
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

BlobWriter::BlobWriter(Seq through) : through_(through) {}

void BlobWriter::number(std::uint64_t value) { append_varint(body_, value); }

void BlobWriter::text(std::string_view value) {
  number(value.size());
  body_ += value;
}

void BlobWriter::histogram(const Histogram& histogram) {
  number(histogram.entries().size());
  for (const auto& [bucket, count] : histogram.entries()) {
    number(bucket);
    number(count);
  }
}

void BlobWriter::add(std::string_view queue, std::string_view type,
                     const StatisticsSeries& series) {
  ++series_;
  text(queue);
  text(type);
  for (const StatisticsRing& ring : series.rings()) {
    number(ring.slots.size());
    std::int64_t last = 0;
    for (const StatisticsSlot& slot : ring.slots) {
      number(static_cast<std::uint64_t>(slot.index - last));
      last = slot.index;
      for (const std::uint32_t count : slot.counts) number(count);
      histogram(slot.wait);
      histogram(slot.run);
    }
  }
}

std::string BlobWriter::finish() {
  std::string blob(kMagic);
  append_varint(blob, to_number(through_));
  append_varint(blob, series_);
  blob += body_;
  blob += as_text(fingerprint(blob));
  return blob;
}

std::optional<SavedStatistics> read_blob(std::string_view blob) {
  constexpr std::size_t kSumSize = sizeof(Fingerprint::bytes);
  if (blob.size() < kMagic.size() + kSumSize || !blob.starts_with(kMagic)) return std::nullopt;
  const std::string_view content = blob.substr(0, blob.size() - kSumSize);
  if (as_text(fingerprint(content)) != blob.substr(content.size())) return std::nullopt;
  Reader in(content.substr(kMagic.size()));
  SavedStatistics saved;
  saved.through = Seq{in.number()};
  for (std::uint64_t left = in.number(); left > 0 && in.ok(); --left) {
    SavedStatistics::Series& series = saved.series.emplace_back();
    series.queue = in.text();
    series.type = in.text();
    for (StatisticsRing& ring : series.history.rings()) in.ring(ring);
  }
  if (!in.ok() || !in.at_end()) return std::nullopt;
  return saved;
}

}  // namespace millrace::engine
