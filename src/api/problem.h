// Problems (RFC 9457): the answers to refused requests. Clients switch on `code`, which never
// changes.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace millrace {
class JsonWriter;
}

namespace millrace::api {

enum class ProblemCode : std::uint8_t {
  kInvalidRequest,  // the request is not valid HTTP
  kInvalidJson,
  kUnauthenticated,
  kForbidden,
  kNotFound,
  kMethodNotAllowed,
  kRequestTimeout,
  kDuplicateJob,
  kDuplicateWorkflow,
  kLeaseLost,
  kInvalidState,
  kIdMismatch,
  kTooManyQueues,
  kTooManySchedules,
  kTooManyEntries,
  kLimitInUse,
  kGone,
  kVersionConflict,
  kPayloadTooLarge,
  kUriTooLong,
  kUnsupportedMediaType,
  kValidationFailed,
  kIdempotencyMismatch,
  kAcrossShards,
  kUnknownLimit,
  kRateLimited,
  kQueueFull,
  kKeyFull,
  kHeadersTooLarge,
  kInternal,
  kDraining,
  kStorageUnavailable,
  kOverloaded,
};
constexpr std::size_t kProblemCodes = static_cast<std::size_t>(ProblemCode::kOverloaded) + 1;

struct ProblemKind {
  ProblemCode code;
  int status;
  std::string_view name;   // the member `code`
  std::string_view title;  // the member `title`
};
const ProblemKind& kind_of(ProblemCode code);

// A fault of a request, and its place.
struct FieldError {
  enum class Place : std::uint8_t { kPointer, kParameter, kHeader };
  Place place = Place::kPointer;
  std::string where;  // a JSON Pointer without '#', the name of a query parameter, or of a header
  std::string detail;

  friend bool operator==(const FieldError&, const FieldError&) = default;
};

// A queue, or a key of it, that is full.
struct Fullness {
  std::uint64_t depth = 0;  // ready jobs
  Duration oldest_ready_age{};
  friend bool operator==(const Fullness&, const Fullness&) = default;
};

struct Problem {
  ProblemCode code = ProblemCode::kInternal;
  std::string detail;
  std::vector<FieldError> errors;       // at most kMaxFieldErrors, with kValidationFailed only
  std::optional<Duration> retry_after;  // sent as Retry-After, rounded up to seconds
  std::optional<Fullness> full = {};    // with kQueueFull and kKeyFull

  int status() const { return kind_of(code).status; }
};

template <typename T>
using Decoded = std::expected<T, Problem>;

inline Problem make_problem(ProblemCode code, std::string detail) {
  return Problem{code, std::move(detail), {}, std::nullopt};
}
// kValidationFailed with one fault.
Problem make_fault(FieldError::Place place, std::string where, std::string detail);

// Prepends `prefix` ("/jobs/3") to every pointer, for a problem within a larger body.
void prefix_pointers(Problem& problem, std::string_view prefix);

// As application/problem+json. Members: type, title, status, detail, code, request_id, errors?.
void encode(JsonWriter& json, const Problem& problem, std::string_view request_id);

// A refused entry of any batch call: {"status", "id"?, "error"}. `id` is absent if the item named
// none.
void encode_refused_result(JsonWriter& json, const std::optional<JobId>& id, const Problem& problem,
                           std::string_view request_id);

}  // namespace millrace::api
