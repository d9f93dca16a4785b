// The audit: adding entries for actions that no shard decides, and reading all entries.
#pragma once

#include <string>
#include <vector>

#include "api/audit.h"
#include "service/caller.h"

namespace millrace::service {

// Adds an entry for a completed action. The first shard commits it; if it cannot do so now, the
// entry is missing and the log says so.
Task<void> note_audit(Caller& caller, core::Origin about);

// The audit's description of this call's commands, if they do not imply it.
core::Origin about(std::string_view action, std::string_view kind, std::string_view name,
                   std::string_view reason = {});

enum class AuditOrder : std::uint8_t { kNewestFirst, kOldestFirst };

struct AuditPage {
  std::vector<api::AuditEntry> entries;
  std::string next;  // empty: newest first: the end; oldest first: never
  bool more = false;
};
// `order`: the cursor must be from the same order.
Task<Answered<AuditPage>> list_audit(Caller& caller, const api::AuditFilter& filter,
                                     AuditOrder order);

}  // namespace millrace::service
