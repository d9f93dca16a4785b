// The event log as outsiders read it: the rows of all shards' journals from a position on, each
// core event flattened to one fact per job. In order within a shard, by time between shards.
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
#include "engine/split.h"
#include "store/journal.h"

namespace millrace::engine {

// One fact.
struct FeedEvent {
  std::string position;  // opaque and URL-safe: reading after it goes on with the next event
  Time at{};
  std::string_view type;  // "job.submitted", "queue.paused"; static
  SharedBytes queue;
  std::optional<JobId> job;  // none: of a queue; then job_type and attempt are empty too
  SharedBytes job_type;
  std::optional<std::uint32_t> attempt;
  SharedBytes worker;       // empty: none
  std::string data = "{}";  // a JSON object
};

// As FeedQuery::after: what happens from now on. No position is written so.
inline constexpr std::string_view kEndOfFeed = "end";

struct FeedQuery {
  std::string after;  // empty: from the oldest event kept; or kEndOfFeed
  std::uint32_t limit = 50;
  std::vector<std::string> types;   // names as in FeedEvent::type; empty: all
  std::vector<std::string> queues;  // empty: all
  // What the asker may see; null: all.
  std::function<bool(std::string_view queue)> visible;
  std::size_t bytes = std::size_t{16} << 20;  // of the page; the first event comes whatever it has
  std::stop_token gone;                       // stop requested: nobody waits for the page any more
};

enum class FeedFault : std::uint8_t {
  kNone,
  kBadPosition,  // not one of ours
  kGone,         // older than what is kept
  kStorage,      // could not be read: `message`
};

struct FeedPage {
  FeedFault fault = FeedFault::kNone;
  std::string message;
  std::vector<FeedEvent> events;  // oldest first
  std::string next;               // the position after the page, also when it is empty; never empty
  // By shard: every row up to here has been read: what AwaitEvents waits after, once the page is at
  // the end.
  std::vector<Seq> reached;
  bool at_end = false;
};

// Thread-safe. Shows durable rows only. Of a shard that this node leads those are the ones that its
// observer has told of. Of another's they are the rows that can be read: what its leader has
// committed. (PostgreSQL shows a row once its commit has been waited for at the synchronous
// standby. After a wait that was cut off, or a crash in it, a row may be seen that only the primary
// has; if that one is lost then, so is the row, and another event may stand at a position that was
// shown.)
class EventFeed {
 public:
  // By shard; they outlive it. None is led.
  explicit EventFeed(std::vector<store::Journal*> journals);
  // Of one shard, which this node leads.
  EventFeed(store::Journal& journal, Seq durable);

  // This node leads the shard from now on, and its rows are durable up to here; observer(shard) is
  // told of the others.
  void led(ShardNumber shard, Seq durable);
  // It does no more; no call of its observer comes after this.
  void not_led(ShardNumber shard);
  DurableObserver& observer(ShardNumber shard) { return *shards_[shard]; }

  // Blocks for the read, so not for an I/O thread. Stops after a bounded amount of rows, whatever
  // the filters.
  FeedPage read(const FeedQuery& query) const;

 private:
  struct Shard final : DurableObserver {
    explicit Shard(store::Journal& of_shard) : journal(of_shard) {}
    void durable(Seq seq, const core::EventBatch& batch) override;

    store::Journal& journal;
    std::atomic<std::uint64_t> last;  // the row to be shown last
  };

  std::vector<std::unique_ptr<Shard>> shards_;
};

// The life of one job from its own records: complete however old it is. Oldest first; positions are
// numbers within the job.
std::vector<FeedEvent> job_events(const core::JobView& view);

// The facts of a batch, in order, without positions.
std::vector<FeedEvent> flatten(const core::EventBatch& batch);

}  // namespace millrace::engine
