// The event log for external readers: the rows of all shards' journals from a position on, with
// each core event split into one fact per job. Facts are ordered within a shard; shards are merged
// by time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/event.h"
#include "core/reply.h"
#include "engine/observer.h"
#include "engine/routing/scatter_gather.h"
#include "engine/shard/cursors.h"
#include "store/journal.h"
#include "terms/event.h"
#include "terms/event_facts.h"

namespace millrace::engine {

// One fact.
struct FeedEvent {
  std::string position;  // opaque and URL-safe; a read after it begins with the next event
  Time at{};
  terms::EventType type{};
  SharedBytes queue;
  std::optional<JobId> job;  // none: a queue's event; then job_type and attempt are empty too
  SharedBytes job_type;
  std::optional<std::uint32_t> attempt;
  SharedBytes worker;  // empty: none
  terms::EventFacts facts;
};
// Of the texts in its facts, besides names.
std::size_t text_bytes(const FeedEvent& event);

// A value of FeedQuery::after: only future events. No position has this form.
inline constexpr std::string_view kEndOfFeed = "end";

// Selects the facts that a reader receives.
struct FeedFilter {
  std::vector<terms::EventType> types;  // empty: all
  std::vector<std::string> queues;      // empty: all
  std::optional<JobId> job;             // none: all
  // Which queues the reader may see; null: all.
  std::function<bool(std::string_view queue)> visible;
};

struct FeedQuery : FeedFilter {
  std::string after;  // empty: from the oldest event kept; or kEndOfFeed
  std::uint32_t limit = 50;
  std::size_t bytes = std::size_t{16} << 20;  // of the page, which has at least one event
  std::stop_token gone;                       // stop requested: the reader no longer waits
};

enum class FeedFault : std::uint8_t {
  kNone,
  kBadPosition,  // not a position that this feed has made
  kGone,         // older than the oldest row kept
  kStorage,      // could not be read; see `message`
};

struct FeedPage {
  FeedFault fault = FeedFault::kNone;
  std::string message;
  std::vector<FeedEvent> events;  // oldest first
  std::string next;               // the position after the page, even if it is empty; never empty
  // By shard: every row up to this one has been read. When the page is at the end, AwaitEvents
  // waits for rows after these.
  std::vector<Seq> reached;
  EventPlaces places;  // `next`, by shard
  bool at_end = false;
};

// The result of a scan for many readers at one position.
struct FeedScan {
  FeedFault fault = FeedFault::kNone;
  std::string message;
  std::vector<std::size_t> news;  // the numbers of the filters that matched
  EventPlaces places;             // the end of the scanned rows; there may be more
};

// The type of the event for a change of an error group, from the document that the catalog keeps of
// the group. None: readers of events are not told of this change. The engine knows no documents.
using TypeOfChange = std::optional<terms::EventType> (*)(std::string_view document);

class FactMatcher;
class RecentFacts;

// Thread-safe. Shows durable rows only. For a shard that this node leads, these are the rows that
// its observer has reported. For another node's shard, they are the readable rows, which are those
// that its leader has committed. (PostgreSQL shows a row after its commit has waited for the
// synchronous standby. If that wait was cut off, or the server crashed during it, a row may be
// visible that only the primary has. If that primary is then lost, the row is lost too, and another
// event may take a position that was already shown.)
class EventFeed {
 public:
  // By shard. The journals must outlive this object. No shard is led yet. `type_of_change`: null:
  // no change of an error group is reported.
  explicit EventFeed(const std::vector<store::Journal*>& journals,
                     TypeOfChange type_of_change = nullptr);
  // For one shard, which this node leads.
  EventFeed(store::Journal& journal, Seq durable);
  ~EventFeed();

  // This node leads the shard from now on. Its rows are durable up to `durable`; observer(shard)
  // reports later ones.
  void led(ShardNumber shard, Seq durable);
  // This node no longer leads the shard; its observer is not called after this.
  void not_led(ShardNumber shard);
  DurableObserver& observer(ShardNumber shard) { return *shards_[shard]; }

  // Blocks for the read, so it must not run on an I/O thread. Reads a bounded number of rows per
  // call, whatever the filters.
  FeedPage read(const FeedQuery& query) const;
  // Scans the rows after `from`, once for all filters of `matcher`. Blocks and is bounded likewise.
  FeedScan scan(const EventPlaces& from, FactMatcher& matcher, const std::stop_token& gone) const;

 private:
  struct Shard final : DurableObserver {
    explicit Shard(store::Journal& of_shard) : journal(of_shard) {}
    void durable(Seq seq, const core::EventBatch& batch) override;

    store::Journal& journal;
    std::atomic<std::uint64_t> last;  // the last row that may be shown
  };

  std::vector<std::unique_ptr<Shard>> shards_;
  std::unique_ptr<RecentFacts> recent_;
};

// The history of one job from its own records, oldest first; complete however old the job is.
// Positions are numbers within the job.
std::vector<FeedEvent> job_events(const core::JobView& view);

// The facts of a batch in order, without positions.
// Changes that all shards make alike are reported by the first one only.
std::vector<FeedEvent> flatten(const core::EventBatch& batch, ShardNumber shard = 0,
                               TypeOfChange type_of_change = nullptr);

}  // namespace millrace::engine
