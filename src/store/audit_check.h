// The check of an audit log: every entry exists, is unaltered, and follows its predecessor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/audit/audit.h"

namespace millrace::store {

// Follows the chain of one shard's audit; expects the entries in order, from the oldest kept one.
class AuditCheck {
 public:
  // Returns a sentence about the fault, if there is one.
  std::optional<std::string> check(const core::AuditRow& row);
  // Entry `n` cannot be read, so the next one is not checked against it. Returns the sentence about
  // it.
  std::string unreadable(std::uint64_t n);

  std::uint64_t entries() const { return entries_; }

 private:
  std::uint64_t entries_ = 0;
  std::optional<core::AuditRow> before_;
};

}  // namespace millrace::store
