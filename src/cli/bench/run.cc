#include "cli/bench/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "api/bounds.h"
#include "base/random.h"
#include "base/shown_url.h"
#include "cli/bench/server.h"
#include "cli/bench/shared.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/signals.h"

namespace millrace::cli {
namespace {

constexpr std::string_view kBacklogType = "bench-backlog";
constexpr int kBacklogPriority = 1'000;  // lower runs first
constexpr int kBacklogBatch = 1'000;
constexpr std::chrono::minutes kSettleWithin{5};
constexpr std::chrono::minutes kPurgeWithin{10};

// A worker of the SDK names all its queues in each claim.
std::optional<std::string> refuse_queues(const BenchSetup& setup) {
  const int most = static_cast<int>(api::kMaxClaimQueues);
  if (!setup.uses_sdk || setup.queues <= setup.workers * most) return std::nullopt;
  return fmt::format(
      "a worker of the SDK serves at most {} queues; for {} queues give --workers {} or more", most,
      setup.queues, (setup.queues - 1) / most + 1);
}

// Uses new queues, so that nothing else is measured and no other user's jobs are taken.
sdk::Result<std::vector<std::string>> make_queues(std::string_view bench, const BenchSetup& setup,
                                                  sdk::Client& client) {
  const auto keep = setup.retention.value_or(sdk::Milliseconds{0}).count();
  std::string settings = fmt::format(
      R"({{"retention":{{"succeeded_ms":{0},"dead_ms":{0},"cancelled_ms":{0},"expired_ms":{0}}})",
      keep);
  if (setup.concurrency > 0) settings += fmt::format(R"(,"concurrency":{})", setup.concurrency);
  if (setup.rate > 0)
    settings += fmt::format(R"(,"rate":{{"limit":{},"per_ms":1000}})", setup.rate);
  if (setup.fair_keys > 0) settings += R"(,"fair":{})";
  settings += '}';
  std::vector<std::string> names;
  const std::uint64_t run = system_random();
  for (int i = 0; i < setup.queues; ++i) {
    names.push_back(fmt::format("bench-{}-{:08x}-{}", bench, run >> 32, i));
    const auto made = client.put_queue(names.back(), settings);
    if (!made) return std::unexpected(made.error());
  }
  return names;
}

// Waits until the tables hold all submitted jobs, since writing them is not part of the
// measurement. The server itself waits for some seconds. A token without read access skips this.
Status await_tables(const Bench& bench) {
  const auto deadline = std::chrono::steady_clock::now() + kSettleWithin;
  for (;;) {
    const auto read =
        bench.client.call({.path = "/v1/jobs?limit=1&fresh=true", .stop = bench.stop});
    if (bench.stop.stop_requested()) return failure("interrupted");
    if (read || !read.error().is_temporary()) return {};
    if (std::chrono::steady_clock::now() > deadline) return failure(explain(read.error()));
    std::this_thread::sleep_for(kPauseAfterRefusal);
  }
}

Result<LoadResult> submit_backlog(const Bench& bench) {
  LoadPlan plan = bench.plan();
  plan.jobs = bench.setup.backlog;
  plan.workers = 0;
  plan.producers = std::min(bench.setup.producers, 8);
  plan.batch = kBacklogBatch;
  plan.type = kBacklogType;
  plan.priority = kBacklogPriority;
  ProgressLine progress;
  auto loaded = run_load(
      plan, progress.counts(fmt::format("submitting a backlog of {} jobs", bench.setup.backlog)));
  if (!loaded) return loaded;
  if (auto settled = await_tables(bench); !settled) return std::unexpected(settled.error());
  return loaded;
}

// Deletes the waiting jobs, then the queue. Running jobs can't be deleted; their leases expire by
// themselves.
sdk::Result<void> clean_up(sdk::Client& client, const std::string& queue, bool keeps_ended) {
  auto purged = client.call({.method = "POST",
                             .path = "/v1/queues/" + sdk::url_encode(queue) + "/purge",
                             .body = "{}",
                             .timeout = kPurgeWithin});
  if (!purged) return std::unexpected(std::move(purged.error()));
  if (keeps_ended) return {};
  return client.delete_queue(queue, true, kPurgeWithin);
}

void clean_up_queues(const Session& session, const Bench& bench) {
  auto client = session.connect();
  if (!client) return;
  if (bench.stop.stop_requested())
    note("the bench deletes the waiting jobs; a second signal stops it at once");
  const bool keeps_ended = bench.setup.retention.value_or(sdk::Milliseconds{0}).count() > 0;
  for (const std::string& queue : bench.queues) {
    const auto cleaned = clean_up(*client, queue, keeps_ended);
    if (cleaned) continue;
    const std::string next =
        fmt::format("`millrace queue delete {} --force` deletes the queue", queue);
    if (session.stop.stop_requested()) {
      return note(
          fmt::format("the bench did not delete {} and the other new queues; {}", queue, next));
    }
    note(fmt::format("the bench could not delete {}: {}; {}", queue, explain(cleaned.error()),
                     next));
  }
}

Result<std::unique_ptr<OwnServer>> start_server(const BenchSetup& setup, Session& session) {
  auto server = OwnServer::start(setup.data, setup.memory);
  if (!server) return server;
  session.url = (*server)->url();
  // The bench's own server needs no secret.
  session.token.clear();
  session.token_file.clear();
  note(fmt::format(
      "no --url: the bench measures its own server at {}, with its store in {} until the end",
      session.url, (*server)->folder()));
  if (const char* url = std::getenv("MILLRACE_URL"); url != nullptr && *url != '\0') {
    note(fmt::format("the bench ignores MILLRACE_URL ({}); use --url to name a server", url));
  }
  if ((*server)->is_in_memory()) {
    note(
        "that folder is in memory, where a sync costs nothing; use --data to name a folder on a "
        "disk");
  }
  return server;
}

// `idle` says goodbye for its own workers.
bool has_workers(std::string_view bench) { return bench != "submit" && bench != "idle"; }

void run_on(std::string_view name, const BenchSetup& setup, Session& session,
            const std::stop_token& stop, bool is_own_server,
            const std::function<void(const Bench&)>& body) {
  session.with_client([&](sdk::Client& client) {
    const auto address = parse_address(client.url());
    if (!address) return session.fail(kUsage, address.error().message);
    auto queues = make_queues(name, setup, client);
    if (!queues) return session.fail(queues.error());
    const Bench bench{session, client,       setup, name, *address, std::move(*queues),
                      stop,    is_own_server};
    const auto backlog = setup.backlog > 0 ? submit_backlog(bench) : Result<LoadResult>{};
    if (backlog) {
      body(bench);
    } else {
      bench.fail(backlog.error());
    }
    // Workers of the SDK have said goodbye themselves, unless they were cancelled.
    const std::string_view kind = setup.uses_sdk ? "bench-sdk-" : "bench-";
    for (int i = 0; has_workers(name) && i < setup.workers; ++i) {
      bench.say_goodbye(fmt::format("{}{}", kind, i));
    }
    // The jobs of the bench's own server are deleted with its store.
    if (!is_own_server && !setup.keep) clean_up_queues(session, bench);
  });
}

}  // namespace

CLI::Range up_to(std::uint64_t most) { return CLI::Range(std::uint64_t{1}, most); }

void add_producers(CLI::App& command, BenchSetup& setup) {
  command
      .add_option("--producers,--connections", setup.producers,
                  fmt::format("Number of connections that submit (default: {})", setup.producers))
      ->check(up_to(1'000));
}

void add_workers(CLI::App& command, BenchSetup& setup) {
  command
      .add_option(
          "--workers", setup.workers,
          fmt::format("Number of connections that claim and complete (default: {})", setup.workers))
      ->check(up_to(1'000));
}

void add_batch(CLI::App& command, BenchSetup& setup) {
  command
      .add_option("--batch", setup.batch,
                  fmt::format("Jobs per call, 1 to 1000 (default: {})", setup.batch))
      ->check(up_to(1'000));
}

void add_sdk(CLI::App& command, BenchSetup& setup) {
  command.add_flag("--sdk", setup.uses_sdk,
                   "Use workers of the SDK, each with --batch jobs at a time (default: the bench's "
                   "own workers)");
}

void add_queues(CLI::App& command, BenchSetup& setup) {
  command
      .add_option(
          "--payload", setup.payload,
          fmt::format("Bytes per payload, at least {} (default: {})", kLeastPayload, setup.payload))
      ->check(CLI::Range(kLeastPayload, std::size_t{1} << 20));
  command
      .add_option("--queues", setup.queues,
                  fmt::format("Number of new queues for the jobs (default: {})", setup.queues))
      ->check(up_to(10'000));
  add_duration(command, "--retention", setup.retention,
               "Time to keep ended jobs (default: 0, the bench leaves nothing behind)");
}

void add_flow(CLI::App& command, BenchSetup& setup) {
  command
      .add_option("--concurrency", setup.concurrency,
                  "Bound of the jobs of a queue that run together (default: 0, none)")
      ->check(CLI::Range(0, 1'000'000));
  command.add_option("--rate", setup.rate, "Bound of a queue's starts a second (default: 0, none)")
      ->check(CLI::Range(0, 1'000'000'000));
  command
      .add_option("--fair-keys", setup.fair_keys,
                  "Number of fair keys that the jobs have in turn (default: 0, none)")
      ->check(CLI::Range(0, 1'000'000));
}

void add_backlog(CLI::App& command, BenchSetup& setup) {
  command
      .add_option(
          "--backlog", setup.backlog,
          "Number of ready jobs behind all others; the bench purges them afterwards (default: 0)")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1'000'000'000}));
}

void add_own_server(CLI::App& command, BenchSetup& setup) {
  command
      .add_option(
          "--data", setup.data,
          "Folder for the store of the bench's own server, without --url (default: TMPDIR or /tmp)")
      ->type_name("FOLDER");
  command
      .add_option(
          "--memory", setup.memory,
          "Memory of that server, as in `serve --memory` (default: half of the machine's memory)")
      ->type_name("SIZE");
}

LoadPlan Bench::plan() const {
  return {.address = address,
          .token = client.token(),
          .queues = queues,
          .producers = setup.producers,
          .workers = setup.workers,
          .batch = setup.batch,
          .payload_bytes = setup.payload,
          .fair_keys = setup.fair_keys,
          .claims_by_type = setup.backlog > 0,
          .sdk_client = setup.uses_sdk ? &client : nullptr,
          .stop = stop};
}

ServerFigures Bench::server_figures() const {
  const auto metrics = client.call({.path = "/metrics"});
  return read_server_figures(metrics ? metrics->body : "", std::chrono::steady_clock::now());
}

void Bench::begin_report(sdk::JsonWriter& json) const {
  json.begin_object();
  json.key("bench").string(name);
  json.key("url").string(shown_url(client.url()));
  json.key("own_server").boolean(is_own_server);
}

void Bench::say_goodbye(std::string_view worker) const {
  if (!is_own_server && !session.stop.stop_requested()) {
    static_cast<void>(client.poll(worker, {.goodbye = true}));
  }
}

void Bench::fail(const Error& error) const {
  session.fail(stop.stop_requested() ? kInterrupted : kFailure, error.message);
}

void run_bench(std::string_view name, const BenchSetup& setup, Session& session,
               const std::function<void(const Bench&)>& body) {
  if (session.refuse_dashes()) return;
  if (const auto refusal = refuse_queues(setup)) return session.fail(kUsage, *refusal);
  std::stop_source stop;
  std::stop_source break_off;
  session.stop = break_off.get_token();
  const SignalWatcher signals([&](int count) {
    stop.request_stop();
    if (count > 1) break_off.request_stop();
  });
  if (!session.url.empty()) {
    return run_on(name, setup, session, stop.get_token(), false, body);
  }
  const auto server = start_server(setup, session);
  if (!server) return session.fail(kFailure, server.error().message);
  run_on(name, setup, session, stop.get_token(), true, body);
}

}  // namespace millrace::cli
