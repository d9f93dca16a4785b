#include "engine/statistics/statistics_blob.h"

#include <limits>

#include "engine/models/model_bytes.h"

namespace millrace::engine {
namespace {

constexpr std::string_view kSeriesMagic = "millrace series 2\n";
constexpr std::uint64_t kMaxCount = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMaxSlots = 4'096;

void write_histogram(std::string& out, const Histogram& histogram, bool whole) {
  append_number(out, whole ? histogram.entries().size() : 0);
  if (!whole) return;
  for (const auto& [bucket, count] : histogram.entries()) {
    append_number(out, bucket);
    append_number(out, count);
  }
}

void read_histogram(ModelReader& in, Histogram& into) {
  for (std::uint64_t left = in.number(Histogram::kBuckets); left > 0 && in.ok(); --left) {
    const auto bucket = static_cast<Histogram::Bucket>(in.number(Histogram::kBuckets - 1));
    into.add(bucket, static_cast<std::uint32_t>(in.number(kMaxCount)));
  }
}

}  // namespace

void ChunkWriter::add(std::string_view name, const std::vector<StatisticsSlot>& slots,
                      bool with_times) {
  if (slots.empty()) return;
  ++series_;
  append_text(body_, name);
  append_number(body_, slots.size());
  std::int64_t last = 0;
  for (const StatisticsSlot& slot : slots) {
    append_number(body_, static_cast<std::uint64_t>(slot.index - last));
    last = slot.index;
    for (const std::uint64_t count : slot.counts) append_number(body_, count);
    write_histogram(body_, slot.wait, with_times);
    write_histogram(body_, slot.run, with_times);
  }
}

std::string ChunkWriter::finish() {
  std::string blob(kSeriesMagic);
  append_number(blob, series_);
  blob += body_;
  return sealed(std::move(blob));
}

bool read_chunk(std::string_view blob, const VisitSlot& visit) {
  const auto content = unsealed(blob, kSeriesMagic);
  if (!content) return false;
  ModelReader in(*content);
  for (std::uint64_t series = in.number(); series > 0 && in.ok(); --series) {
    const std::string name = in.text();
    std::int64_t index = 0;
    for (std::uint64_t slots = in.number(kMaxSlots); slots > 0 && in.ok(); --slots) {
      StatisticsSlot slot;
      index += static_cast<std::int64_t>(in.number(std::uint64_t{1} << 48));
      slot.index = index;
      for (std::uint64_t& count : slot.counts) count = in.number();
      read_histogram(in, slot.wait);
      read_histogram(in, slot.run);
      if (in.ok()) visit(name, std::move(slot));
    }
  }
  return in.ok() && in.at_end();
}

}  // namespace millrace::engine
