// The client: submit jobs, look at them, act on them.
//
//   millrace::sdk::Client client({});                       // MILLRACE_URL, MILLRACE_TOKEN
//   auto submitted = client.submit({.type = "email.send", .payload = R"({"to":"a@b.example"})"});
//   if (!submitted) std::cerr << describe(submitted.error()) << '\n';
#pragma once

#include <concepts>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/all_items.h"
#include "millrace/error.h"
#include "millrace/insight.h"
#include "millrace/job.h"
#include "millrace/lease.h"
#include "millrace/members.h"
#include "millrace/node.h"
#include "millrace/queue.h"
#include "millrace/schedule.h"
#include "millrace/transport.h"

namespace millrace::sdk {

constexpr std::string_view kDefaultUrl = "http://127.0.0.1:7600";

struct ClientOptions {
  std::string url{};    // empty: MILLRACE_URL, else kDefaultUrl
  std::string token{};  // empty: MILLRACE_TOKEN, else none
  std::string user_agent = "millrace-cpp";
  // For the whole call, all tries and pauses together, in addition to a wait that it asks for. The
  // pause before another try is random, up to 100 ms at first and doubling to 5 s, and not shorter
  // than the server asks for. A call whose pause would pass its time fails at once.
  Milliseconds timeout{30'000};
  bool try_again = true;  // false: each call is sent once
  std::string ca_file{};  // certificates to trust with https, in PEM; empty: the system's
  // The certificate that this client shows, and its key, in PEM; a server may take it for a token.
  std::string certificate_file{};
  std::string key_file{};
  std::stop_token stop{};  // cancels every call that has no stop token of its own
  // The W3C traceparent of what the application is doing, for submissions that name none; called on
  // the submitting thread. If it is not set or returns nothing, a submission in a handler gets the
  // handler's.
  std::function<std::string()> traceparent{};
};

struct GetJob {
  std::vector<std::string> include{};  // "payload", "result", "attempts", "logs", "events"
  bool until_final = false;            // wait for the job's end, at most `wait`
  Milliseconds wait{0};                // at most 60 s
  std::stop_token stop{};
};

struct RetryJob {
  std::optional<Timestamp> run_at{};
  bool reset_attempts = true;
  bool drop_limits = false;  // those that have been deleted since; else an error, unknown_limit
};

enum class IfMissing { kFail, kCreate };

// Cheap to copy and share; every call is thread-safe. Nothing is sent before the first call.
class Client {
 public:
  explicit Client(ClientOptions options);
  Client(ClientOptions options, std::shared_ptr<Transport> transport);

  // Safe to repeat after a lost answer: a job without an id and idempotency key gets an id first.
  Result<Submitted> submit(const NewJob& job);
  // The same with a payload of any type that has a Codec, see codec.h:
  //   client.submit("mail.send", Mail{.to = "ada@example.org"}, {.queue = "mail"});
  template <typename Payload>
    requires(!std::convertible_to<Payload, NewJob>)
  Result<Submitted> submit(std::string_view type, const Payload& payload, NewJob options = {}) {
    return submit(new_job(type, payload, std::move(options)));
  }
  // Up to 1,000 jobs. With `atomic`, all are accepted or none.
  Result<Batch> submit_batch(std::span<const NewJob> jobs, bool atomic = false);

  Result<Job> get(std::string_view id, const GetJob& options = {});
  // The job with its result, once it has ended, however it ended: `state` tells. An error with the
  // code "wait_timeout" if that takes longer than `timeout`.
  Result<Job> wait(std::string_view id, Milliseconds timeout);
  Result<Page<Job>> list(const JobFilter& filter);
  // The client must outlive the range, here and below.
  AllItems<Job> list_all(JobFilter filter);
  Result<std::vector<LogLine>> logs(std::string_view id);
  Result<Job> cancel(std::string_view id, std::string_view reason = {});
  Result<Job> retry(std::string_view id, const RetryJob& options = {});
  Result<void> remove(std::string_view id);  // `delete`, which C++ keeps for itself
  // Retries, cancels or deletes the jobs that a filter matches, within `timeout`; or begins an
  // operation that does.
  Result<BulkAnswer> bulk(const BulkByFilter& bulk, Milliseconds timeout);

  Result<Page<Operation>> operations(std::string_view state = {}, std::string_view cursor = {});
  Result<Operation> operation(std::string_view id);
  Result<Operation> pause_operation(std::string_view id);
  Result<Operation> resume_operation(std::string_view id);
  Result<Operation> cancel_operation(std::string_view id);
  // None: as fast as it goes.
  Result<Operation> set_operation_rate(std::string_view id, std::optional<std::int64_t> per_s);

  Result<Page<Queue>> queues(std::string_view cursor = {});
  AllItems<Queue> all_queues();
  Result<Queue> queue(std::string_view name);
  // `settings` is a JSON object. Replaces all settings; creates the queue if it does not exist.
  // With `if_version` another version of the queue is an error, kVersionConflict; so below.
  Result<Queue> put_queue(std::string_view name, std::string_view settings,
                          std::optional<std::int64_t> if_version = {});
  // Changes only the settings that are named. By default a queue that does not exist is an error,
  // so that a misspelt name does not create one.
  Result<Queue> patch_queue(std::string_view name, std::string_view settings,
                            IfMissing if_missing = IfMissing::kFail,
                            std::optional<std::int64_t> if_version = {});
  Result<Queue> pause_queue(std::string_view name, std::string_view reason = {},
                            IfMissing if_missing = IfMissing::kFail);
  Result<Queue> resume_queue(std::string_view name);
  // Deletes an empty queue; with `force` also its jobs, within `timeout`.
  Result<void> delete_queue(std::string_view name, bool force, Milliseconds timeout);
  Result<void> delete_queue(std::string_view name) {
    return delete_queue(name, false, options_.timeout);
  }

  // Creates the schedule or replaces its specification. The same one again changes nothing.
  Result<Schedule> put_schedule(std::string_view name, const NewSchedule& schedule);
  // `specification` is a JSON object, see to_json().
  Result<Schedule> put_schedule(std::string_view name, std::string_view specification,
                                std::optional<std::int64_t> if_version = {});
  Result<Schedule> schedule(std::string_view name);
  Result<Page<Schedule>> schedules(const ScheduleFilter& filter = {});
  AllItems<Schedule> all_schedules(ScheduleFilter filter = {});
  Result<void> delete_schedule(std::string_view name, std::optional<std::int64_t> if_version = {});
  // Nothing is due while it is paused, and nothing of that time is made up for.
  Result<Schedule> pause_schedule(std::string_view name, std::string_view reason = {});
  Result<Schedule> resume_schedule(std::string_view name);
  // One job now, whatever runs. It is sent with an idempotency key, made here if the caller has
  // none, so that a lost answer is no second job; so is a backfill.
  Result<Submitted> trigger_schedule(std::string_view name, const TriggerSchedule& options = {});
  Result<BackfillAnswer> backfill_schedule(std::string_view name, const BackfillSchedule& range);
  Result<ScheduleRuns> schedule_runs(std::string_view name);
  Result<SchedulePreview> preview_schedule(const PreviewSchedule& preview);
  // If only a part took effect (503), the same call again does the rest.
  Result<ScheduleChanges> apply_schedules(const ScheduleSet& set);

  // The workers seen in the last minutes, or that hold a lease.
  Result<Page<SeenWorker>> workers(std::string_view cursor = {});
  // The worker learns of it with its next poll. Quiet: it claims no more jobs. Stop: it ends after
  // its current jobs.
  Result<SeenWorker> quiet_worker(std::string_view id);
  Result<SeenWorker> stop_worker(std::string_view id);

  // Oldest first. `next_cursor` is never empty; it continues after the page.
  Result<Page<Event>> events(const EventFilter& filter);
  Result<Stats> stats(const StatsFilter& filter = {});

  // The nodes, and the leader of each shard.
  Result<Cluster> cluster();
  // Makes a node hand over what it leads, or take part again. The answer is the resulting state of
  // all.
  Result<Cluster> drain_node(std::string_view id);
  Result<Cluster> undrain_node(std::string_view id);

  Result<ServerInfo> server_info();
  // A server that answers "not ready" is not an error.
  Result<Readiness> readiness();

  // One round trip of a worker; worker.h has the complete worker. `timeout` applies if it is
  // shorter than the client's.
  Result<PollAnswer> poll(std::string_view worker_id, const PollRequest& request,
                          std::stop_token stop = {}, std::optional<Milliseconds> timeout = {});

  // Any other call. A status other than 2xx is an Error.
  Result<Response> call(Request request);

  const std::string& url() const { return options_.url; }
  const std::string& token() const { return options_.token; }

 private:
  Result<Response> send_repeatedly(Request request, int* tries = nullptr);
  NewJob complete(NewJob job) const;

  ClientOptions options_;
  std::shared_ptr<Transport> transport_;
};

// A new id for a job of `queue` (empty: default): a UUIDv7 that tells a server where the job lies.
// Ids of one process are never the same twice. Thread-safe.
std::string make_id(std::string_view queue = {});

// Percent-encodes text for one path segment or query value.
std::string url_encode(std::string_view text);

}  // namespace millrace::sdk
