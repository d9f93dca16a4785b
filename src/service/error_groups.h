// Groups of errors: what the read models have counted, and what somebody has said of them. That is
// a document of the catalogue, whose member `change` tells readers of the log what was changed
// last: opened, reopened, resolved, muted; or noted, unmuted, canary.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/error_group.h"
#include "api/job_calls.h"
#include "core/job.h"
#include "engine/models/read_models.h"
#include "service/bulk_operations.h"
#include "service/caller.h"

namespace millrace::service {

struct ErrorGroupAnswer {
  engine::ErrorGroup group;
  std::string id;
  api::ErrorGroupState state;  // as it is now
  bool redacted = false;

  // Valid as long as this object. `now`: the trend ends there.
  api::ErrorGroup view(Time now) const;
};
struct ErrorGroupPage {
  std::vector<ErrorGroupAnswer> groups;
  std::string next;  // empty: there are no more
  Time as_of{};
};

// A caller who is limited to some queues sees the groups of these alone.
Task<Answered<ErrorGroupPage>> list_error_groups(Caller& caller,
                                                 const api::ErrorGroupsQuery& query);
Task<Answered<ErrorGroupAnswer>> get_error_group(Caller& caller, std::string_view id);
Task<Answered<ErrorGroupAnswer>> patch_error_group(Caller& caller, std::string_view id,
                                                   const api::ErrorGroupPatch& patch);
// Retries one dead job of the group.
Task<Answered<ErrorGroupAnswer>> retry_canary(Caller& caller, std::string_view id);
// Retries all dead jobs of the group, or deletes those that wait: an operation.
Task<Answered<OperationAnswer>> change_group_jobs(Caller& caller, std::string_view id,
                                                  api::BulkAction action,
                                                  std::optional<std::int64_t> rate_per_s);

// --- For whoever keeps the documents up to date (server/error_watch.h), too.

std::string error_group_id(std::uint64_t fingerprint);
std::optional<std::uint64_t> parse_error_group_id(std::string_view id);

// The document of a new group.
api::ErrorGroupState opened_group(const engine::ErrorGroup& group);

// What somebody has said, and what time has made of it: a resolved group that came back is open,
// and so is one that was muted until now.
api::ErrorGroupState state_now(const api::ErrorGroupState& said, Time last_seen, Time now);
// How the canary went; `job`: as the tables have it, null: they don't.
api::CanaryState canary_now(const api::Canary& canary, const core::Job* job,
                            const engine::ErrorGroup& group);

}  // namespace millrace::service
