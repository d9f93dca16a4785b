// The reasons why a job is not running, or a queue is held back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/json_writer.h"
#include "base/time.h"

namespace millrace::api {

// A reason that holds back a job or a queue. Views as in job.h.
struct Reason {
  std::string_view code;
  std::string_view limit;  // empty: absent; likewise for all texts here
  std::string_view limit_kind;
  std::string_view key;
  std::string_view worker;
  std::string_view reason;
  std::optional<Time> since;
  std::optional<Time> until;
  std::optional<Time> available_at;
  std::optional<Time> last_seen;
  std::optional<std::uint64_t> in_use;
  std::optional<std::uint64_t> concurrency;
  std::optional<std::uint64_t> have;  // the size of a share
  std::optional<Time> wanted_since;
  std::optional<JobId> waits_for;
  std::vector<JobId> holders;
  std::optional<std::uint64_t> ahead;
  std::optional<std::uint64_t> waiting;  // for a queue: its ready jobs that must pass the gate
  bool more = false;                     // there are more than `ahead` or `waiting`
};
void encode(JsonWriter& json, const Reason& reason);

// GET /v1/jobs/{id}/why.
struct Why {
  JobId id;
  std::string_view state;
  Time at{};
  std::string summary;
  std::vector<Reason> blocking;
  std::vector<Reason> notes;
};
void encode(JsonWriter& json, const Why& why);

}  // namespace millrace::api
