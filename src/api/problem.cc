#include "api/problem.h"

#include <array>

#include "api/bounds.h"
#include "api/text.h"
#include "base/check.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

using enum ProblemCode;

constexpr std::array<ProblemKind, kProblemCodes> kKinds = {{
    {kInvalidRequest, 400, "invalid_request", "The request is not valid HTTP"},
    {kInvalidJson, 400, "invalid_json", "The body is not valid JSON"},
    {kUnauthenticated, 401, "unauthenticated", "The request needs a valid token"},
    {kForbidden, 403, "forbidden", "The token does not allow this"},
    {kNotFound, 404, "not_found", "Not found"},
    {kMethodNotAllowed, 405, "method_not_allowed", "This path does not allow the method"},
    {kRequestTimeout, 408, "request_timeout", "The request took too long to arrive"},
    {kDuplicateJob, 409, "duplicate_job", "The job already exists"},
    {kDuplicateWorkflow, 409, "duplicate_workflow", "The workflow already exists"},
    {kLeaseLost, 409, "lease_lost", "The worker lost the lease"},
    {kInvalidState, 409, "invalid_state", "The state does not allow the operation"},
    {kIdMismatch, 409, "id_mismatch", "The id belongs to something with other content"},
    {kTooManyQueues, 409, "too_many_queues", "The limit of queues is reached"},
    {kTooManySchedules, 409, "too_many_schedules", "The limit of schedules is reached"},
    {kTooManyEntries, 409, "too_many_entries", "The limit of such entries is reached"},
    {kLimitInUse, 409, "limit_in_use", "The limit is in use"},
    {kGone, 410, "gone", "The events have been deleted"},
    {kVersionConflict, 412, "version_conflict", "The version has changed"},
    {kPayloadTooLarge, 413, "payload_too_large", "The content is too large"},
    {kUriTooLong, 414, "uri_too_long", "The request target is too long"},
    {kUnsupportedMediaType, 415, "unsupported_media_type", "The body must be application/json"},
    {kValidationFailed, 422, "validation_failed", "The request is not valid"},
    {kIdempotencyMismatch, 422, "idempotency_mismatch",
     "An earlier request used the key with another body"},
    {kAcrossShards, 422, "across_shards", "The request concerns several shards"},
    {kUnknownLimit, 422, "unknown_limit", "No limit has this name"},
    {kRateLimited, 429, "rate_limited", "Too many requests"},
    {kQueueFull, 429, "queue_full", "The queue is full"},
    {kKeyFull, 429, "key_full", "The key's share of the queue is full"},
    {kHeadersTooLarge, 431, "headers_too_large", "The header block is too large"},
    {kInternal, 500, "internal", "Internal error"},
    {kDraining, 503, "draining", "The server is stopping"},
    {kStorageUnavailable, 503, "storage_unavailable", "The storage is not available"},
    {kOverloaded, 503, "overloaded", "The server is overloaded"},
}};

constexpr bool kinds_stand_in_order() {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (static_cast<std::size_t>(kKinds[i].code) != i) return false;
  }
  return true;
}
static_assert(kinds_stand_in_order());

constexpr std::string_view name_of(FieldError::Place place) {
  switch (place) {
    case FieldError::Place::kPointer:
      return "pointer";
    case FieldError::Place::kParameter:
      return "parameter";
    case FieldError::Place::kHeader:
      return "header";
  }
  return "";
}

}  // namespace

const ProblemKind& kind_of(ProblemCode code) { return kKinds.at(static_cast<std::size_t>(code)); }

Problem make_fault(FieldError::Place place, std::string where, std::string detail) {
  Problem problem;
  problem.code = kValidationFailed;
  problem.detail = describe_faults(1);
  problem.errors.push_back({place, std::move(where), std::move(detail)});
  return problem;
}

void prefix_pointers(Problem& problem, std::string_view prefix) {
  for (FieldError& error : problem.errors) {
    if (error.place == FieldError::Place::kPointer) error.where.insert(0, prefix);
  }
}

void encode(JsonWriter& json, const Problem& problem, std::string_view request_id) {
  MILLRACE_CHECK(problem.errors.size() <= kMaxFieldErrors);
  const ProblemKind& kind = kind_of(problem.code);
  json.begin_object();
  json.member("type", "about:blank");
  json.member("title", kind.title);
  json.member("status", kind.status);
  json.member("detail", std::string_view(problem.detail));
  json.member("code", kind.name);
  json.member("request_id", request_id);
  if (problem.full) {
    json.member("depth", problem.full->depth);
    json.member("oldest_ready_age_ms", problem.full->oldest_ready_age);
  }
  if (!problem.errors.empty()) {
    json.key("errors");
    json.begin_array();
    for (const FieldError& error : problem.errors) {
      json.begin_object();
      json.member(name_of(error.place), std::string_view(error.where));
      json.member("detail", std::string_view(error.detail));
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
}

void encode_refused_result(JsonWriter& json, const std::optional<JobId>& id, const Problem& problem,
                           std::string_view request_id) {
  json.begin_object();
  json.member("status", problem.status());
  if (id) json.member("id", *id);
  json.key("error");
  encode(json, problem, request_id);
  json.end_object();
}

}  // namespace millrace::api
