// Statistics and the log of events, as far as the caller may see them.
#pragma once

#include "api/event.h"
#include "api/stats.h"
#include "service/caller.h"

namespace millrace::service {

Task<Answered<engine::StatsReply>> get_stats(Caller& caller, const api::StatsQuery& query);
// If the query asks for it, and there is no event, waits for one.
Task<Answered<engine::FeedPage>> list_events(Caller& caller, const api::EventsQuery& query);

}  // namespace millrace::service
