#include "store/audit_check.h"

#include <fmt/format.h>

#include "core/audit/audit_chain.h"

namespace millrace::store {

std::optional<std::string> AuditCheck::check(const core::AuditRow& row) {
  ++entries_;
  std::optional<std::string> problem;
  if (before_ && row.entry.n != before_->entry.n + 1) {
    problem = fmt::format("audit: entry {} is missing", before_->entry.n + 1);
  } else if (before_ && core::chained(before_->hash, row) != row.hash) {
    problem = fmt::format("audit: entry {} was altered, or does not follow the one before it",
                          row.entry.n);
  }
  before_ = row;
  return problem;
}

std::string AuditCheck::unreadable(std::uint64_t n) {
  ++entries_;
  before_.reset();
  return fmt::format("audit: entry {} is damaged", n);
}

}  // namespace millrace::store
