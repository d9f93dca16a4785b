// The check of an audit's entries: each is there, unaltered, and follows the one before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/audit.h"

namespace millrace::store {

// Follows the chain of one shard's audit; expects the entries in order, from the oldest that is
// kept.
class AuditCheck {
 public:
  // Returns a sentence about what is wrong, if anything.
  std::optional<std::string> check(const core::AuditRow& row);
  // Entry `n` can't be read; the next one has nothing to follow. Returns the sentence about it.
  std::string unreadable(std::uint64_t n);

  std::uint64_t entries() const { return entries_; }

 private:
  std::uint64_t entries_ = 0;
  std::optional<core::AuditRow> before_;
};

}  // namespace millrace::store
