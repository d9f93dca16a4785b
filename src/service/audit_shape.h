// The shape of an audit entry for the API.
#pragma once

#include "api/audit.h"
#include "core/audit/audit.h"
#include "service/caller.h"

namespace millrace::service {

api::AuditEntry shown(const Caller& caller, engine::ShardNumber shard, const core::AuditRow& row);

}  // namespace millrace::service
