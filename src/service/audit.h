// The audit: entries of what no shard decides, and reading all of them.
#pragma once

#include <string>
#include <vector>

#include "api/audit.h"
#include "service/caller.h"

namespace millrace::service {

// Makes an entry of something that has been done. The first shard commits it; if it can't now,
// there is none, and the log says so.
Task<void> note_audit(Caller& caller, core::Origin about);

// For the audit: what the commands of this call are about, where they do not say it themselves.
core::Origin about(std::string_view action, std::string_view kind, std::string_view name,
                   std::string_view reason = {});

enum class AuditOrder : std::uint8_t { kNewestFirst, kOldestFirst };

struct AuditPage {
  std::vector<api::AuditEntry> entries;
  std::string next;  // empty: newest first: the end; oldest first: never
  bool more = false;
};
// `order`: the cursor is of the same one.
Task<Answered<AuditPage>> list_audit(Caller& caller, const api::AuditFilter& filter,
                                     AuditOrder order);

}  // namespace millrace::service
