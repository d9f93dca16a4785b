// Statistics and the log of events, as far as the caller may see them.
#pragma once

#include <functional>
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
// Has the read models of all shards made anew: an operation.
Task<Answered<OperationAnswer>> reproject(Caller& caller);
// The query as far as the caller may see its answer.
engine::FeedQuery feed_query(const Caller& caller, const api::EventsQuery& query);
// What a reader makes of a page with events; on a thread of the readers, which gives way to others.
using OnPage = std::function<void(engine::FeedPage&)>;
// The next page; waits for an event if there is none. `wanted.after` moves on. `on_page`: or null.
Task<Answered<engine::FeedPage>> read_events(Caller& caller, engine::FeedQuery& wanted,
                                             Duration wait, const OnPage* on_page = nullptr);
// If the query asks for it, and there is no event, waits for one.
Task<Answered<engine::FeedPage>> list_events(Caller& caller, const api::EventsQuery& query);

}  // namespace millrace::service
