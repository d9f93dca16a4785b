// Groups of errors: the counts of the read models, and the state that users set. The state is a
// document of the catalog. Its member `change` is the latest change: opened, reopened, resolved or
// muted, of which an event tells; or noted, unmuted or canary.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/error_group.h"
#include "api/job_calls.h"
#include "core/jobs/job.h"
#include "engine/models/read_models.h"
#include "service/bulk_operations.h"
#include "service/caller.h"

namespace millrace::service {

struct ErrorGroupAnswer {
  engine::ErrorGroup group;
  std::string id;
  api::ErrorGroupState state;  // the current state
  bool redacted = false;

  // The view is valid as long as this object. `now`: the end of the trend.
  api::ErrorGroup view(Time now) const;
};
struct ErrorGroupPage {
  std::vector<ErrorGroupAnswer> groups;
  std::string next;  // empty: there are no more
  Time as_of{};
};

// A caller limited to some queues sees only groups within these queues.
Task<Answered<ErrorGroupPage>> list_error_groups(Caller& caller,
                                                 const api::ErrorGroupsQuery& query);
Task<Answered<ErrorGroupAnswer>> get_error_group(Caller& caller, std::string_view id);
Task<Answered<ErrorGroupAnswer>> patch_error_group(Caller& caller, std::string_view id,
                                                   const api::ErrorGroupPatch& patch);
// Retries one dead job of the group.
Task<Answered<ErrorGroupAnswer>> retry_canary(Caller& caller, std::string_view id);
// Retries all dead jobs of the group, or deletes its waiting jobs, by an operation.
Task<Answered<OperationAnswer>> change_group_jobs(Caller& caller, std::string_view id,
                                                  api::BulkAction action,
                                                  std::optional<std::int64_t> rate_per_s);

// --- Also for the code that keeps the documents current (server/process/error_watch.h).

std::string error_group_id(std::uint64_t fingerprint);
std::optional<std::uint64_t> parse_error_group_id(std::string_view id);

// The document of a new group.
api::ErrorGroupState opened_group(const engine::ErrorGroup& group);

// The state set by users, adjusted for time: a resolved group that came back is open, and so is one
// whose mute has ended.
api::ErrorGroupState state_now(const api::ErrorGroupState& said, Time last_seen, Time now);
// The outcome of the canary. `job`: its row in the tables; null: there is none.
api::CanaryState canary_now(const api::Canary& canary, const core::Job* job,
                            const engine::ErrorGroup& group);

}  // namespace millrace::service
