// The client: submit jobs, look at them, act on them.
//
//   millrace::sdk::Client client({});                       // MILLRACE_URL, MILLRACE_TOKEN
//   auto submitted = client.submit({.type = "email.send", .payload = R"({"to":"a@b.example"})"});
//   if (!submitted) std::cerr << describe(submitted.error()) << '\n';
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/error.h"
#include "millrace/insight.h"
#include "millrace/job.h"
#include "millrace/lease.h"
#include "millrace/node.h"
#include "millrace/queue.h"
#include "millrace/transport.h"

namespace millrace::sdk {

constexpr std::string_view kDefaultUrl = "http://127.0.0.1:7600";

struct ClientOptions {
  std::string url{};    // empty: MILLRACE_URL, else kDefaultUrl
  std::string token{};  // empty: MILLRACE_TOKEN, else none
  std::string user_agent = "millrace-cpp";
  // How often a call that may be repeated is, when the server is away or busy: after what the
  // server asks for, else after a random delay that doubles.
  int retries = 3;
  Milliseconds timeout{30'000};  // of one try, on top of what a call waits for on purpose
  std::stop_token stop{};        // breaks off every call that has none of its own
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
};

enum class IfMissing { kFail, kCreate };

// Cheap to share: every call may be made from any thread. Nothing is sent before the first call.
class Client {
 public:
  explicit Client(ClientOptions options);
  Client(ClientOptions options, std::shared_ptr<Transport> transport);

  // Submitting again after a lost answer is safe: a job without id and idempotency key is given an
  // id first.
  Result<Submitted> submit(const NewJob& job);
  // Up to 1,000 jobs. With `atomic`, all or nothing.
  Result<Batch> submit_batch(std::span<const NewJob> jobs, bool atomic = false);

  Result<Job> job(std::string_view id, const GetJob& options = {});
  Result<Page<Job>> jobs(const JobFilter& filter);
  Result<std::vector<LogLine>> logs(std::string_view id);
  Result<Job> cancel(std::string_view id, std::string_view reason = {});
  Result<Job> retry(std::string_view id, const RetryJob& options = {});
  Result<void> remove(std::string_view id);
  // Retries, cancels or deletes what a filter finds, within `timeout`.
  Result<BulkAnswer> bulk(const BulkByFilter& bulk, Milliseconds timeout);

  Result<Page<Queue>> queues(std::string_view cursor = {});
  Result<Queue> queue(std::string_view name);
  // `settings` is a JSON object. Replaces all settings, making the queue if there is none.
  Result<Queue> put_queue(std::string_view name, std::string_view settings);
  // Changes those named. A queue that is not there is an error, unless it is to be made: so that a
  // misspelt name makes none.
  Result<Queue> patch_queue(std::string_view name, std::string_view settings,
                            IfMissing if_missing = IfMissing::kFail);
  Result<Queue> pause(std::string_view name, std::string_view reason = {},
                      IfMissing if_missing = IfMissing::kFail);
  Result<Queue> resume(std::string_view name);
  // An empty one; with `force` also its jobs, within `timeout`.
  Result<void> delete_queue(std::string_view name, bool force, Milliseconds timeout);

  // Those seen in the last minutes, or that hold a lease.
  Result<Page<SeenWorker>> workers(std::string_view cursor = {});
  // Told with its next poll: to claim no more; to end when its jobs have.
  Result<SeenWorker> quiet_worker(std::string_view id);
  Result<SeenWorker> stop_worker(std::string_view id);

  // Oldest first. `next_cursor` is never empty: it goes on after the page.
  Result<Page<Event>> events(const EventFilter& filter);
  Result<Stats> stats(const StatsFilter& filter = {});

  // The nodes and who leads which shard.
  Result<Cluster> cluster();
  // Whether a node is to give up what it leads. The answer is how all stand then.
  Result<Cluster> drain_node(std::string_view id);
  Result<Cluster> undrain_node(std::string_view id);

  Result<ServerInfo> server_info();
  // A server that answers that it is not ready is no error.
  Result<Readiness> readiness();

  // A worker's round trip; see worker.h for the whole of a worker. `timeout`: where it is shorter
  // than the client's.
  Result<PollAnswer> poll(std::string_view worker_id, const PollRequest& request,
                          std::stop_token stop = {}, std::optional<Milliseconds> timeout = {});

  // Any other call. A status that is not 2xx is an Error.
  Result<Response> call(Request request);

  const std::string& url() const { return options_.url; }
  const std::string& token() const { return options_.token; }

 private:
  Result<Response> send_repeatedly(Request request);

  ClientOptions options_;
  std::shared_ptr<Transport> transport_;
};

// Percent-encodes what must not stand in one segment of a path or in a query value.
std::string url_encode(std::string_view text);

}  // namespace millrace::sdk
