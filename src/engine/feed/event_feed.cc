#include "engine/feed/event_feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/feed/fact_matcher.h"
#include "engine/feed/recent_facts.h"
#include "engine/shard/cursors.h"

namespace millrace::engine {
namespace {

// The most rows that one call reads: a filter that matches nothing must not occupy a thread for
// long.
constexpr std::size_t kMaxRowsRead = 5'000;
constexpr std::size_t kMaxBytesRead = 32 * 1024 * 1024;

// For a shard that is led elsewhere.
constexpr std::uint64_t kWhateverCanBeRead = std::numeric_limits<std::uint64_t>::max();

// The approximate size of an event in an answer: its texts plus a few names and numbers.
std::size_t shown_bytes(const FeedEvent& event) {
  constexpr std::size_t kNames = 640;
  return kNames + text_bytes(event);
}

struct Fault {
  FeedFault kind{};
  std::string message;
};

FeedPage faulty(Fault fault) {
  FeedPage page;
  page.fault = fault.kind;
  page.message = std::move(fault.message);
  return page;
}

Fault gone() {
  return {FeedFault::kGone, "the position is older than the oldest event in the log"};
}
Fault no_position() {
  return {FeedFault::kBadPosition, "the position does not belong to this log"};
}

// How much more may be read.
struct Allowance {
  std::size_t rows = kMaxRowsRead;
  std::size_t bytes = kMaxBytesRead;
  bool any() const { return rows > 0 && bytes > 0; }
};

void spend(std::size_t bytes, Allowance& from) {
  --from.rows;
  from.bytes -= std::min(from.bytes, bytes);
}

Fault unreadable(ShardNumber shard, const store::JournalRow& row, const Error& why) {
  return {FeedFault::kStorage,
          fmt::format("shard {}, row {}: {}", shard, to_number(row.seq), why.message)};
}

// One shard's facts for a page.
class FactStream {
 public:
  // `last`: the last row to read.
  FactStream(ShardNumber shard, store::Journal& journal, std::uint64_t last, RecentFacts& recent)
      : shard_(shard), journal_(journal), last_(last), recent_(recent) {}

  // Starts after everything that can be read now.
  std::optional<Fault> start_at_end() {
    std::uint64_t newest = last_;
    if (newest == kWhateverCanBeRead) {
      const Result<store::Journal::Extent> extent = journal_.extent();
      if (!extent) return Fault{FeedFault::kStorage, extent.error().message};
      newest = to_number(extent->newest);
    }
    read_to_ = {newest + 1, 0};
    return std::nullopt;
  }

  std::optional<Fault> start(const EventPlaces& asked) {
    if (!asked.empty()) {
      read_to_ = asked[shard_];
      // Another node may have shown it; this node's leader of the shard will reach it in a moment.
      if (last_ != kWhateverCanBeRead && read_to_.seq > last_ + 1) return explain({});
      return std::nullopt;
    }
    const Result<store::Journal::Extent> extent = journal_.extent();
    if (!extent) return Fault{FeedFault::kStorage, extent.error().message};
    read_to_ = {std::max<std::uint64_t>(1, to_number(extent->oldest)), 0};
    return std::nullopt;
  }

  bool has_facts() const { return next_ < facts_.size(); }
  const FeedEvent& head() const { return facts_[next_].event; }
  FeedEvent take() { return std::move(facts_[next_++].event); }
  // No facts are left, and the journal may have more.
  bool must_read() const { return !has_facts() && !at_end_ && read_to_.seq <= last_; }
  // Where the next page continues.
  EventPlace place() const { return has_facts() ? facts_[next_].place : read_to_; }
  Time read_until() const { return read_until_; }  // no unread fact is older

  // Reads on until `facts` are found, within `allowance`, which `streams` streams share.
  std::optional<Fault> read(const FeedQuery& query, std::size_t facts, std::size_t streams,
                            Allowance& allowance) {
    facts_.clear();
    next_ = 0;
    Allowance share{std::max<std::size_t>(1, kMaxRowsRead / streams),
                    std::max<std::size_t>(1, kMaxBytesRead / streams)};
    at_end_ = true;  // unless a row is left for later
    const auto enough = [&] {
      return query.gone.stop_requested() || facts_.size() >= facts || !share.any() ||
             !allowance.any();
    };
    const auto pay = [&](std::size_t bytes) {
      spend(bytes, share);
      spend(bytes, allowance);
    };
    std::optional<Fault> fault = read_recent(query, facts, enough, pay);
    if (fault || !at_end_ || read_to_.seq > last_) return fault;
    const Status read = journal_.read(Seq{read_to_.seq}, [&](const store::JournalRow& row) {
      if (to_number(row.seq) > last_) return false;
      if (enough()) {
        at_end_ = false;
        return false;
      }
      pay(row.body.size());
      const Result<RowFacts> of_row = recent_.of(row, shard_);
      if (!of_row) {
        fault = unreadable(shard_, row, of_row.error());
        return false;
      }
      read_until_ = (*of_row)->at;
      take_facts((*of_row)->facts, to_number(row.seq), query, facts);
      return true;
    });
    if (!read) return explain(read.error());
    return fault;
  }

 private:
  struct Fact {
    FeedEvent event;
    EventPlace place;
  };

  // Reads from memory, as far as possible. A large row makes many pages, and is read from the
  // journal once.
  template <typename Enough, typename Pay>
  std::optional<Fault> read_recent(const FeedQuery& query, std::size_t facts, const Enough& enough,
                                   const Pay& pay) {
    if (last_ == kWhateverCanBeRead) return std::nullopt;
    RowFacts row = recent_.find(shard_, Seq{read_to_.seq});
    if (row == nullptr) return std::nullopt;
    const Result<store::Journal::Extent> extent = journal_.extent();
    if (!extent) return Fault{FeedFault::kStorage, extent.error().message};
    if (to_number(extent->oldest) > read_to_.seq) return gone();
    while (row != nullptr && read_to_.seq <= last_) {
      if (enough()) {
        at_end_ = false;
        return std::nullopt;
      }
      pay(row->body);
      read_until_ = row->at;
      take_facts(row->facts, read_to_.seq, query, facts);
      if (at_end_) row = recent_.find(shard_, Seq{read_to_.seq});
    }
    return std::nullopt;
  }

  void take_facts(const std::vector<FeedEvent>& facts, std::uint64_t seq, const FeedQuery& query,
                  std::size_t most) {
    // The position within the row, or its start.
    std::uint64_t index = read_to_.seq == seq ? read_to_.index : 0;
    for (; index < facts.size(); ++index) {
      if (facts_.size() >= most) {
        read_to_ = {seq, index};
        at_end_ = false;
        return;
      }
      if (wanted(facts[index], query)) facts_.push_back({facts[index], {seq, index}});
    }
    read_to_ = {seq + 1, 0};
  }

  // Why reading cannot continue from its place: trimmed meanwhile, never existed, or unreadable.
  // None: there is just nothing yet.
  std::optional<Fault> explain(std::optional<Error> failed) const {
    const Result<store::Journal::Extent> extent = journal_.extent();
    if (extent && to_number(extent->oldest) > read_to_.seq) return gone();
    if (extent && to_number(extent->newest) + 1 < read_to_.seq) return no_position();
    if (!extent && !failed) failed = extent.error();
    if (!failed) return std::nullopt;
    return Fault{FeedFault::kStorage, std::move(failed->message)};
  }

  const ShardNumber shard_;
  store::Journal& journal_;
  const std::uint64_t last_;
  RecentFacts& recent_;
  EventPlace read_to_;
  Time read_until_ = Time::min();
  bool at_end_ = false;
  std::vector<Fact> facts_;
  std::size_t next_ = 0;
};

// The facts of all shards, oldest first.
class PageReader {
 public:
  PageReader(const FeedQuery& query, std::vector<FactStream> streams)
      : query_(query), streams_(std::move(streams)) {}

  std::optional<Fault> run() {
    while (page_.events.size() < query_.limit && !query_.gone.stop_requested()) {
      FactStream* const behind = first_to_read();
      FactStream* const oldest = first_to_tell();
      // A fact is returned only when this stream is known to have no older one.
      if (behind != nullptr && (oldest == nullptr || behind->read_until() < oldest->head().at)) {
        if (!allowance_.any()) break;
        const std::size_t left = query_.limit - page_.events.size();
        const std::size_t share = (query_.limit + streams_.size() - 1) / streams_.size();
        auto fault = behind->read(query_, std::min(share, left), streams_.size(), allowance_);
        if (fault) return fault;
        continue;
      }
      if (oldest == nullptr) break;
      const std::size_t bytes = shown_bytes(oldest->head());
      if (bytes > bytes_left_ && !page_.events.empty()) break;
      bytes_left_ -= std::min(bytes, bytes_left_);
      page_.events.push_back(oldest->take());
      page_.events.back().position = position();
    }
    return std::nullopt;
  }

  FeedPage finish() {
    page_.next = position();
    page_.at_end = true;
    for (const FactStream& stream : streams_) {
      page_.at_end = page_.at_end && !stream.has_facts() && !stream.must_read();
      page_.places.push_back(stream.place());
      page_.reached.push_back(Seq{stream.place().seq - 1});
    }
    return std::move(page_);
  }

 private:
  FactStream* first_to_read() {
    FactStream* first = nullptr;
    for (FactStream& stream : streams_) {
      const bool before = first == nullptr || stream.read_until() < first->read_until();
      if (stream.must_read() && before) first = &stream;
    }
    return first;
  }
  FactStream* first_to_tell() {
    FactStream* first = nullptr;
    for (FactStream& stream : streams_) {
      if (!stream.has_facts()) continue;
      if (first == nullptr || stream.head().at < first->head().at) first = &stream;
    }
    return first;
  }
  std::string position() const {
    EventPlaces places;
    for (const FactStream& stream : streams_) places.push_back(stream.place());
    return encode(places);
  }

  const FeedQuery& query_;
  std::vector<FactStream> streams_;
  std::size_t bytes_left_ = query_.bytes;
  Allowance allowance_;
  FeedPage page_;
};

}  // namespace

EventFeed::EventFeed(const std::vector<store::Journal*>& journals, TypeOfChange type_of_change)
    : recent_(std::make_unique<RecentFacts>(type_of_change)) {
  for (store::Journal* const journal : journals) {
    shards_.push_back(std::make_unique<Shard>(*journal));
    not_led(static_cast<ShardNumber>(shards_.size() - 1));
  }
}

EventFeed::EventFeed(store::Journal& journal, Seq durable) : EventFeed(std::vector{&journal}) {
  led(0, durable);
}

EventFeed::~EventFeed() = default;

void EventFeed::led(ShardNumber shard, Seq durable) {
  recent_->forget(shard);
  shards_[shard]->last.store(to_number(durable), std::memory_order_release);
}

void EventFeed::not_led(ShardNumber shard) {
  recent_->forget(shard);
  shards_[shard]->last.store(kWhateverCanBeRead, std::memory_order_release);
}

void EventFeed::Shard::durable(Seq seq, const core::EventBatch&) {
  last.store(to_number(seq), std::memory_order_release);
}

FeedPage EventFeed::read(const FeedQuery& query) const {
  EventPlaces asked;
  const bool at_end = query.after == kEndOfFeed;
  if (!query.after.empty() && !at_end) {
    auto decoded = decode_event_places(query.after, shards_.size());
    if (!decoded) return faulty(no_position());
    asked = std::move(*decoded);
  }
  std::vector<FactStream> streams;
  for (ShardNumber shard = 0; shard < shards_.size(); ++shard) {
    Shard& of_shard = *shards_[shard];
    streams.emplace_back(shard, of_shard.journal, of_shard.last.load(std::memory_order_acquire),
                         *recent_);
    FactStream& stream = streams.back();
    auto fault = at_end ? stream.start_at_end() : stream.start(asked);
    if (fault) return faulty(std::move(*fault));
  }
  PageReader reader(query, std::move(streams));
  if (auto fault = reader.run()) return faulty(std::move(*fault));
  return reader.finish();
}

FeedScan EventFeed::scan(const EventPlaces& from, FactMatcher& matcher,
                         const std::stop_token& gone) const {
  FeedScan scan;
  scan.places = from;
  for (ShardNumber number = 0; number < shards_.size(); ++number) {
    Shard& shard = *shards_[number];
    EventPlace& place = scan.places[number];
    const std::uint64_t last = shard.last.load(std::memory_order_acquire);
    if (place.seq > last) continue;
    Allowance share{std::max<std::size_t>(1, kMaxRowsRead / shards_.size()),
                    std::max<std::size_t>(1, kMaxBytesRead / shards_.size())};
    std::optional<Fault> fault;
    const auto look_at = [&](const FactsOfRow& row) {
      for (std::uint64_t i = place.index; i < row.facts.size(); ++i) matcher.look_at(row.facts[i]);
      place = {place.seq + 1, 0};
    };
    while (last != kWhateverCanBeRead && place.seq <= last) {
      const RowFacts row = recent_->find(number, Seq{place.seq});
      if (row == nullptr) break;
      look_at(*row);
    }
    if (place.seq > last) continue;
    const Status read = shard.journal.read(Seq{place.seq}, [&](const store::JournalRow& row) {
      const std::uint64_t seq = to_number(row.seq);
      if (seq > last || gone.stop_requested() || !share.any()) return false;
      spend(row.body.size(), share);
      if (place.seq != seq) place = {seq, 0};
      const Result<RowFacts> of_row = recent_->of(row, number);
      if (!of_row) {
        fault = unreadable(number, row, of_row.error());
        return false;
      }
      look_at(**of_row);
      return true;
    });
    if (!read) fault = {FeedFault::kStorage, read.error().message};
    if (fault) {
      scan.fault = fault->kind;
      scan.message = std::move(fault->message);
      break;
    }
  }
  scan.news = matcher.take();
  return scan;
}

}  // namespace millrace::engine
