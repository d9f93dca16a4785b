// Statistics and the log of events, limited to what the caller may see.
#pragma once

#include <cstddef>
#include <vector>

#include "api/event.h"
#include "api/stats.h"
#include "service/bulk_operations.h"
#include "service/caller.h"

namespace millrace::service {

struct StatsAnswer {
  engine::StatsReply stats;
  std::vector<engine::Deploy> deploys;
  std::vector<engine::ModelGap> gaps;
  Time as_of{};
};
Task<Answered<StatsAnswer>> get_stats(Caller& caller, const api::StatsQuery& query);
// Rebuilds the read models of all shards, by an operation.
Task<Answered<OperationAnswer>> reproject(Caller& caller);
// The query, limited to what the caller may see.
engine::FeedQuery feed_query(const Caller& caller, const api::EventsQuery& query);
// A stream of pages. It is called on a low-priority thread of the reader pool, because the threads
// that answer workers have no time for its work.
class PageTaker {
 public:
  // How many bytes of events the page that is read next may have.
  virtual std::size_t room() const = 0;
  // The page has events, and may be left without.
  virtual void take(engine::FeedPage& page) = 0;

 protected:
  ~PageTaker() = default;
};
// The next page; waits for an event if there is none. Advances `wanted.after`, but not past a page
// with events. `taker`: null for a single page; streams read in turns.
Task<Answered<engine::FeedPage>> read_events(Caller& caller, engine::FeedQuery& wanted,
                                             Duration wait, PageTaker* taker = nullptr);
// Waits for an event if there is none and the query asks for it.
Task<Answered<engine::FeedPage>> list_events(Caller& caller, const api::EventsQuery& query);

}  // namespace millrace::service
