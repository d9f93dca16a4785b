// Long-running operations on many jobs (core/operations/operation.h): start, show, pause, resume,
// cancel, and change of rate. Every shard has a part; here the parts appear as one.
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

// The operation to start. The filter is limited to the caller's queues, and `action` applies to
// each job; a retry skips jobs that end after the start.
struct OperationSpec {
  core::OperationKind kind{};
  core::OperationAction action{};
  std::int16_t priority = 0;  // kReprioritize
  engine::JobFilter filter;
  std::string query;        // the filter as text; any of these texts may be empty
  std::string queue;        // the only queue concerned
  std::string error_group;  // a fingerprint
  bool deletes_queue = false;
  std::optional<std::uint32_t> rate_per_s;  // 1 to api::kMaxOperationRate; none: unlimited
  std::optional<std::uint64_t> matched;     // none: counted now, for at most a second
};

// An operation, combined from its parts.
struct OperationAnswer {
  core::OperationPart whole;
  std::optional<Time> estimated_end_at;
};
struct OperationPage {
  std::vector<OperationAnswer> operations;  // newest first
  std::string next;                         // empty: there are no more
};
api::Operation to_api(const OperationAnswer& operation);

// Refused while a node that does not know operations takes part.
Task<Answered<OperationAnswer>> start_operation(Caller& caller, const OperationSpec& spec);
Task<Answered<OperationAnswer>> get_operation(Caller& caller, JobId id);
Task<Answered<OperationPage>> list_operations(Caller& caller, const api::OperationListQuery& query);
// `rate_per_s`: for kSetRate. Refused if the operation has ended.
Task<Answered<OperationAnswer>> order_operation(
    Caller& caller, JobId id, core::OperationOrder order,
    std::optional<std::uint32_t> rate_per_s = std::nullopt);

}  // namespace millrace::service
