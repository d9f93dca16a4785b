// Statistics and the log of events, limited to what the caller may see.
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
// Rebuilds the read models of all shards, by an operation.
Task<Answered<OperationAnswer>> reproject(Caller& caller);
// The query, limited to what the caller may see.
engine::FeedQuery feed_query(const Caller& caller, const api::EventsQuery& query);
// Processes a page with events on a low-priority thread of the reader pool.
using OnPage = std::function<void(engine::FeedPage&)>;
// The next page; waits for an event if there is none. Advances `wanted.after`. `on_page` may be
// null.
Task<Answered<engine::FeedPage>> read_events(Caller& caller, engine::FeedQuery& wanted,
                                             Duration wait, const OnPage* on_page = nullptr);
// Waits for an event if there is none and the query asks for it.
Task<Answered<engine::FeedPage>> list_events(Caller& caller, const api::EventsQuery& query);

}  // namespace millrace::service
