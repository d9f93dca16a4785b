// The client's calls on schedules.
#include <fmt/format.h>

#include "client_calls.h"
#include "json_encode.h"
#include "json_reader.h"
#include "millrace/client.h"
#include "millrace/json.h"

namespace millrace::sdk {
namespace {

std::string schedule_path(std::string_view name, std::string_view rest = {}) {
  return fmt::format("/v1/schedules/{}{}", url_encode(name), rest);
}

// A POST that may be repeated, since it has an idempotency key.
Request once(std::string path, std::string body, const std::string& key, Milliseconds timeout) {
  return {.method = "POST",
          .path = std::move(path),
          .body = std::move(body),
          .headers = {{"Idempotency-Key", key.empty() ? make_id() : key}},
          .timeout = timeout,
          .repeat = Repeat::kAlways};
}

}  // namespace

Result<Schedule> Client::put_schedule(std::string_view name, const NewSchedule& schedule) {
  return put_schedule(name, to_json(schedule));
}

Result<Schedule> Client::put_schedule(std::string_view name, std::string_view specification,
                                      std::optional<std::int64_t> if_version) {
  return then(call({.method = "PUT",
                    .path = schedule_path(name),
                    .body = std::string(specification),
                    .headers = if_match(if_version),
                    .timeout = options_.timeout}),
              read_schedule);
}

Result<Schedule> Client::schedule(std::string_view name) {
  return then(call({.path = schedule_path(name), .timeout = options_.timeout}), read_schedule);
}

Result<Page<Schedule>> Client::schedules(const ScheduleFilter& filter) {
  QueryString query;
  query.add("managed_by", filter.managed_by);
  query.add("queue", filter.queue);
  query.add("limit", std::to_string(filter.limit));
  query.add("cursor", filter.cursor);
  return then(call({.path = "/v1/schedules" + query.text(), .timeout = options_.timeout}),
              read_schedules);
}

AllItems<Schedule> Client::all_schedules(ScheduleFilter filter) {
  return AllItems<Schedule>([this, filter = std::move(filter)](const std::string& cursor) {
    ScheduleFilter of_page = filter;
    if (!cursor.empty()) of_page.cursor = cursor;
    return schedules(of_page);
  });
}

Result<void> Client::delete_schedule(std::string_view name,
                                     std::optional<std::int64_t> if_version) {
  auto response = call({.method = "DELETE",
                        .path = schedule_path(name),
                        .headers = if_match(if_version),
                        .timeout = options_.timeout});
  if (!response) return std::unexpected(std::move(response.error()));
  return {};
}

Result<Schedule> Client::pause_schedule(std::string_view name, std::string_view reason) {
  std::string body;
  if (!reason.empty()) body = fmt::format(R"({{"reason":{}}})", json_string(reason));
  return then(call({.method = "POST",
                    .path = schedule_path(name, "/pause"),
                    .body = std::move(body),
                    .timeout = options_.timeout,
                    .repeat = Repeat::kAlways}),
              read_schedule);
}

Result<Schedule> Client::resume_schedule(std::string_view name) {
  return then(call({.method = "POST",
                    .path = schedule_path(name, "/resume"),
                    .timeout = options_.timeout,
                    .repeat = Repeat::kAlways}),
              read_schedule);
}

Result<Submitted> Client::trigger_schedule(std::string_view name, const TriggerSchedule& options) {
  return read_submitted(call(once(schedule_path(name, "/trigger"), encode_trigger(options),
                                  options.idempotency_key, options_.timeout)));
}

Result<BackfillAnswer> Client::backfill_schedule(std::string_view name,
                                                 const BackfillSchedule& range) {
  return then(call(once(schedule_path(name, "/backfill"), encode_backfill(range),
                        range.idempotency_key, options_.timeout)),
              read_backfill);
}

Result<ScheduleRuns> Client::schedule_runs(std::string_view name) {
  return then(call({.path = schedule_path(name, "/runs"), .timeout = options_.timeout}),
              read_schedule_runs);
}

Result<SchedulePreview> Client::preview_schedule(const PreviewSchedule& preview) {
  return then(call({.method = "POST",
                    .path = "/v1/schedules/preview",
                    .body = encode_preview(preview),
                    .timeout = options_.timeout,
                    .repeat = Repeat::kAlways}),
              read_preview);
}

Result<ScheduleChanges> Client::apply_schedules(const ScheduleSet& set) {
  return then(call({.method = "PUT",
                    .path = "/v1/schedules",
                    .body = to_json(set),
                    .timeout = options_.timeout}),
              read_schedule_changes);
}

}  // namespace millrace::sdk
