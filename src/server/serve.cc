#include "server/serve.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>

#include "base/random.h"
#include "base/version.h"
#include "engine/event_feed.h"
#include "engine/reads.h"
#include "engine/statistics.h"
#include "http/server.h"
#include "server/driver.h"
#include "server/memory_gauge.h"
#include "server/metrics.h"
#include "server/operations.h"
#include "server/process.h"
#include "server/request_log.h"
#include "server/statistics_keeper.h"
#include "server/system_time.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;
using SteadyClock = std::chrono::steady_clock;

constexpr int kOk = 0;
constexpr int kFailure = 1;
constexpr int kInterrupted = 130;
constexpr std::uint32_t kShard = 0;  // the one there is
constexpr std::uint64_t kMostCacheBytes = std::uint64_t{64} << 20;
// What comes after the drain (closing files) may take this much longer before it is cut off.
constexpr auto kClosingTime = 500ms;

class WallClock final : public http::Clock {
 public:
  Time now() const override { return system_time().wall(); }
  http::Steady steady() const override { return SteadyClock::now(); }
};

// Hands each durable batch to everyone who wants to know, in this order.
class DurableFanOut final : public engine::DurableObserver {
 public:
  explicit DurableFanOut(std::array<engine::DurableObserver*, 3> observers)
      : observers_(observers) {}
  void durable(Seq seq, const core::EventBatch& batch) override {
    for (engine::DurableObserver* const observer : observers_) observer->durable(seq, batch);
  }

 private:
  std::array<engine::DurableObserver*, 3> observers_;
};

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

core::Retention retention_of(const Config& config) {
  return {.succeeded = config.keep_succeeded,
          .dead = config.keep_dead,
          .cancelled = config.keep_cancelled,
          .expired = config.keep_expired};
}

std::uint64_t memory_bytes(const Config& config) {
  return config.memory != 0 ? config.memory : usable_memory() / 2;
}

DriverOptions driver_options(const Config& config) {
  DriverOptions options;
  options.shard.machine.default_retention = retention_of(config);
  options.shard.machine.max_keys = config.max_keys;
  options.memory_bytes = memory_bytes(config);
  // Changes that wait for the tables hold their payloads too.
  options.shard.machine.keep_bytes = options.memory_bytes / 4;
  options.shard.max_bytes_held = options.memory_bytes / 2;
  options.liveness_file = std::filesystem::path(config.data) / "alive";
  options.events = {.age = config.keep_events, .bytes = config.keep_events_bytes};
  return options;
}

http::ServerOptions http_options(const Config& config) {
  const ListenAddress address = *parse_listen(config.listen);
  http::ServerOptions options;
  options.host = address.host;
  options.port = address.port;
  options.io_threads = config.io_threads;
  options.limits = {.body_bytes = config.body_bytes,
                    .payload_bytes = config.payload_bytes,
                    .json_depth = config.json_depth};
  // An eighth, but room for two of the largest.
  options.bodies_bytes =
      std::max<std::size_t>(memory_bytes(config) / 8, 2 * options.limits.body_bytes);
  options.head_limits = {.block_bytes = config.header_block_bytes,
                         .fields = config.headers,
                         .target_bytes = config.target_bytes};
  options.header_timeout = config.header_timeout;
  options.idle_timeout = config.idle_timeout;
  options.max_connections = config.connections;
  options.max_connections_per_address = config.connections;
  options.idempotency_window = config.idempotency_window;
  options.default_retention = retention_of(config);
  return options;
}

// Ends the process when a second signal comes or the time is over: everything that was acknowledged
// is in the journal, so that this is safe, only less tidy.
class ImpatientExit {
 public:
  ImpatientExit(StopSignals& signals, SteadyClock::time_point deadline)
      : signals_(signals), thread_([this, deadline] { watch(deadline); }) {}
  ~ImpatientExit() {
    over_ = true;
    signals_.ring();
    thread_.join();
  }
  ImpatientExit(const ImpatientExit&) = delete;
  ImpatientExit& operator=(const ImpatientExit&) = delete;

 private:
  void watch(SteadyClock::time_point deadline) {
    while (!over_) {
      switch (signals_.wait(deadline)) {
        case StopSignals::Woken::kSignal:
          std::_Exit(kInterrupted);
        case StopSignals::Woken::kTimeout:
          std::_Exit(kOk);
        case StopSignals::Woken::kBell:
          break;
      }
    }
  }

  StopSignals& signals_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

// A running server; members in the order in which they need each other.
class Server {
 public:
  Server(const LoadedConfig& loaded, StopSignals& signals, Logger log)
      : config_(loaded.config), signals_(signals), log_(std::move(log)) {}

  Status start() {
    log_.info("starting",
              {{"version", version()}, {"commit", build_commit()}, {"pid", ::getpid()}});
    if (Status status = open_store(); !status) return status;
    if (Status status = start_shard(); !status) return status;
    return start_http();
  }

  // Until a signal comes or the shard ends; the process's exit code.
  int run() {
    while (signals_.wait() != StopSignals::Woken::kSignal) {
      if (driver_->status().ended) return stop_broken();
    }
    return stop();
  }

 private:
  bool on_postgres() const { return !config_.postgres.empty(); }

  Result<store::Store> open_sqlite() {
    return store::open_sqlite_store(
        {.directory = config_.data,
         .clock = [] { return SteadyClock::now(); },
         .log = log_,
         .cache_bytes = std::min(kMostCacheBytes, memory_bytes(config_) / 16)});
  }

  Result<store::Store> open_postgres() {
    // For the liveness stamp.
    std::error_code error;
    std::filesystem::create_directories(config_.data, error);
    if (error) return failure(fmt::format("{}: {}", config_.data, error.message()));
    auto node = store::PostgresNode::open({.url = config_.postgres,
                                           .clock = [] { return SteadyClock::now(); },
                                           .log = log_,
                                           .allow_unsafe = config_.allow_unsafe_postgres,
                                           .shards = 1});
    if (!node) return std::unexpected(std::move(node.error()));
    postgres_ = std::move(*node);
    return postgres_->open_shard(kShard);
  }

  // For the log.
  std::string engine_version() const {
    return on_postgres() ? "PostgreSQL " + postgres_->facts().version_text
                         : fmt::format("SQLite {}", store::sqlite_version());
  }

  Status open_store() {
    auto opened = on_postgres() ? open_postgres() : open_sqlite();
    if (!opened) return std::unexpected(std::move(opened.error()));
    store_ = std::move(*opened);
    keeper_ = std::make_unique<StatisticsKeeper>(statistics_, store_, log_);
    keeper_->restore();
    const auto extent = store_.journal->extent();
    if (!extent) return std::unexpected(extent.error());
    feed_ = std::make_unique<engine::EventFeed>(*store_.journal, extent->newest);
    fan_out_ = std::make_unique<DurableFanOut>(
        std::array<engine::DurableObserver*, 3>{&statistics_, feed_.get(), &metrics_});
    return {};
  }

  Status start_shard() {
    const auto begin = SteadyClock::now();
    auto started = Driver::start(driver_options(config_),
                                 {.store = store_,
                                  .time = system_time(),
                                  .observer = *fan_out_,
                                  .probe = metrics_,
                                  .chores = [this](Time now) { keeper_->save_now_and_then(now); },
                                  .on_settled =
                                      [this] {
                                        settled_.release();
                                        signals_.ring();
                                      },
                                  .log = log_});
    if (!started) return std::unexpected(std::move(started.error()));
    driver_ = std::move(*started);
    const auto took = std::chrono::duration_cast<Duration>(SteadyClock::now() - begin);
    log_.info("store opened",
              {{"data", std::filesystem::absolute(config_.data).lexically_normal().string()},
               {"store", store_.id},
               {"engine", engine_version()},
               {"jobs", driver_->status().figures.jobs_in_memory},
               {"recovery_ms", took.count()}});
    return {};
  }

  Status start_http() {
    auto tokens = http::TokenBook::make(config_.tokens);
    if (!tokens) return std::unexpected(std::move(tokens.error()));
    tokens_ = std::make_unique<http::TokenBook>(std::move(*tokens));
    reads_ = std::make_unique<engine::Reads>(*store_.tables);
    operations_ = std::make_unique<ServerOperations>(
        http::About{.version = std::string(version()),
                    .commit = std::string(build_commit()),
                    .store = on_postgres() ? "postgres" : "sqlite",
                    .node = host_name(),
                    .shards = 1,
                    .started_at = system_time().wall()},
        ServerOperations::Parts{.store = store_,
                                .driver = *driver_,
                                .metrics = metrics_,
                                .statistics = statistics_,
                                .log = log_});
    request_log_ = std::make_unique<RequestLog>(metrics_, log_);
    http_ = std::make_unique<http::HttpServer>(http_options(config_),
                                               http::ServerParts{.gateway = *driver_,
                                                                 .reads = *reads_,
                                                                 .feed = *feed_,
                                                                 .statistics = statistics_,
                                                                 .tokens = *tokens_,
                                                                 .operations = *operations_,
                                                                 .observer = *request_log_,
                                                                 .clock = clock_,
                                                                 .seed = system_random()});
    if (Status status = http_->start(); !status) return status;
    if (config_.tokens.empty()) {
      log_.warn("no tokens are configured: whoever is on this machine may use the server");
    }
    ListenAddress address = *parse_listen(config_.listen);
    address.port = http_->port();
    log_.info("listening", {{"url", "http://" + to_string(address)}});
    return {};
  }

  // All that was taken is answered, committed and projected, within the time there is for it.
  int stop() {
    const auto deadline = SteadyClock::now() + config_.drain;
    log_.info("stopping", {{"drain", format_duration(config_.drain)}});
    const ImpatientExit impatient(signals_, deadline + kClosingTime);
    http_->drain();
    driver_->drain();
    const bool drained = settled_.try_acquire_until(deadline);
    const auto left = std::chrono::duration_cast<Duration>(deadline - SteadyClock::now());
    http_->close(std::max(left, Duration{0}));
    driver_->stop();
    keeper_->save();
    const DriverStatus status = driver_->status();
    http_.reset();
    driver_.reset();
    store_ = {};
    if (status.ended) return kFailure;
    log_.info("stopped", {{"drained", drained}});
    return kOk;
  }

  // The journal can't be written any more: what is told to clients is that, and the next start
  // repairs.
  int stop_broken() {
    http_->drain();
    http_->close(kClosingTime);
    driver_->stop();
    log_.error("stopped: start the server again; it checks its journal before it serves");
    return kFailure;
  }

  const Config& config_;
  StopSignals& signals_;
  const Logger log_;
  WallClock clock_;
  std::counting_semaphore<> settled_{0};

  engine::Statistics statistics_;
  Metrics metrics_;
  std::unique_ptr<store::PostgresNode> postgres_;  // null on SQLite
  store::Store store_;
  std::unique_ptr<StatisticsKeeper> keeper_;
  std::unique_ptr<engine::EventFeed> feed_;
  std::unique_ptr<DurableFanOut> fan_out_;
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<http::TokenBook> tokens_;
  std::unique_ptr<engine::Reads> reads_;
  std::unique_ptr<ServerOperations> operations_;
  std::unique_ptr<RequestLog> request_log_;
  std::unique_ptr<http::HttpServer> http_;
};

}  // namespace

int serve(const LoadedConfig& loaded) {
  prepare_process();
  StopSignals signals;
  const auto sink = make_stderr_sink();
  const Logger log(*sink, loaded.config.log_format, loaded.config.log_level,
                   [] { return system_time().wall(); });
  Server server(loaded, signals, log);
  if (const Status status = server.start(); !status) {
    log.error("can't start", {{"reason", status.error().message}});
    return kFailure;
  }
  return server.run();
}

}  // namespace millrace::server
