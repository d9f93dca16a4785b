// Reads the whole live state of a shard in one snapshot.
#pragma once

#include "base/result.h"
#include "store/postgres/postgres_shard.h"
#include "store/tables.h"

namespace millrace::store {

inline constexpr const char* kSelectProgress =
    "SELECT seq, checksum, at, at_epoch, next_token, next_ord FROM millrace.shards "
    "WHERE shard = $1";
Result<Progress> read_progress(const SqlRow& row);

// The columns are: at, hash, detail. False: the row is invalid.
bool read_audit_row(const SqlRow& row, core::AuditRow& into);

Status load_tables(const PostgresShard& shard, StateVisitor& visitor);

}  // namespace millrace::store
