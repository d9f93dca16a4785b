#include "api/event.h"

#include <algorithm>

#include "api/bounds.h"
#include "api/event_facts.h"
#include "api/list.h"
#include "api/parameters.h"
#include "api/text.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

void read_types(const Argument& argument, EventsQuery& out) {
  take_list(argument, [&](const Argument& each) {
    const std::optional<EventType> type = terms::value_named<EventType>(each.value);
    if (!type) {
      const std::string_view meant = nearest(each.value, terms::kNames<EventType>);
      each.fault("unknown event type " + single_quoted(each.value) +
                 (meant.empty() ? "" : "; did you mean " + single_quoted(meant) + "?"));
    } else if (std::ranges::find(out.types, *type) == out.types.end()) {
      out.types.push_back(*type);
    }
  });
}

void read_queues(const Argument& argument, EventsQuery& out) {
  take_list(argument, [&](const Argument& each) {
    std::string name;
    if (!take_name(each, name)) return;
    if (out.queues.size() == kMaxListedNames) {
      each.fault("must have at most " + std::to_string(kMaxListedNames) + " values");
    } else {
      out.queues.push_back(std::move(name));
    }
  });
}

void read_job(const Argument& argument, EventsQuery& out) {
  out.job = parse_job_id(argument.value);
  if (!out.job) argument.fault("must be the id of a job");
}

void read_digest(const Argument& argument, EventsQuery& out) {
  Duration digest{};
  if (take_duration(argument, kMinDigestMs, kMaxDigestMs, digest)) out.digest = digest;
}

// Keeps the first names, each once.
void note_name(std::vector<std::string>& names, std::string_view name) {
  if (names.size() == kMaxDigestNames || std::ranges::find(names, name) != names.end()) return;
  names.emplace_back(name);
}

constexpr Parameter<EventsQuery> kParameters[] = {
    {"cursor", [](const Argument& a, EventsQuery& out) { take_cursor(a, out.cursor); }},
    {"limit",
     [](const Argument& a, EventsQuery& out) { take_integer(a, 1, kMaxListLimit, out.limit); }},
    {"wait_ms",
     [](const Argument& a, EventsQuery& out) { take_duration(a, 0, kMaxWaitMs, out.wait); }},
    {"types", read_types, Repeated::kTaken},
    {"queues", read_queues, Repeated::kTaken},
    {"job", read_job},
    {"digest_ms", read_digest},
};

}  // namespace

Decoded<EventsQuery> decode_events_query(std::string_view query_string) {
  return decode_parameters<EventsQuery>(query_string, kParameters);
}

void encode(JsonWriter& json, const JobEvent& event) {
  json.begin_object();
  json.member("id", event.id);
  json.member("at", event.at);
  json.member("type", name_of(event.type));
  json.text_or_null("queue", event.queue);
  json.member("job_id", event.job_id);
  json.text_or_null("job_type", event.job_type);
  json.member("attempt", event.attempt);
  json.text_or_null("worker", event.worker);
  json.key("data");
  encode(json, event.facts == nullptr ? terms::EventFacts() : *event.facts);
  json.end_object();
}

void EventDigest::note(const JobEvent& event) {
  ++events;
  ++by_type.at(static_cast<std::size_t>(event.type));
  if (!event.queue.empty()) note_name(queues, event.queue);
  if (event.job_id) note_name(jobs, to_string(*event.job_id));
}

void encode(JsonWriter& json, const EventDigest& digest) {
  const auto write = [&json](const std::vector<std::string>& names) {
    json.begin_array();
    for (const std::string& name : names) json.string(name);
    json.end_array();
  };
  json.begin_object();
  json.member("at", digest.at);
  json.member("events", digest.events);
  json.member("skipped", digest.skipped);
  json.key("types");
  json.begin_object();
  for (std::size_t type = 0; type < kEventTypes; ++type) {
    if (digest.by_type.at(type) > 0)
      json.member(terms::kNames<EventType>.at(type), digest.by_type.at(type));
  }
  json.end_object();
  json.key("queues");
  write(digest.queues);
  json.key("jobs");
  write(digest.jobs);
  json.end_object();
}

void encode_event_page(JsonWriter& json, const std::vector<JobEvent>& items,
                       std::string_view next_cursor) {
  json.begin_object();
  json.key("items");
  json.begin_array();
  for (const JobEvent& item : items) encode(json, item);
  json.end_array();
  json.member("next_cursor", next_cursor);
  json.end_object();
}

}  // namespace millrace::api
