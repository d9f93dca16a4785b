// The remaining room on a page of a list: JobQuery::limit and JobQuery::bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/jobs/job.h"
#include "store/tables.h"

namespace millrace::store {

// The approximate bytes of a job on a page. Members that are bounded by a few hundred bytes count
// as a constant.
inline std::size_t shown_bytes(const core::Job& job) {
  constexpr std::size_t kSmallMembers = 512;
  std::size_t bytes = kSmallMembers + job.payload.size() + job.result.size();
  for (const core::JobError* error : {job.latest.error.get(), job.last_error.get()}) {
    if (error != nullptr) bytes += error->message.size() + error->stack.size();
  }
  if (job.progress != nullptr) {
    bytes += job.progress->message.size() + job.progress->checkpoint.size();
  }
  if (job.extras != nullptr) {
    for (const SharedBytes& tag : job.extras->tags) bytes += tag.size();
    for (const auto& [key, value] : job.extras->meta) bytes += key.size() + value.size();
  }
  return bytes;
}

class PageBudget {
 public:
  explicit PageBudget(const JobQuery& query) : jobs_(query.limit), bytes_(query.bytes) {}

  // Takes room for one more job with its shown members. False: the page ends before this job. The
  // first job always fits.
  bool take(const core::Job& job) {
    const std::size_t bytes = shown_bytes(job);
    if (jobs_ == 0 || (bytes > bytes_ && !empty_)) return false;
    --jobs_;
    bytes_ -= std::min(bytes, bytes_);
    empty_ = false;
    return true;
  }

 private:
  std::uint32_t jobs_;
  std::size_t bytes_;
  bool empty_ = true;
};

}  // namespace millrace::store
