// The chain of a shard's audit: each entry's hash covers its own content and the hash before it, so
// that nobody alters, adds or removes an entry unnoticed, but for the newest ones.
#pragma once

#include "core/audit.h"
#include "digest/sha256.h"

namespace millrace::core {

// The hash of `row`, which follows an entry with the hash `before`. A member that has its default
// counts for nothing, so that a later program with more members comes to the same hash.
Sha256 chained(const Sha256& before, const AuditRow& row);

}  // namespace millrace::core
