#include "engine/event_feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "store/event_codec.h"

namespace millrace::engine {
namespace {

// What one call may read: a filter that matches nothing must not hold a thread for long.
constexpr std::size_t kMaxRowsRead = 5'000;
constexpr std::size_t kMaxBytesRead = 32 * 1024 * 1024;

// The next fact to read: of row `seq`, after its first `index` ones.
struct Position {
  std::uint64_t seq = 0;
  std::uint64_t index = 0;
};

std::string to_text(const Position& position) {
  return fmt::format("{}-{}", position.seq, position.index);
}

std::optional<Position> parse_position(std::string_view text) {
  Position position;
  const char* const end = text.data() + text.size();
  const auto [dash, seq_fault] = std::from_chars(text.data(), end, position.seq);
  if (seq_fault != std::errc{} || dash == end || *dash != '-') return std::nullopt;
  const auto [rest, index_fault] = std::from_chars(dash + 1, end, position.index);
  if (index_fault != std::errc{} || rest != end || position.seq == 0) return std::nullopt;
  if (to_text(position) != text) return std::nullopt;
  return position;
}

bool wanted(const FeedEvent& fact, const FeedQuery& query) {
  const auto names = [](const std::vector<std::string>& list, std::string_view name) {
    return list.empty() || std::ranges::find(list, name) != list.end();
  };
  return names(query.types, fact.type) && names(query.queues, fact.queue.view()) &&
         (!query.visible || query.visible(fact.queue.view()));
}

FeedPage faulty(FeedFault fault, std::string message) {
  FeedPage page;
  page.fault = fault;
  page.message = std::move(message);
  return page;
}

// Takes rows up to the page's limits.
class PageReader {
 public:
  PageReader(const FeedQuery& query, Position position, Seq durable)
      : query_(query), position_(position), durable_(durable) {}

  // False: no more rows.
  bool take(const store::JournalRow& row) {
    if (row.seq > durable_ || page_.events.size() >= query_.limit || rows_ >= kMaxRowsRead ||
        bytes_ >= kMaxBytesRead) {
      return false;
    }
    ++rows_;
    bytes_ += row.body.size();
    Result<core::EventBatch> batch = store::decode_events(row.body);
    if (!batch) {
      page_.fault = FeedFault::kStorage;
      page_.message = fmt::format("row {}: {}", to_number(row.seq), batch.error().message);
      return false;
    }
    take_facts(flatten(*batch), to_number(row.seq));
    return true;
  }

  FeedPage finish() {
    page_.next = to_text(position_);
    page_.at_end = position_.seq > to_number(durable_);
    page_.reached = Seq{position_.seq - 1};
    return std::move(page_);
  }

 private:
  void take_facts(std::vector<FeedEvent> facts, std::uint64_t seq) {
    // A position in the row, or at its beginning.
    std::uint64_t index = position_.seq == seq ? position_.index : 0;
    for (; index < facts.size(); ++index) {
      if (page_.events.size() >= query_.limit) {
        position_ = {seq, index};
        return;
      }
      if (!wanted(facts[index], query_)) continue;
      facts[index].position = to_text({seq, index + 1});
      page_.events.push_back(std::move(facts[index]));
    }
    position_ = {seq + 1, 0};
  }

  const FeedQuery& query_;
  Position position_;
  const Seq durable_;
  std::size_t rows_ = 0;
  std::size_t bytes_ = 0;
  FeedPage page_;
};

}  // namespace

void EventFeed::durable(Seq seq, const core::EventBatch&) {
  durable_.store(to_number(seq), std::memory_order_release);
}

FeedPage EventFeed::read(const FeedQuery& query) const {
  const Seq durable{durable_.load(std::memory_order_acquire)};
  const Result<store::Journal::Extent> extent = journal_.extent();
  if (!extent) return faulty(FeedFault::kStorage, extent.error().message);
  const std::uint64_t oldest = std::max<std::uint64_t>(1, to_number(extent->oldest));

  Position position{oldest, 0};
  if (!query.after.empty()) {
    const std::optional<Position> asked = parse_position(query.after);
    if (!asked || asked->seq > to_number(durable) + 1) {
      return faulty(FeedFault::kBadPosition, "not a position of this log");
    }
    if (asked->seq < oldest) return faulty(FeedFault::kGone, "older than the events that are kept");
    position = *asked;
  }
  PageReader reader(query, position, durable);
  if (position.seq <= to_number(durable)) {
    const Status read = journal_.read(
        Seq{position.seq}, [&](const store::JournalRow& row) { return reader.take(row); });
    if (!read) {
      // Trimmed since the look above, or unreadable.
      const Result<store::Journal::Extent> now = journal_.extent();
      const bool gone = now && to_number(now->oldest) > position.seq;
      return gone ? faulty(FeedFault::kGone, "older than the events that are kept")
                  : faulty(FeedFault::kStorage, read.error().message);
    }
  }
  return reader.finish();
}

}  // namespace millrace::engine
