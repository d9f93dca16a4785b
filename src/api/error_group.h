// Groups of errors: attempts that failed in the same way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/bounds.h"
#include "api/problem.h"
#include "base/ids.h"
#include "base/json_writer.h"
#include "base/time.h"
#include "terms/event.h"

namespace millrace::api {

enum class ErrorStatus : std::uint8_t { kOpen, kMuted, kResolved };
std::string_view name_of(ErrorStatus status);

enum class ErrorOrder : std::uint8_t { kLastSeen, kCount, kFirstSeen };

// GET /v1/error-groups
struct ErrorGroupsQuery {
  std::vector<ErrorStatus> statuses;  // any of these; empty: all
  std::string queue;                  // empty: all
  std::string type;
  ErrorOrder order = ErrorOrder::kLastSeen;  // newest, or most, first
  std::int64_t limit = kDefaultListLimit;
  std::string cursor;
};
Decoded<ErrorGroupsQuery> decode_error_groups_query(std::string_view query_string);

// PATCH /v1/error-groups/{id}: absent members stay unchanged.
struct ErrorGroupPatch {
  std::optional<ErrorStatus> status;
  bool has_muted_until = false;
  std::optional<Time> muted_until;  // none: until a user changes it
  bool has_note = false;
  std::string note;  // empty: none
};
Decoded<ErrorGroupPatch> decode_error_group_patch(std::string_view body,
                                                  const DecodeLimits& limits);

// POST /v1/error-groups/{id}/retry and .../delete
struct ErrorGroupRetry {
  bool all = false;  // false: one job, as a canary
  std::optional<std::int64_t> rate_per_s;
};
Decoded<ErrorGroupRetry> decode_error_group_retry(std::string_view body,
                                                  const DecodeLimits& limits);
Decoded<ErrorGroupRetry> decode_error_group_delete(std::string_view body,
                                                   const DecodeLimits& limits);

enum class CanaryState : std::uint8_t { kRunning, kSucceeded, kFailed };
struct Canary {
  JobId job;
  CanaryState state = CanaryState::kRunning;
  Time at{};
  std::uint32_t generation = 0;  // of the job since the retry; not shown
  friend bool operator==(const Canary&, const Canary&) = default;
};

// Views as in job.h.
struct ErrorGroup {
  std::string_view id;
  std::string_view error_type;
  std::string_view message;
  bool redacted = false;  // the caller may not see error texts: the message is null
  ErrorStatus status = ErrorStatus::kOpen;
  std::optional<Time> muted_until;
  std::string_view note;  // empty: null
  std::vector<std::string_view> queues;
  std::vector<std::string_view> types;
  std::uint64_t waiting = 0;
  std::uint64_t dead = 0;
  std::uint64_t total = 0;
  Time first_seen{};
  Time last_seen{};
  std::vector<std::uint64_t> trend;  // failures per hour, oldest first
  struct Version {
    std::string_view version;
    Time first_seen{};
    Time last_seen{};
    std::uint64_t count = 0;
  };
  std::vector<Version> versions;
  std::vector<JobId> sample;
  std::optional<Canary> canary;
  std::optional<Time> reopened_at;
};
void encode(JsonWriter& json, const ErrorGroup& group);
void encode_error_groups(JsonWriter& json, const std::vector<ErrorGroup>& groups,
                         std::string_view next_cursor, Time as_of);

// The state of a group as set by users, and as stored.
struct ErrorGroupState {
  std::string change;  // the latest change: see service/error_groups.h
  ErrorStatus status = ErrorStatus::kOpen;
  Time since{};  // of the status
  std::optional<Time> muted_until;
  std::string note;
  std::optional<Time> reopened_at;
  std::optional<Canary> canary;

  friend bool operator==(const ErrorGroupState&, const ErrorGroupState&) = default;
};
std::string stored_error_group(const ErrorGroupState& state);
// A JSON object of the members that users set, for the audit.
std::string members_of(const ErrorGroupState& state);
// None: a newer program stored it in a different form.
std::optional<ErrorGroupState> read_stored_error_group(std::string_view stored);
// The event that tells of the group's latest change. None: readers of events are not told of it.
std::optional<terms::EventType> type_of_change(std::string_view stored);

}  // namespace millrace::api
