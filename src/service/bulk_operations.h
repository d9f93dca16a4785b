// Operations on many jobs that take long (core/operation.h): begun, shown, paused, resumed,
// cancelled, and their rate. Every shard has a part; here they are one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/operation.h"
#include "core/command.h"
#include "engine/reads.h"
#include "service/caller.h"

namespace millrace::service {

// What starts. The filter is narrowed to what the caller may touch, and `action` is what is done to
// each job; a retry leaves out what ends after the beginning.
struct OperationSpec {
  core::OperationKind kind{};
  core::OperationAction action{};
  std::int16_t priority = 0;  // kReprioritize
  engine::JobFilter filter;
  std::string query;        // the filter as text; each text may be empty
  std::string queue;        // the one queue that it is about
  std::string error_group;  // a fingerprint
  bool deletes_queue = false;
  std::optional<std::uint32_t> rate_per_s;  // 1 to api::kMaxOperationRate; none: as it goes
  std::optional<std::uint64_t> matched;     // none: counted now, for a second at most
};

// The parts of an operation as one.
struct OperationAnswer {
  core::OperationPart whole;
  std::optional<Time> estimated_end_at;
};
struct OperationPage {
  std::vector<OperationAnswer> operations;  // newest first
  std::string next;                         // empty: there are no more
};
api::Operation to_api(const OperationAnswer& operation);

// Refused while a node takes part that does not know operations.
Task<Answered<OperationAnswer>> start_operation(Caller& caller, const OperationSpec& spec);
Task<Answered<OperationAnswer>> get_operation(Caller& caller, JobId id);
Task<Answered<OperationPage>> list_operations(Caller& caller, const api::OperationListQuery& query);
// `rate_per_s`: for kSetRate. Refused if the operation has ended.
Task<Answered<OperationAnswer>> order_operation(
    Caller& caller, JobId id, core::OperationOrder order,
    std::optional<std::uint32_t> rate_per_s = std::nullopt);

}  // namespace millrace::service
