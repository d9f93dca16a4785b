// Events as the API shows them, and their pages.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/bounds.h"
#include "api/problem.h"
#include "base/ids.h"
#include "base/time.h"
#include "terms/event.h"
#include "terms/event_facts.h"

namespace millrace::api {

using terms::EventType;
using terms::kEventTypes;
using terms::name_of;

// One event. Views as in job.h. An empty view is encoded as null. The job's members are empty in an
// event of a queue; so is the queue in an event of a limit or a type's gate.
struct JobEvent {
  std::string_view id;  // opaque: a position
  Time at{};
  EventType type = EventType::kJobSubmitted;
  std::string_view queue;
  std::optional<JobId> job_id;
  std::string_view job_type;
  std::optional<std::int64_t> attempt;
  std::string_view worker;
  const terms::EventFacts* facts = nullptr;  // null: none
};

constexpr std::size_t kMaxDigestNames = 200;
constexpr std::int64_t kMinDigestMs = 250;
constexpr std::int64_t kMaxDigestMs = 60'000;

// GET /v1/events, as pages or as a stream. An empty cursor means the oldest event still kept.
struct EventsQuery {
  std::string cursor;
  std::int64_t limit = kDefaultListLimit;
  Duration wait{0};                 // for the next event, if there is none
  std::vector<EventType> types;     // empty: all
  std::vector<std::string> queues;  // empty: all
  std::optional<JobId> job;         // none: all
  // For a stream: send a digest at this interval instead of each event. None: send each event.
  std::optional<Duration> digest;
};
Decoded<EventsQuery> decode_events_query(std::string_view query_string);

void encode(JsonWriter& json, const JobEvent& event);

// A summary of the events since the last digest.
struct EventDigest {
  Time at{};
  std::int64_t events = 0;
  bool skipped = false;  // there were more, which were not examined
  std::array<std::int64_t, kEventTypes> by_type{};
  std::vector<std::string> queues;  // each once; the first kMaxDigestNames
  std::vector<std::string> jobs;    // likewise

  void note(const JobEvent& event);
};
void encode(JsonWriter& json, const EventDigest& digest);
// {"items": [...], "next_cursor": "..."}; here the cursor is never null.
void encode_event_page(JsonWriter& json, const std::vector<JobEvent>& items,
                       std::string_view next_cursor);

}  // namespace millrace::api
