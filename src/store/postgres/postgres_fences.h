// The table millrace.fences, which millrace.finish and millrace.fence write (inbox_schema.cc).
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "store/fences.h"
#include "store/postgres/postgres_shard.h"

namespace millrace::store {

class PostgresFences final : public Fences {
 public:
  explicit PostgresFences(std::shared_ptr<PostgresShard> shard) : shard_(std::move(shard)) {}

  Result<std::vector<JobId>> raise(std::span<const JobId> jobs, LeaseToken token) override;

 private:
  const std::shared_ptr<PostgresShard> shard_;
};

}  // namespace millrace::store
