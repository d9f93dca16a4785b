// A Fake's answers to the requests of a client.
#include <fmt/format.h>

#include <algorithm>

#include "fake_jobs.h"
#include "json_reader.h"

namespace millrace::sdk {
namespace {

constexpr std::string_view kJobs = "/v1/jobs";

bool contains(const std::vector<std::string>& values, std::string_view value) {
  return std::ranges::find(values, value) != values.end();
}

void write_error(JsonWriter& json, const JobError& error) {
  json.begin_object().key("type").string(error.type).key("message").string(error.message);
  json.key("stack");
  error.stack.empty() ? json.null() : json.string(error.stack);
  json.key("attempt").integer(error.attempt);
  write(json, "at", error.at);
  json.end_object();
}

void write_retry(JsonWriter& json, const RetryPolicy& retry) {
  json.begin_object().key("strategy").string(retry.strategy);
  if (retry.strategy == "list") {
    json.key("delays_ms").begin_array();
    for (const Milliseconds delay : retry.delays) json.integer(delay.count());
    json.end_array();
  } else {
    json.key("base_ms").integer(retry.base->count()).key("max_ms").integer(retry.max->count());
    json.key("jitter").number(*retry.jitter);
  }
  json.end_object();
}

void write_progress(JsonWriter& json, const FakeJob& job) {
  json.begin_object();
  if (job.progress && job.progress->percent) json.key("percent").number(*job.progress->percent);
  if (job.progress && !job.progress->message.empty()) {
    json.key("message").string(job.progress->message);
  }
  if (!job.checkpoint.empty()) json.key("checkpoint").raw(job.checkpoint);
  json.end_object();
}

}  // namespace

std::string encode_fake(const FakeJob& job, const std::vector<std::string>& include) {
  const NewJob& spec = job.spec;
  JsonWriter json;
  json.begin_object().key("id").string(spec.id).key("queue").string(spec.queue);
  json.key("type").string(spec.type).key("state").string(job.state);
  json.key("priority").integer(spec.priority.value_or(0));
  json.key("attempt").integer(job.attempt).key("max_attempts").integer(*spec.max_attempts);
  json.key("crashes").integer(0).key("generation").integer(job.generation);
  json.key("version").integer(job.version);
  write(json, "created_at", job.created_at);
  write(json, "run_at", job.run_at);
  write(json, "expires_at", job.expires_at);
  write(json, "started_at", job.started_at);
  write(json, "finished_at", job.finished_at);
  json.key("lease_expires_at").null().key("worker").null();
  json.key("cancel_requested").boolean(job.cancel_requested).key("progress");
  job.progress || !job.checkpoint.empty() ? write_progress(json, job) : void(json.null());
  json.key("last_error");
  job.last_error ? write_error(json, *job.last_error) : void(json.null());
  json.key("retry");
  write_retry(json, *spec.retry);
  json.key("lease_ms").integer(spec.lease->count());
  write(json, "timeout_ms", spec.timeout);
  json.key("unique");
  if (spec.unique) {
    json.begin_object().key("key").string(spec.unique->key);
    write(json, "for_ms", spec.unique->hold);
    json.key("on_conflict").string(spec.unique->on_conflict).end_object();
  } else {
    json.null();
  }
  json.key("tags").begin_array();
  for (const std::string& tag : spec.tags) json.string(tag);
  json.end_array().key("meta").begin_object();
  for (const auto& [name, value] : spec.meta) json.key(name).string(value);
  json.end_object();
  if (!spec.traceparent.empty()) json.key("traceparent").string(spec.traceparent);
  if (job.schedule) {
    json.key("schedule").begin_object().key("name").string(job.schedule->name);
    write(json, "scheduled_at", job.schedule->scheduled_at);
    json.end_object();
  }
  if (job.workflow) {
    json.key("workflow").begin_object().key("id").string(job.workflow->id);
    write(json, "name", job.workflow->name);
    write(json, "ref", job.workflow->ref);
    json.key("number");
    job.workflow->number ? json.integer(*job.workflow->number) : json.null();
    json.key("role").string(job.workflow->role).end_object();
  }
  if (!spec.tracestate.empty()) json.key("tracestate").string(spec.tracestate);
  if (contains(include, "payload")) json.key("payload").raw(spec.payload);
  if (contains(include, "result")) json.key("result").raw(job.result.value_or("null"));
  return json.end_object().take();
}

Result<Response> FakeJobs::send(const Request& request) {
  const std::lock_guard lock(mutex_);
  auto response = answer(request);
  run_released();
  return response;
}

Response FakeJobs::answer(const Request& request) {
  const std::string_view path = std::string_view(request.path).substr(0, request.path.find('?'));
  const bool has_query = path.size() < request.path.size();
  const std::string query = has_query ? request.path.substr(path.size() + 1) : "";
  if (path == kJobs && request.method == "POST") return submit_one(request);
  if (path == kJobs) return list(query);
  if (path == "/v1/jobs/batch") return submit_batch(request);
  if (!path.starts_with(kJobs)) return answer_others(request, path, query);
  const auto parts = split(path.substr(kJobs.size() + 1), '/');
  if (parts.empty()) return refused({});
  return answer_job(url_decode(parts[0]), parts.size() > 1 ? parts[1] : "", request);
}

// A request on workflows, queues, limits or schedules.
Response FakeJobs::answer_others(const Request& request, std::string_view path,
                                 std::string_view query) {
  constexpr std::string_view kRoot = "/v1/";
  const auto parts = split(path.substr(std::min(path.size(), kRoot.size())), '/');
  const std::string kind = parts.empty() ? "" : parts[0];
  if (kind == "workflows") return workflows_.answer(request, parts, query);
  const std::string name = parts.size() > 1 ? url_decode(parts[1]) : "";
  if (kind == "queues" || kind == "limits" || kind == "schedules") {
    const std::string_view action = parts.size() > 2 ? parts[2] : std::string_view();
    if (kind == "schedules" && action == "trigger") return trigger(name);
    const std::string counts = kind == "queues" ? counts_of(name) : "";
    if (auto known = action.empty() ? setup_.answer(request, kind, name, counts) : std::nullopt) {
      return *std::move(known);
    }
  }
  return refused({.detail = std::string(kNoSuchCall)});
}

Response FakeJobs::trigger(const std::string& schedule) {
  const std::string job = setup_.member_of("schedules", schedule, "job");
  if (job.empty()) return refused({.detail = fmt::format("there is no schedule {}", schedule)});
  const auto made = submit(read_new_job(JsonView(job)), job);
  if (!made) return refused(made.error());
  made->first->schedule = JobSchedule{.name = schedule, .scheduled_at = now_};
  return json_response(201, encode_fake(*made->first, {}));
}

std::string FakeJobs::counts_of(const std::string& queue) const {
  std::map<std::string, std::int64_t> counts;
  for (const auto& [id, job] : jobs_) {
    if (job.spec.queue == queue) ++counts[job.state];
  }
  JsonWriter json;
  json.begin_object();
  for (const auto& [state, count] : counts) json.key(state).integer(count);
  return json.end_object().take();
}

Response FakeJobs::answer_job(const std::string& id, std::string_view action,
                              const Request& request) {
  const std::size_t mark = request.path.find('?');
  const std::string query = mark == std::string::npos ? "" : request.path.substr(mark + 1);
  const JsonView body(request.body);
  Answer<FakeJob*> job = find(id);
  if (*job == nullptr) return refused({});
  if (action == "cancel") job = cancel(id, body["reason"].string().value_or(""));
  if (action == "retry") job = retry(id, body);
  if (!job) return refused(job.error());
  if (action == "logs") {
    JsonWriter json;
    json.begin_object().key("items").begin_array();
    for (const LogLine& line : (*job)->logs) {
      json.begin_object().key("seq").integer(line.seq).key("attempt").integer(line.attempt);
      write(json, "at", line.at);
      json.key("level").string(line.level).key("message").string(line.message).end_object();
    }
    return json_response(200, json.end_array().key("next_cursor").null().end_object().take());
  }
  if (request.method == "DELETE") {
    if (!(*job)->has_ended()) {
      return refused({409, "invalid_state", "the job's state does not allow this"});
    }
    std::erase(order_, id);
    jobs_.erase(id);
    return {.status = 204};
  }
  return json_response(200, encode_fake(**job, split(parameter(query, "include"), ',')));
}

Response FakeJobs::submit_one(const Request& request) {
  NewJob spec = read_new_job(JsonView(request.body));
  if (auto key = header_of(request, "Idempotency-Key"); !key.empty()) spec.idempotency_key = key;
  if (auto faults = faults_of(spec, ""); !faults.empty()) {
    return refused(faulty(std::move(faults)));
  }
  const auto job = submit(std::move(spec), request.body);
  if (!job) return refused(job.error());
  return json_response(job->second ? 201 : 200, encode_fake(*job->first, {}));
}

Response FakeJobs::submit_batch(const Request& request) {
  const JsonView body(request.body);
  const auto jobs = body["jobs"].elements();
  const bool is_atomic = body["atomic"].boolean().value_or(false);
  std::vector<FieldError> all_faults;
  for (std::size_t i = 0; is_atomic && i < jobs.size(); ++i) {
    const NewJob spec = read_new_job(jobs[i]);
    const std::string at = fmt::format("/jobs/{}", i);
    auto faults = faults_of(spec, at);
    if (names_no_limit(spec)) faults.push_back({at, std::string(kNoSuchLimit)});
    std::ranges::move(faults, std::back_inserter(all_faults));
  }
  if (!all_faults.empty()) return refused(faulty(std::move(all_faults)));
  JsonWriter json;
  json.begin_object().key("results").begin_array();
  for (const JsonView item : jobs) {
    NewJob spec = read_new_job(item);
    auto faults = faults_of(spec, "");
    const Answer<std::pair<FakeJob*, bool>> job = faults.empty()
                                                      ? submit(std::move(spec), item.text())
                                                      : std::unexpected(faulty(std::move(faults)));
    json.begin_object().key("status");
    if (job) {
      json.integer(job->second ? 201 : 200).key("id").string(job->first->spec.id);
      json.key("state").string(job->first->state);
    } else {
      json.integer(job.error().status).key("error").raw(problem_of(job.error()));
    }
    json.end_object();
  }
  return json_response(200, json.end_array().end_object().take());
}

// Newest first. The cursor is the number of the previous page's last job.
Response FakeJobs::list(std::string_view query) {
  const auto number = [&query](std::string_view name, std::uint64_t otherwise) {
    return JsonView(parameter(query, name)).natural().value_or(otherwise);
  };
  const std::uint64_t limit = number("limit", 50);
  const std::uint64_t before = number("cursor", UINT64_MAX);
  const auto include = split(parameter(query, "include"), ',');
  JsonWriter json;
  json.begin_object().key("items").begin_array();
  std::uint64_t count = 0;
  std::optional<std::uint64_t> last;
  bool has_more = false;
  for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
    const FakeJob& job = jobs_.at(*id);
    if (job.number >= before) continue;
    const bool is_wanted =
        matches(query, "state", {job.state}) && matches(query, "queue", {job.spec.queue}) &&
        matches(query, "type", {job.spec.type}) && matches(query, "tag", job.spec.tags);
    if (!is_wanted) continue;
    has_more = count == limit;
    if (has_more) break;
    json.raw(encode_fake(job, include));
    last = job.number;
    ++count;
  }
  json.end_array().key("next_cursor");
  has_more ? json.string(std::to_string(*last)) : json.null();
  return json_response(200, json.end_object().take());
}

std::vector<Job> FakeJobs::enqueued(std::string_view type) const {
  const std::lock_guard lock(mutex_);
  std::vector<Job> jobs;
  for (const std::string& id : order_) {
    const FakeJob& job = jobs_.at(id);
    if (!type.empty() && job.spec.type != type) continue;
    if (auto read = read_job(encode_fake(job, {"payload"}))) jobs.push_back(std::move(*read));
  }
  return jobs;
}

Fake::Fake(Handlers handlers, FakeMode mode)
    : jobs_(std::make_shared<FakeJobs>(std::move(handlers), mode)),
      // Nothing changes while a call waits.
      client_({.url = "http://fake", .try_again = false}, jobs_) {}

void Fake::set_handlers(Handlers handlers) { jobs_->set_handlers(std::move(handlers)); }
std::size_t Fake::drain() { return jobs_->drain(); }
std::size_t Fake::drain(const Handlers& handlers) { return jobs_->drain(handlers); }
void Fake::advance(Milliseconds time) { jobs_->advance(time); }
Timestamp Fake::now() const { return jobs_->now(); }
std::vector<Job> Fake::enqueued(std::string_view type) const { return jobs_->enqueued(type); }

}  // namespace millrace::sdk
