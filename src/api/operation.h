// Operations: long-running actions on many jobs. Views as in job.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/bounds.h"
#include "api/problem.h"
#include "api/queue.h"
#include "base/ids.h"
#include "base/json_writer.h"
#include "base/time.h"
#include "terms/operation.h"

namespace millrace::api {

constexpr std::int64_t kMaxOperationRate = 100'000;  // jobs per second

using terms::OperationState;

// GET /v1/operations
struct OperationListQuery {
  std::optional<OperationState> state;
  std::int64_t limit = kDefaultListLimit;
  std::string cursor;
};
Decoded<OperationListQuery> decode_operation_list_query(std::string_view query_string);

// PATCH /v1/operations/{id}
struct OperationPatch {
  Change<std::int64_t> rate_per_s;  // null: unlimited
};
Decoded<OperationPatch> decode_operation_patch(std::string_view body, const DecodeLimits& limits);

// Each empty text is null.
struct Operation {
  JobId id;
  std::string_view kind;
  std::string_view action;
  std::string_view query;
  std::string_view queue;
  std::string_view error_group;
  std::string_view state;
  std::optional<std::uint64_t> matched;  // an estimate
  std::uint64_t changed = 0;
  std::uint64_t failed = 0;
  std::optional<std::int64_t> rate_per_s;
  Time created_at{};
  std::string_view created_by;
  Time updated_at{};
  std::optional<Time> ended_at;
  std::optional<Time> estimated_end_at;
  std::string_view reason;
};
void encode(JsonWriter& json, const Operation& operation);

}  // namespace millrace::api
