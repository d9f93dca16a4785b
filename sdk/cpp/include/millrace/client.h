// The client: submits jobs, reads them and changes them.
//
//   millrace::sdk::Client client({});                       // MILLRACE_URL, MILLRACE_TOKEN
//   auto submitted = client.submit({.type = "email.send", .payload = R"({"to":"a@b.example"})"});
//   if (!submitted) std::cerr << describe(submitted.error()) << '\n';
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
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
#include "millrace/workflow_calls.h"

namespace millrace::sdk {

constexpr std::string_view kVersion = "0.1.0";  // of this library
constexpr std::string_view kDefaultUrl = "http://127.0.0.1:7600";

struct ClientOptions {
  std::string url{};    // empty: MILLRACE_URL, else kDefaultUrl
  std::string token{};  // empty: MILLRACE_TOKEN, else none; without the blanks around it
  std::string user_agent = "millrace-cpp/" + std::string(kVersion);
  // Limits the whole call, all retries and pauses included, in addition to a wait that the call
  // asks for. Pauses between retries are random: up to 100 ms at first, doubling to 5 s, and never
  // shorter than the server asks for. A call whose next pause would exceed the limit fails at once.
  Milliseconds timeout{30'000};
  // A submission to a full queue is tried again for at most this part of `timeout`: a web request
  // should not wait until there is room.
  Milliseconds queue_full_timeout{2'000};
  bool try_again = true;  // false: each call is sent once, without retries
  std::string ca_file{};  // certificates to trust with https, in PEM; empty: the system's
  // This client's certificate and its key, in PEM. A server may accept it in place of a token.
  std::string certificate_file{};
  std::string key_file{};
  std::stop_token stop{};  // cancels every call that has no stop token of its own
  // Returns the W3C traceparent of the application's current operation, for submissions that have
  // none; called on the submitting thread. If it is not set or returns an empty string, a
  // submission from a handler gets the handler's traceparent.
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
  bool drop_limits = false;  // drop deleted limits; else they are an error, unknown_limit
};

enum class IfMissing { kFail, kCreate };

// Cheap to copy; copies share their connections. All calls are thread-safe. Creating a client sends
// nothing. The calls on workflows are those of WorkflowCalls.
class Client : public WorkflowCalls {
 public:
  // Throws std::invalid_argument if the token has a character that no token has. No other call
  // throws.
  explicit Client(ClientOptions options);
  Client(ClientOptions options, std::shared_ptr<Transport> transport);

  // Safe to retry after a lost answer: a job without an id and idempotency key gets an id first.
  [[nodiscard]] Result<Submitted> submit(const NewJob& job);
  // The same with a payload of any type that has a Codec; see codec.h:
  //   client.submit("mail.send", Mail{.to = "ada@example.org"}, {.queue = "mail"});
  template <typename Payload>
    requires(!std::convertible_to<Payload, NewJob>)
  [[nodiscard]] Result<Submitted> submit(std::string_view type, const Payload& payload,
                                         NewJob options = {}) {
    return submit(new_job(type, payload, std::move(options)));
  }
  // The same of a type that the handler is attached to as well, so that the compiler compares them:
  //   client.submit(kMail, {.to = "ada@example.org"});
  template <typename Payload>
  [[nodiscard]] Result<Submitted> submit(const JobType<Payload>& type,
                                         const std::type_identity_t<Payload>& payload) {
    return submit(new_job(type, payload));
  }
  // Up to 1,000 jobs. With `atomic`, all are accepted or none.
  [[nodiscard]] Result<Batch> submit_batch(std::span<const NewJob> jobs, bool atomic = false);

  [[nodiscard]] Result<Job> get(std::string_view id, const GetJob& options = {});
  // Waits for the job's end and returns it with its result; `state` tells how it ended. Fails with
  // the code "wait_timeout" if that takes longer than `timeout`. A job that was submitted in a
  // transaction comes a moment after the commit, so "not_found" takes 2 s.
  [[nodiscard]] Result<Job> wait(std::string_view id, Milliseconds timeout);
  [[nodiscard]] Result<Page<Job>> list(const JobFilter& filter);
  // The client must outlive the range; the same applies to the other ranges below.
  [[nodiscard]] AllItems<Job> list_all(JobFilter filter);
  [[nodiscard]] Result<std::vector<LogLine>> logs(std::string_view id);
  [[nodiscard]] Result<Job> cancel(std::string_view id, std::string_view reason = {});
  [[nodiscard]] Result<Job> retry(std::string_view id, const RetryJob& options = {});
  // Named `remove` because `delete` is a keyword.
  [[nodiscard]] Result<void> remove(std::string_view id);
  // Retries, cancels or deletes all jobs that match a filter, within `timeout`, or starts an
  // operation that does so.
  [[nodiscard]] Result<BulkAnswer> bulk(const BulkByFilter& bulk, Milliseconds timeout);

  [[nodiscard]] Result<Page<Operation>> operations(std::string_view state = {},
                                                   std::string_view cursor = {});
  [[nodiscard]] Result<Operation> operation(std::string_view id);
  [[nodiscard]] Result<Operation> pause_operation(std::string_view id);
  [[nodiscard]] Result<Operation> resume_operation(std::string_view id);
  [[nodiscard]] Result<Operation> cancel_operation(std::string_view id);
  // None: no limit on the rate.
  [[nodiscard]] Result<Operation> set_operation_rate(std::string_view id,
                                                     std::optional<std::int64_t> per_s);

  [[nodiscard]] Result<Page<Queue>> queues(std::string_view cursor = {});
  [[nodiscard]] AllItems<Queue> all_queues();
  [[nodiscard]] Result<Queue> queue(std::string_view name);
  // `settings` is a JSON object. Replaces all settings; creates the queue if it does not exist. If
  // `if_version` is given and the queue has another version, fails with kVersionConflict; this
  // applies to the calls below too.
  [[nodiscard]] Result<Queue> put_queue(std::string_view name, std::string_view settings,
                                        std::optional<std::int64_t> if_version = {});
  // Changes only the given settings. By default, fails if the queue does not exist, so that a
  // misspelt name does not create one.
  [[nodiscard]] Result<Queue> patch_queue(std::string_view name, std::string_view settings,
                                          IfMissing if_missing = IfMissing::kFail,
                                          std::optional<std::int64_t> if_version = {});
  [[nodiscard]] Result<Queue> pause_queue(std::string_view name, std::string_view reason = {},
                                          IfMissing if_missing = IfMissing::kFail);
  [[nodiscard]] Result<Queue> resume_queue(std::string_view name);
  // Deletes an empty queue; with `force`, also its jobs, within `timeout`.
  [[nodiscard]] Result<void> delete_queue(std::string_view name, bool force, Milliseconds timeout);
  [[nodiscard]] Result<void> delete_queue(std::string_view name) {
    return delete_queue(name, false, options_.timeout);
  }

  [[nodiscard]] Result<Page<Limit>> limits(std::string_view cursor = {});
  [[nodiscard]] AllItems<Limit> all_limits();
  [[nodiscard]] Result<Limit> limit(std::string_view name);
  // Makes the limit or replaces its settings. Jobs that name it start only while it lets them.
  [[nodiscard]] Result<Limit> put_limit(std::string_view name, const LimitSettings& settings,
                                        std::optional<std::int64_t> if_version = {});
  // `settings` is a JSON object; in a patch, null takes a bound away.
  [[nodiscard]] Result<Limit> put_limit(std::string_view name, std::string_view settings,
                                        std::optional<std::int64_t> if_version = {});
  [[nodiscard]] Result<Limit> patch_limit(std::string_view name, std::string_view settings,
                                          std::optional<std::int64_t> if_version = {});
  [[nodiscard]] Result<Limit> pause_limit(std::string_view name, std::string_view reason = {});
  [[nodiscard]] Result<Limit> resume_limit(std::string_view name);
  // With `force`, even if jobs name it; they then no longer wait for it.
  [[nodiscard]] Result<void> delete_limit(std::string_view name, bool force = false);

  // Creates the schedule or replaces its specification. An identical one changes nothing.
  [[nodiscard]] Result<Schedule> put_schedule(std::string_view name, const NewSchedule& schedule);
  // `specification` is a JSON object; see to_json().
  [[nodiscard]] Result<Schedule> put_schedule(std::string_view name, std::string_view specification,
                                              std::optional<std::int64_t> if_version = {});
  [[nodiscard]] Result<Schedule> schedule(std::string_view name);
  [[nodiscard]] Result<Page<Schedule>> schedules(const ScheduleFilter& filter = {});
  [[nodiscard]] AllItems<Schedule> all_schedules(ScheduleFilter filter = {});
  [[nodiscard]] Result<void> delete_schedule(std::string_view name,
                                             std::optional<std::int64_t> if_version = {});
  // A paused schedule is never due, and instants during the pause are not made up for.
  [[nodiscard]] Result<Schedule> pause_schedule(std::string_view name,
                                                std::string_view reason = {});
  [[nodiscard]] Result<Schedule> resume_schedule(std::string_view name);
  // Submits one job now, even if another one runs. It is sent with an idempotency key, generated if
  // the caller gives none, so that a retry does not submit a second job. The same applies to a
  // backfill.
  [[nodiscard]] Result<Submitted> trigger_schedule(std::string_view name,
                                                   const TriggerSchedule& options = {});
  [[nodiscard]] Result<BackfillAnswer> backfill_schedule(std::string_view name,
                                                         const BackfillSchedule& range);
  [[nodiscard]] Result<ScheduleRuns> schedule_runs(std::string_view name);
  [[nodiscard]] Result<SchedulePreview> preview_schedule(const PreviewSchedule& preview);
  // If only a part took effect (503), repeat the call to apply the rest.
  [[nodiscard]] Result<ScheduleChanges> apply_schedules(const ScheduleSet& set);

  // Workers that were seen in the last minutes or hold a lease.
  [[nodiscard]] Result<Page<SeenWorker>> workers(std::string_view cursor = {});
  // The worker gets the command with its next poll. Quiet: it claims no more jobs. Stop: it ends
  // after its current jobs.
  [[nodiscard]] Result<SeenWorker> quiet_worker(std::string_view id);
  [[nodiscard]] Result<SeenWorker> stop_worker(std::string_view id);

  // Why the job is not running.
  [[nodiscard]] Result<Why> why(std::string_view job_id);

  // Oldest first. `next_cursor` is never empty; it continues after this page.
  [[nodiscard]] Result<Page<Event>> events(const EventFilter& filter);
  [[nodiscard]] Result<Stats> stats(const StatsFilter& filter = {});

  // The nodes, and the leader of each shard.
  [[nodiscard]] Result<Cluster> cluster();
  // Makes a node hand over its shards, or take part again. Returns the resulting state of all
  // nodes.
  [[nodiscard]] Result<Cluster> drain_node(std::string_view id);
  [[nodiscard]] Result<Cluster> undrain_node(std::string_view id);

  [[nodiscard]] Result<ServerInfo> server_info();
  // A server that answers "not ready" is not an error.
  [[nodiscard]] Result<Readiness> readiness();

  // One round trip of a worker; worker.h has the complete worker. The shorter of `timeout` and the
  // client's own applies.
  [[nodiscard]] Result<PollAnswer> poll(std::string_view worker_id, const PollRequest& request,
                                        std::stop_token stop = {},
                                        std::optional<Milliseconds> timeout = {});

  // Makes any other call. A status other than 2xx is an Error.
  [[nodiscard]] Result<Response> call(Request request);

  const std::string& url() const { return options_.url; }
  const std::string& token() const { return options_.token; }

 private:
  friend class WorkflowCalls;
  Result<Response> send_repeatedly(Request request, int* tries = nullptr);
  NewJob complete(NewJob job) const;

  ClientOptions options_;
  std::shared_ptr<Transport> transport_;
};

// A new id for a job of `queue` (empty: default): a UUIDv7 that tells the server which shard holds
// the job. A process never returns the same id twice. Thread-safe.
std::string make_id(std::string_view queue = {});

// Percent-encodes text for one path segment or query value.
std::string url_encode(std::string_view text);

}  // namespace millrace::sdk
