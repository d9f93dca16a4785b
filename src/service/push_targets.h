// Push targets: documents of the catalog, and the health that their serving node reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/list.h"
#include "api/push_target.h"
#include "core/catalog/catalog.h"
#include "service/caller.h"

namespace millrace::service {

struct PushTargetAnswer {
  core::CatalogEntry entry;
  api::PushTarget target;
  std::optional<api::PushHealth> health;
  std::string served_by;
  bool created = false;

  api::PushTargetView view() const;
};
struct PushTargetPage {
  std::vector<PushTargetAnswer> targets;
  std::string next;  // empty: there are no more
};

// A caller limited to some queues sees and changes only the targets of these queues.
Task<Answered<PushTargetPage>> list_push_targets(Caller& caller, const api::Page& page);
Task<Answered<PushTargetAnswer>> get_push_target(Caller& caller, std::string_view name);
Task<Answered<PushTargetAnswer>> put_push_target(Caller& caller, std::string_view name,
                                                 const api::PutPushTarget& put,
                                                 std::optional<std::uint64_t> if_version);
Task<Answered<>> delete_push_target(Caller& caller, std::string_view name,
                                    std::optional<std::uint64_t> if_version);
// `reason`: for the pause.
Task<Answered<PushTargetAnswer>> pause_push_target(Caller& caller, std::string_view name,
                                                   bool paused, std::string_view reason);
Task<Answered<api::PushTestResult>> test_push_target(Caller& caller, std::string_view name);

}  // namespace millrace::service
