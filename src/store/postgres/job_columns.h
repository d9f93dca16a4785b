// Rows of job_rows as core::Job.
#pragma once

#include <array>
#include <cstdint>

#include "base/result.h"
#include "core/jobs/job.h"
#include "store/postgres/connection.h"
#include "store/tables.h"

namespace millrace::store {

// The columns that a reader expects, in its order; payload and result are null unless wanted.
std::string job_columns(Columns wanted);
inline constexpr Columns kWholeJob{.payload = true, .result = true};

// Not thread-safe. Caches recently read names, so that jobs share them.
class JobReader {
 public:
  Result<core::Job> read(const SqlRow& row);

 private:
  using Recent = std::array<SharedBytes, 64>;
  static const SharedBytes& shared(Recent& recent, std::string_view name);

  Recent queues_;
  Recent types_;
};

}  // namespace millrace::store
