// The event log as outsiders read it: the journal's rows from a position on, each core event
// flattened to one fact per job.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/event.h"
#include "core/reply.h"
#include "engine/observer.h"
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

struct FeedQuery {
  std::string after;  // empty: from the oldest event kept
  std::uint32_t limit = 50;
  std::vector<std::string> types;   // names as in FeedEvent::type; empty: all
  std::vector<std::string> queues;  // empty: all
  // What the asker may see; null: all.
  std::function<bool(std::string_view queue)> visible;
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
  // Every row up to here has been read: what AwaitEvents waits after, once the page is at the end.
  Seq reached{};
  bool at_end = false;
};

// Thread-safe. Shows durable rows only: durable() is fed by the shard's observer.
class EventFeed : public DurableObserver {
 public:
  EventFeed(store::Journal& journal, Seq durable)
      : journal_(journal), durable_(to_number(durable)) {}

  void durable(Seq seq, const core::EventBatch& batch) override;

  // Blocks for the read, so not for an I/O thread. Stops after a bounded amount of rows, whatever
  // the filters.
  FeedPage read(const FeedQuery& query) const;

 private:
  store::Journal& journal_;
  std::atomic<std::uint64_t> durable_;
};

// The life of one job from its own records: complete however old it is. Oldest first; positions are
// numbers within the job.
std::vector<FeedEvent> job_events(const core::JobView& view);

// The facts of a batch, in order, without positions.
std::vector<FeedEvent> flatten(const core::EventBatch& batch);

}  // namespace millrace::engine
