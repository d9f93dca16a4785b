// Operations on queues; for their purge and deletion see bulk.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/list.h"
#include "api/queue.h"
#include "service/caller.h"

namespace millrace::service {

struct QueueAnswer {
  core::Queue queue;
  engine::QueueRates rates;
  bool created = false;
  std::vector<core::Blocker> blocked_by = {};  // for get_queue()
};
struct QueuePage {
  std::vector<QueueAnswer> queues;
  std::string next;  // empty: there are no more
};
Task<Answered<QueuePage>> list_queues(Caller& caller, const api::Page& page);

Task<Answered<QueueAnswer>> get_queue(Caller& caller, std::string_view queue);

struct QueueChange {
  const api::QueueSettingsChange& settings;
  bool replace = false;  // absent settings get their defaults
  bool create = false;   // create the queue if it does not exist
  std::optional<std::uint64_t> if_version;
};
Task<Answered<QueueAnswer>> set_queue(Caller& caller, std::string_view queue,
                                      const QueueChange& change);
Task<Answered<QueueAnswer>> pause_queue(Caller& caller, std::string_view queue,
                                        const api::Pause& pause, api::QueueQuery query);
// GET /v1/queues/{name}/shares: the fair keys.
struct SharePage {
  std::vector<core::GateUse> keys;
  std::string next;  // empty: there are no more
};
Task<Answered<SharePage>> list_shares(Caller& caller, std::string_view queue,
                                      const api::SharesQuery& query);
Task<Answered<QueueAnswer>> resume_queue(Caller& caller, std::string_view queue);

}  // namespace millrace::service
