#include "millrace/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <stdexcept>

#include "backoff.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/random.h"
#include "base/shown_url.h"
#include "base/time.h"
#include "client_calls.h"
#include "constants.h"
#include "json_encode.h"
#include "json_reader.h"
#include "millrace/json.h"
#include "trace.h"

namespace millrace::sdk {
namespace {

using std::chrono::milliseconds;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The token without the blanks and line ends that files and secrets have around it. The error must
// not show it.
std::string checked_token(std::string_view given) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = given.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  const std::string_view token = given.substr(first, given.find_last_not_of(kBlanks) + 1 - first);
  const auto bad = std::ranges::find_if_not(token, [](char c) { return c > ' ' && c < '\x7f'; });
  if (bad != token.end()) {
    throw std::invalid_argument(fmt::format(
        "the token has a character at position {} that no token has; was it copied whole?",
        bad - token.begin()));
  }
  return std::string(token);
}

ClientOptions with_environment(ClientOptions options) {
  if (options.url.empty()) options.url = environment("MILLRACE_URL");
  if (options.url.empty()) options.url = kDefaultUrl;
  if (options.token.empty()) options.token = environment("MILLRACE_TOKEN");
  options.token = checked_token(options.token);
  return options;
}

bool is_full(const Error& error) { return error.code == "queue_full" || error.code == "key_full"; }

std::string job_path(std::string_view id, std::string_view rest = {}) {
  return fmt::format("/v1/jobs/{}{}", url_encode(id), rest);
}

std::string queue_path(std::string_view name, std::string_view rest = {}) {
  return fmt::format("/v1/queues/{}{}", url_encode(name), rest);
}

std::string_view create_query(IfMissing if_missing) {
  return if_missing == IfMissing::kCreate ? "?create=true" : "";
}

// Retry-After in seconds; Millrace never sends its date form.
std::optional<milliseconds> read_retry_after(const Response& response) {
  const std::string_view text = response.header("retry-after");
  int seconds = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (fault != std::errc{} || end != text.data() + text.size() || seconds < 0) return std::nullopt;
  return std::chrono::seconds{seconds};
}

// Millrace never redirects, but a proxy may, for example to its login page.
Error redirected(const Response& response, const std::string& url) {
  Error error;
  error.code = "bad_answer";
  error.status = response.status;
  error.message = fmt::format("{} answered with HTTP status {}", shown_url(url), response.status);
  if (const auto where = response.header("location"); !where.empty()) {
    error.message += fmt::format(", to {}", where);
  }
  return error;
}

bool may_send_again(Repeat repeat, const Error& error) {
  switch (repeat) {
    case Repeat::kNever:
      return false;
    case Repeat::kIfUnbegun:
      return error.is_unsent || error.status == 429 || error.status == 503;
    case Repeat::kAlways:
      return error.is_temporary();
  }
  return false;
}

}  // namespace

void pause_for(Milliseconds delay, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, stop, delay, [] { return false; });
}

std::string make_id(std::string_view queue) {
  return to_string(make_job_id(SystemClock().now(), queue_bits(queue.empty() ? "default" : queue),
                               system_random()));
}

std::string url_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

Client::Client(ClientOptions options)
    : options_(with_environment(std::move(options))),
      transport_(make_http_transport({.url = options_.url,
                                      .token = options_.token,
                                      .user_agent = options_.user_agent,
                                      .ca_file = options_.ca_file,
                                      .certificate_file = options_.certificate_file,
                                      .key_file = options_.key_file})) {}

Client::Client(ClientOptions options, std::shared_ptr<Transport> transport)
    : options_(with_environment(std::move(options))), transport_(std::move(transport)) {}

Result<Response> Client::call(Request request) {
  if (request.method == "GET" || request.method == "PUT" || request.method == "DELETE") {
    request.repeat = Repeat::kAlways;
  }
  return send_repeatedly(std::move(request));
}

Result<Response> Client::send_repeatedly(Request request, int* tries) {
  if (!request.stop.stop_possible()) request.stop = options_.stop;
  if (!options_.try_again) request.repeat = Repeat::kNever;
  const auto began = std::chrono::steady_clock::now();
  auto deadline = began + request.timeout;
  Backoff backoff(kFirstPause, kLongestPause, system_random());
  for (bool is_first = true;; is_first = false) {
    if (tries != nullptr) ++*tries;
    auto response = transport_->send(request);
    Error error;
    if (response) {
      if (response->status >= 200 && response->status < 300) return response;
      // An earlier try has deleted it, and its answer was lost.
      const bool was_deleted = request.method == "DELETE" && response->status == 404 && !is_first;
      if (was_deleted) return Response{.status = 204};
      if (response->status < 400) return std::unexpected(redirected(*response, options_.url));
      error = read_problem(response->status, response->body);
      error.retry_after = read_retry_after(*response);
      if (error.request_id.empty()) error.request_id = response->header("x-request-id");
    } else {
      error = std::move(response.error());
    }
    if (is_full(error)) deadline = std::min(deadline, began + options_.queue_full_timeout);
    if (!may_send_again(request.repeat, error)) return std::unexpected(std::move(error));
    const auto pause = std::max(backoff.next(), error.retry_after.value_or(milliseconds{0}));
    const auto now = std::chrono::steady_clock::now();
    if (pause >= deadline - now) return std::unexpected(std::move(error));
    pause_for(pause, request.stop);
    if (request.stop.stop_requested()) return std::unexpected(std::move(error));
    request.timeout = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (request.timeout <= milliseconds{0}) return std::unexpected(std::move(error));
  }
}

// Adds what a retry needs, and the submitter's trace context.
NewJob Client::complete(NewJob job) const {
  if (job.id.empty() && job.idempotency_key.empty()) job.id = make_id(job.queue);
  if (job.traceparent.empty() && options_.traceparent) job.traceparent = options_.traceparent();
  return with_trace(std::move(job));
}

Result<Submitted> Client::submit(const NewJob& job) {
  Request request{.method = "POST", .path = "/v1/jobs", .timeout = options_.timeout};
  request.repeat = Repeat::kAlways;
  request.body = encode_job(complete(job));
  if (!job.idempotency_key.empty()) {
    request.headers.emplace_back("Idempotency-Key", job.idempotency_key);
  }
  return read_submitted(send_repeatedly(std::move(request)));
}

Result<Batch> Client::submit_batch(std::span<const NewJob> jobs, bool atomic) {
  std::vector<NewJob> completed;
  completed.reserve(jobs.size());
  for (const NewJob& job : jobs) completed.push_back(complete(job));
  Request request{.method = "POST", .path = "/v1/jobs/batch", .timeout = options_.timeout};
  request.body = encode_batch(completed, atomic);
  request.repeat = Repeat::kAlways;
  return then(send_repeatedly(std::move(request)), read_batch);
}

Result<Job> Client::get(std::string_view id, const GetJob& options) {
  QueryString query;
  query.add("include", options.include);
  if (options.until_final) {
    query.add("until", "final");
    query.add("wait_ms", std::to_string(options.wait.count()));
  }
  return then(call({.path = job_path(id, query.text()),
                    .timeout = options_.timeout + options.wait,
                    .stop = options.stop}),
              read_job);
}

Result<Job> Client::wait(std::string_view id, Milliseconds timeout) {
  return wait_for_end(options_, fmt::format("job {}", id), timeout, [&](Milliseconds wait) {
    return get(id, {.include = {"result"}, .until_final = true, .wait = wait});
  });
}

Result<Page<Job>> Client::list(const JobFilter& filter) {
  QueryString query;
  query.add("state", filter.states);
  query.add("queue", filter.queue);
  query.add("type", filter.type);
  query.add("tag", filter.tag);
  query.add("created_after", filter.created_after);
  query.add("created_before", filter.created_before);
  query.add("q", filter.query);
  query.add("include", filter.include);
  if (filter.fresh) query.add("fresh", "true");
  query.add("limit", std::to_string(filter.limit));
  query.add("cursor", filter.cursor);
  return then(call({.path = "/v1/jobs" + query.text(), .timeout = options_.timeout}), read_jobs);
}

AllItems<Job> Client::list_all(JobFilter filter) {
  return AllItems<Job>([this, filter = std::move(filter)](const std::string& cursor) {
    JobFilter of_page = filter;
    if (!cursor.empty()) of_page.cursor = cursor;
    return list(of_page);
  });
}

Result<std::vector<LogLine>> Client::logs(std::string_view id) {
  // One attempt's log is bounded, but there may be many attempts, so it is read page by page.
  std::vector<LogLine> lines;
  std::string cursor;
  do {
    QueryString query;
    query.add("limit", "1000");
    query.add("cursor", cursor);
    auto response =
        call({.path = job_path(id, "/logs" + query.text()), .timeout = options_.timeout});
    if (!response) return std::unexpected(std::move(response.error()));
    auto page = read_logs(response->body);
    if (!page) return std::unexpected(std::move(page.error()));
    std::move(page->items.begin(), page->items.end(), std::back_inserter(lines));
    cursor = std::move(page->next_cursor);
  } while (!cursor.empty());
  return lines;
}

Result<Job> Client::cancel(std::string_view id, std::string_view reason) {
  Request request{.method = "POST", .path = job_path(id, "/cancel"), .timeout = options_.timeout};
  if (!reason.empty()) request.body = fmt::format(R"({{"reason":{}}})", json_string(reason));
  request.repeat = Repeat::kAlways;
  int tries = 0;
  auto answer = then(send_repeatedly(std::move(request), &tries), read_job);
  if (answer || tries < 2 || answer.error().problem() != Problem::kInvalidState) return answer;
  // The job has ended, perhaps by an earlier try whose answer was lost.
  auto ended = get(id);
  return ended && ended->state == "cancelled" ? ended : answer;
}

Result<Job> Client::retry(std::string_view id, const RetryJob& options) {
  JsonWriter body;
  body.begin_object();
  if (options.run_at) body.key("run_at").string(format_rfc3339(*options.run_at));
  if (!options.reset_attempts) body.key("reset_attempts").boolean(false);
  if (options.drop_limits) body.key("drop_limits").boolean(true);
  body.end_object();
  return then(call({.method = "POST",
                    .path = job_path(id, "/retry"),
                    .body = body.take(),
                    .timeout = options_.timeout,
                    .repeat = Repeat::kIfUnbegun}),
              read_job);
}

Result<void> Client::remove(std::string_view id) {
  auto response = call({.method = "DELETE", .path = job_path(id), .timeout = options_.timeout});
  if (!response) return std::unexpected(std::move(response.error()));
  return {};
}

Result<Page<Queue>> Client::queues(std::string_view cursor) {
  QueryString query;
  query.add("limit", "1000");
  query.add("cursor", cursor);
  return then(call({.path = "/v1/queues" + query.text(), .timeout = options_.timeout}),
              read_queues);
}

AllItems<Queue> Client::all_queues() {
  return AllItems<Queue>([this](const std::string& cursor) { return queues(cursor); });
}

Result<Queue> Client::queue(std::string_view name) {
  return then(call({.path = queue_path(name), .timeout = options_.timeout}), read_queue);
}

Result<Queue> Client::put_queue(std::string_view name, std::string_view settings,
                                std::optional<std::int64_t> if_version) {
  return then(call({.method = "PUT",
                    .path = queue_path(name),
                    .body = std::string(settings),
                    .headers = if_match(if_version),
                    .timeout = options_.timeout}),
              read_queue);
}

Result<Queue> Client::patch_queue(std::string_view name, std::string_view settings,
                                  IfMissing if_missing, std::optional<std::int64_t> if_version) {
  return then(call({.method = "PATCH",
                    .path = queue_path(name, create_query(if_missing)),
                    .body = std::string(settings),
                    .headers = if_match(if_version),
                    .timeout = options_.timeout,
                    .repeat = Repeat::kIfUnbegun}),
              read_queue);
}

Result<Queue> Client::pause_queue(std::string_view name, std::string_view reason,
                                  IfMissing if_missing) {
  std::string body;
  if (!reason.empty()) body = fmt::format(R"({{"reason":{}}})", json_string(reason));
  return then(call({.method = "POST",
                    .path = queue_path(name, fmt::format("/pause{}", create_query(if_missing))),
                    .body = std::move(body),
                    .timeout = options_.timeout,
                    .repeat = Repeat::kAlways}),
              read_queue);
}

Result<Queue> Client::resume_queue(std::string_view name) {
  return then(call({.method = "POST",
                    .path = queue_path(name, "/resume"),
                    .timeout = options_.timeout,
                    .repeat = Repeat::kAlways}),
              read_queue);
}

Result<Cluster> Client::cluster() {
  return then(call({.path = "/v1/admin/nodes", .timeout = options_.timeout}), read_cluster);
}

Result<Cluster> Client::drain_node(std::string_view id) {
  return then(call({.method = "POST",
                    .path = fmt::format("/v1/admin/nodes/{}/drain", url_encode(id)),
                    .timeout = options_.timeout,
                    .repeat = Repeat::kAlways}),
              read_cluster);
}

Result<Cluster> Client::undrain_node(std::string_view id) {
  return then(call({.method = "POST",
                    .path = fmt::format("/v1/admin/nodes/{}/undrain", url_encode(id)),
                    .timeout = options_.timeout,
                    .repeat = Repeat::kAlways}),
              read_cluster);
}

Result<ServerInfo> Client::server_info() {
  return then(call({.path = "/v1/meta", .timeout = options_.timeout}), read_server_info);
}

Result<Readiness> Client::readiness() {
  auto answer = transport_->send({.path = "/readyz?verbose", .timeout = options_.timeout});
  if (!answer) return std::unexpected(std::move(answer.error()));
  if (answer->status != 200) {
    if (auto readiness = read_readiness(answer->body)) return readiness;
    return std::unexpected(read_problem(answer->status, answer->body));
  }
  return read_readiness(answer->body);
}

Result<PollAnswer> Client::poll(std::string_view worker_id, const PollRequest& request,
                                std::stop_token stop, std::optional<Milliseconds> timeout) {
  const Milliseconds wait_time = request.claim ? request.claim->wait : Milliseconds{0};
  return then(
      call({.method = "POST",
            .path = fmt::format("/v1/workers/{}/poll", url_encode(worker_id)),
            .body = encode_poll(worker_id, request),
            .timeout = std::min(timeout.value_or(options_.timeout), options_.timeout) + wait_time,
            .stop = std::move(stop)}),
      read_poll_answer);
}

}  // namespace millrace::sdk
