// What is wrong with the server, as far as the caller may see it: GET /v1/findings.
#pragma once

#include "api/finding.h"
#include "service/caller.h"

namespace millrace::service {

// Reads what lists, statistics and metrics have in memory; with `closely` the tables too, within
// bounds. Each part is limited to what the caller's token would get from its list; a part that it
// may not see is named in `not_looked_at`.
Task<Answered<api::Findings>> get_findings(Caller& caller, const api::FindingsQuery& query);

}  // namespace millrace::service
