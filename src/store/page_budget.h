// What a page of a list may still take: JobQuery::limit and JobQuery::bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/job.h"
#include "store/tables.h"

namespace millrace::store {

class PageBudget {
 public:
  explicit PageBudget(const JobQuery& query) : jobs_(query.limit), bytes_(query.bytes) {}

  // For one more job, with the members that the page shows of it. False: the page ends before it.
  // The first always fits.
  bool take(const core::Job& job) {
    const std::size_t bytes = job.payload.size() + job.result.size();
    if (jobs_ == 0 || (bytes > bytes_ && !empty_)) return false;
    --jobs_;
    bytes_ -= bytes < bytes_ ? bytes : bytes_;
    empty_ = false;
    return true;
  }

 private:
  std::uint32_t jobs_;
  std::size_t bytes_;
  bool empty_ = true;
};

}  // namespace millrace::store
