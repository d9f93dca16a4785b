// Operations on limits and on the gates of types, and the reasons why a job is not running.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/limit.h"
#include "api/why.h"
#include "core/flow/limit.h"
#include "service/caller.h"
#include "service/jobs.h"

namespace millrace::service {

struct LimitAnswer {
  core::LimitView limit;
  bool created = false;
};
struct LimitPage {
  std::vector<core::LimitView> limits;
  std::string next;  // empty: there are no more
};
Task<Answered<LimitPage>> list_limits(Caller& caller, core::LimitKind kind, const api::Page& page);
Task<Answered<LimitAnswer>> get_limit(Caller& caller, core::LimitKind kind, std::string_view name);

// PUT or PATCH: members absent from `change` get their default, or stay unchanged.
enum class Absent : std::uint8_t { kDefault, kStays };
Task<Answered<LimitAnswer>> set_limit(Caller& caller, core::LimitKind kind, std::string_view name,
                                      const api::LimitChange& change, Absent absent,
                                      const IfVersion& if_version);
Task<Answered<>> delete_limit(Caller& caller, core::LimitKind kind, std::string_view name,
                              bool force, const IfVersion& if_version);
Task<Answered<LimitAnswer>> pause_limit(Caller& caller, std::string_view name,
                                        const api::LimitPause& pause);
Task<Answered<LimitAnswer>> resume_limit(Caller& caller, std::string_view name,
                                         std::string_view key);

struct LimitKeyPage {
  std::vector<core::GateUse> keys;
  std::string next;
};
Task<Answered<LimitKeyPage>> list_limit_keys(Caller& caller, std::string_view name,
                                             const api::LimitKeysQuery& query);
struct LimitHolderPage {
  std::vector<core::LimitHolder> holders;
  std::string next;
};
Task<Answered<LimitHolderPage>> list_limit_holders(Caller& caller, std::string_view name,
                                                   const api::LimitHoldersQuery& query);

// GET /v1/jobs/{id}/why.
struct WhyAnswer {
  JobId id;
  core::WhyReply why;
  // The job is ready, and no worker has asked for its queue and type for a minute.
  bool no_worker = false;
  std::optional<Time> worker_last_seen;
  bool other_types = false;  // with no_worker: workers ask for the queue, but not for the type
};
Task<Answered<WhyAnswer>> why(Caller& caller, JobId id);

// --- Shapes for the API. Views of the arguments.
api::Limit to_api(const core::LimitView& view);
api::LimitKey to_api(const core::GateUse& use);
api::LimitHolder to_api(const core::LimitHolder& holder);
api::Why to_api(const WhyAnswer& answer);
api::Reason to_api(const core::Blocker& blocker);

}  // namespace millrace::service
