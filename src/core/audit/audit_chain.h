// The hash chain of a shard's audit log. Each entry's hash covers its content and the previous
// hash, so altering, adding or removing an entry is detected, except among the newest ones.
#pragma once

#include "core/audit/audit.h"
#include "digest/sha256.h"

namespace millrace::core {

// The hash of `row`, which follows an entry with the hash `before`. Members with default values are
// left out, so that a later program with more members computes the same hash.
Sha256 chained(const Sha256& before, const AuditRow& row);

}  // namespace millrace::core
