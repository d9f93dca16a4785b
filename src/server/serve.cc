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
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "base/version.h"
#include "engine/schedules/zones.h"
#include "http/server.h"
#include "net/address_set.h"
#include "net/listener.h"
#include "net/local_socket.h"
#include "net/tls.h"
#include "server/catalog_follower.h"
#include "server/config/config_keys.h"
#include "server/metrics/memory_gauge.h"
#include "server/metrics/metrics.h"
#include "server/operations.h"
#include "server/process/error_watch.h"
#include "server/process/process.h"
#include "server/process/request_log.h"
#include "server/process/stderr_sink.h"
#include "server/process/supervisor.h"
#include "server/process/system_time.h"
#include "server/push_service.h"
#include "server/shard/driver.h"
#include "server/stores/backend.h"
#include "server/traces/tracer.h"
#include "service/made_tokens.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using SteadyClock = std::chrono::steady_clock;

constexpr int kOk = 0;
constexpr int kFailure = 1;
constexpr int kBadConfiguration = 78;
constexpr int kInterrupted = 130;
// After the drain, closing files may take this much longer before the process is ended.
constexpr auto kClosingTime = 500ms;
constexpr auto kLookAtFiles = 1s;
constexpr auto kAwaitCatalog = 3s;

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

http::ServerOptions http_options(const Config& config) {
  http::ServerOptions options;
  options.host = config.listen.host;
  options.port = config.listen.port;
  options.path = config.listen.path;
  options.path_mode = static_cast<unsigned>(std::stoul(config.socket_mode, nullptr, 8));
  options.proxies = *net::AddressSet::parse(config.proxies);
  options.max_handshakes = config.tls_handshakes;
  options.failed_logins_per_minute = static_cast<std::uint32_t>(config.failed_logins);
  options.io_threads = config.io_threads;
  options.limits = {.body_bytes = config.body_bytes,
                    .payload_bytes = config.payload_bytes,
                    .json_depth = config.json_depth};
  // An eighth of the memory, but room for two of the largest bodies.
  options.bodies_bytes =
      std::max<std::size_t>(memory_bytes(config) / 8, 2 * options.limits.body_bytes);
  options.answers_bytes = memory_bytes(config) / 8;
  options.head_limits = {.block_bytes = config.header_block_bytes,
                         .fields = config.headers,
                         .target_bytes = config.target_bytes};
  options.header_timeout = config.header_timeout;
  options.idle_timeout = config.idle_timeout;
  options.max_connections = config.connections;
  options.max_connections_per_address = config.connections;
  options.idempotency_window = config.idempotency_window;
  options.default_retention = retention_of(config);
  options.audit_retention = config.keep_audit;
  return options;
}

DriverOptions driver_options(const Config& config, std::shared_ptr<engine::Zones> zones) {
  DriverOptions options;
  options.shard.zones = std::move(zones);
  options.shard.time = &system_time();
  options.shard.machine.default_retention = retention_of(config);
  options.shard.machine.max_keys = config.max_keys;
  options.shard.machine.audit_retention = config.keep_audit;
  options.memory_bytes = memory_bytes(config);
  options.shard.machine.keep_bytes = options.memory_bytes / 4;
  options.shard.max_bytes_held = options.memory_bytes / 2;  // with what waits for the tables
  options.shard.machine.max_limit_keys = options.memory_bytes / 1'024;  // of 300 bytes each
  options.shard.machine.max_queues = options.max_queues(1);
  options.shard.max_worker_bytes =
      std::min<std::uint64_t>(options.shard.max_worker_bytes, options.memory_bytes / 32);
  options.shard.machine.max_claim_bytes = http_options(config).page_bytes();
  options.liveness_file = std::filesystem::path(config.data) / "alive";
  options.events = {.age = config.keep_events, .bytes = config.keep_events_bytes};
  return options;
}

// Ends the process on a second signal or when the time is over. Everything acknowledged is in the
// journal, so this is safe, only less tidy.
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
        case StopSignals::Woken::kReload:
          break;
      }
    }
  }

  StopSignals& signals_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

net::TlsFiles tls_files(const Config& config) {
  return {config.tls_cert, config.tls_key, config.tls_ca};
}

std::string scheme(const Config& config) {
  return config.tls_cert.empty() ? "http://" : "https://";
}

// The URL at which other nodes reach this one: the address it listens at or, if it listens on all
// addresses, this host's name.
std::string advertised_url(const Config& config, std::uint16_t port) {
  if (!config.advertise.empty()) return config.advertise;
  ListenAddress address = config.listen;
  address.port = port;
  if (address.host == "0.0.0.0" || address.host == "::") address.host = host_name();
  return scheme(config) + to_string(address);
}

// A running server. Members are in the order of their dependencies.
class Server {
 public:
  using LoadAgain = std::function<std::expected<LoadedConfig, ConfigErrors>()>;

  Server(const LoadedConfig& loaded, LoadAgain load_again, StopSignals& signals,
         LevelFilter& filter, Logger log)
      : settings_(loaded.settings),
        config_file_(loaded.file),
        config_(loaded.config),
        load_again_(std::move(load_again)),
        signals_(signals),
        filter_(filter),
        log_(std::move(log)) {}

  ~Server() {
    // It reads the backend's tables.
    if (tracer_) tracer_->stop();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Status start() {
    log_.info("starting",
              {{"version", version()}, {"commit", build_commit()}, {"pid", ::getpid()}});
    // Checked before a store is created that nobody could reach.
    if (Status status = can_listen(config_.listen); !status) return status;
    if (Status status = load_tls(); !status) return status;
    if (Status status = start_serving(); !status) return status;
    if (Status status = start_http(); !status) return status;
    return begin();
  }

  // Runs until a signal comes or the store can't be served any more; returns the process's exit
  // code.
  int run() {
    while (true) {
      const auto woken = signals_.wait(SteadyClock::now() + kLookAtFiles);
      if (woken == StopSignals::Woken::kSignal) break;
      if (woken == StopSignals::Woken::kReload) read_again();
      if (backend_->broken()) return stop_broken();
      if (const auto file = backend_->removed_file()) {
        log_.error(
            "somebody removed a file of the running store; the server stops, because it can no "
            "longer keep jobs",
            {{"file", *file}});
        return stop_broken();
      }
      reload_tls();
      show_life();
    }
    return stop();
  }

 private:
  bool on_postgres() const { return !config_.postgres.empty(); }

  static Status can_listen(const ListenAddress& address) {
    if (!address.path.empty()) return net::can_listen_at(address.path);
    return net::can_listen(address.host, address.port);
  }

  // Applies the changes that a running server can take, and names the others.
  void read_again() {
    reload_tls();
    auto loaded = load_again_();
    if (!loaded) return refuse_reload(loaded.error());
    auto tokens = service::TokenBook::make(loaded->config.tokens);
    if (!tokens) return refuse_reload({tokens.error().message});
    if (tokens->empty() != config_.tokens.empty()) {
      return refuse_reload(
          {"the first token of the configuration, or none any more, needs a restart "
           "of the server"});
    }
    tokens_->configure(std::move(*tokens));
    show_configuration(*loaded);
    filter_.set_least(loaded->config.log_level);
    config_.drain = loaded->config.drain;
    http_->set_failed_logins_per_minute(static_cast<std::uint32_t>(loaded->config.failed_logins));
    std::string waiting;
    const auto keys = config_keys();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const bool differs = loaded->settings[i].value != settings_[i].value;
      if (!differs || keys[i].reload == Reload::kAtOnce) continue;
      waiting += fmt::format("{}{}", waiting.empty() ? "" : ", ", keys[i].name);
    }
    log_.info("the server read its configuration again",
              {{"file", loaded->file}, {"tokens", loaded->config.tokens.size()}});
    if (!waiting.empty()) {
      log_.warn("these keys have new values, which need a restart of the server",
                {{"keys", waiting}});
    }
  }

  // `loaded`: the configuration read last. For keys that need a restart, the values from the start
  // remain in force.
  void show_configuration(const LoadedConfig& loaded) {
    api::Configuration shown{loaded.file, {}};
    const auto keys = config_keys();
    for (std::size_t i = 0; i < loaded.settings.size(); ++i) {
      const Setting& now = loaded.settings[i];
      const bool waits = i < keys.size() && keys[i].reload == Reload::kNeedsRestart &&
                         now.value != settings_[i].value;
      const Setting& in_force = waits ? settings_[i] : now;
      shown.settings.push_back({in_force.key, in_force.value, in_force.source,
                                waits ? std::optional(now.value) : std::nullopt});
    }
    operations_->configure(std::move(shown));
  }

  void refuse_reload(const ConfigErrors& errors) {
    for (const std::string& error : errors) {
      log_.error("the server keeps its former configuration, because it can't use the new one",
                 {{"reason", error}});
    }
  }

  Status load_tls() {
    if (config_.tls_cert.empty()) return {};
    const net::TlsFiles files = tls_files(config_);
    auto server = net::Tls::load(net::TlsSide::kServer, files);
    if (!server) return std::unexpected(std::move(server.error()));
    tls_ = std::move(*server);
    auto node = net::Tls::load(net::TlsSide::kClient, files);
    if (!node) return std::unexpected(std::move(node.error()));
    node_tls_ = std::move(*node);
    return {};
  }

  // Certificates are renewed while the server runs.
  void reload_tls() {
    for (net::Tls* const tls : {tls_.get(), node_tls_.get()}) {
      if (tls == nullptr) continue;
      const auto reloaded = tls->reload_if_changed();
      if (!reloaded) {
        log_.error("the server keeps its former certificates, because it can't use the new ones",
                   {{"reason", reloaded.error().message}});
      } else if (*reloaded && tls == tls_.get()) {
        log_.info("the server read its certificates again", {{"file", config_.tls_cert}});
      }
    }
  }

  Status start_serving() {
    const auto begin = SteadyClock::now();
    if (!config_.otlp_endpoint.empty()) make_tracer();
    BackendParts parts{
        .config = config_,
        .driver = driver_options(config_, zones_),
        .metrics = metrics_,
        .observer = tracer_ ? static_cast<engine::DurableObserver&>(*tracer_) : metrics_,
        .settled = [this] { signals_.ring(); },
        .tls = node_tls_.get(),
        .log = log_};
    auto backend = on_postgres() ? make_postgres_backend(std::move(parts))
                                 : make_sqlite_backend(std::move(parts));
    if (!backend) return std::unexpected(std::move(backend.error()));
    backend_ = std::move(*backend);
    if (tracer_) tracer_->start(backend_->parts().reads());
    const auto took = std::chrono::duration_cast<Duration>(SteadyClock::now() - begin);
    log_.info("the server opened the store", {{"data", data()},
                                              {"store", backend_->store_id()},
                                              {"engine", backend_->engine_version()},
                                              {"unfinished", jobs_in_memory()},
                                              {"recovery_ms", took.count()}});
    return {};
  }

  void make_tracer() {
    std::uint64_t instance = system_random();
    tracer_ = std::make_unique<Tracer>(Tracer::Parts{
        .next = metrics_,
        .post = push::make_span_post(config_.otlp_endpoint, fmt::format("millrace/{}", version())),
        .resource = {.version = std::string(version()),
                     .host = host_name(),
                     .instance = fmt::format("{:016x}", instance)},
        .log = log_});
  }

  // For the log.
  std::string data() const {
    if (on_postgres()) return "postgres";
    return std::filesystem::absolute(config_.data).lexically_normal().string();
  }
  std::size_t jobs_in_memory() const {
    std::size_t jobs = 0;
    for (const ShardReport& shard : backend_->shards()) {
      if (shard.driver) jobs += shard.driver->figures.jobs_in_memory;
    }
    return jobs;
  }

  Status start_http() {
    auto tokens = service::TokenBook::make(config_.tokens);
    if (!tokens) return std::unexpected(std::move(tokens.error()));
    tokens_ = std::make_unique<service::Tokens>(std::move(*tokens), &made_tokens_);
    errors_ = std::make_unique<ErrorWatch>(
        ErrorWatch::Parts{.backend = *backend_, .catalog = catalog_, .clock = clock_, .log = log_});
    operations_ = std::make_unique<ServerOperations>(
        service::About{.version = std::string(version()),
                       .commit = std::string(build_commit()),
                       .store = on_postgres() ? "postgres" : "sqlite",
                       .node = host_name(),
                       .shards = backend_->parts().shards(),
                       .started_at = system_time().wall()},
        ServerOperations::Parts{
            .backend = *backend_,
            .metrics = metrics_,
            .catalog = catalog_,
            .log = log_,
            .push_health = [this] { return push_->all_health(); },
            .error_groups = [this] { return errors_->counts(); },
            .trace_counts = count_traces(),
            .directory = on_postgres() ? std::string() : config_.data,
            .certificate_ends = [this] { return tls_ ? tls_->expires_at() : std::nullopt; }});
    show_configuration({config_, settings_, config_file_});
    request_log_ = std::make_unique<RequestLog>(metrics_, log_, &filter_);
    push_ =
        std::make_unique<PushService>(PushService::Parts{.backend = *backend_,
                                                         .catalog = catalog_,
                                                         .clock = clock_,
                                                         .policy = *push_policy(config_),
                                                         .max_result_bytes = config_.payload_bytes,
                                                         .log = log_});
    ShardParts& parts = backend_->parts();
    http_ = std::make_unique<http::HttpServer>(http_options(config_),
                                               http::ServerParts{.gateway = backend_->gateway(),
                                                                 .reads = parts.reads(),
                                                                 .feed = parts.feed(),
                                                                 .models = parts.models(),
                                                                 .tokens = *tokens_,
                                                                 .catalog = catalog_,
                                                                 .operations = *operations_,
                                                                 .observer = *request_log_,
                                                                 .clock = clock_,
                                                                 .zones = *zones_,
                                                                 .seed = system_random(),
                                                                 .peers = peers(),
                                                                 .make_stream = stream_maker(),
                                                                 .push = push_.get()});
    if (Status status = http_->start(); !status) return status;
    if (config_.tokens.empty()) {
      log_.warn(
          "the configuration has no tokens, so every user of this machine can use the server");
    }
    return {};
  }

  // Resolved groups are the first to make room for others.
  void tell_models_of_errors() {
    for (std::uint32_t shard = 0; shard < backend_->parts().shards(); ++shard) {
      backend_->parts().models().of(shard).set_resolved([this](std::uint64_t fingerprint,
                                                               Time last_seen) {
        const auto entry = catalog_.snapshot();
        const auto* const known =
            entry->find(core::CatalogKind::kErrorGroup, service::error_group_id(fingerprint));
        const auto state =
            known == nullptr ? std::nullopt : api::read_stored_error_group(known->body.view());
        return state && state->status == api::ErrorStatus::kResolved && last_seen <= state->since;
      });
    }
  }

  std::function<TraceCounts()> count_traces() const {
    if (!tracer_) return nullptr;
    return [tracer = tracer_.get()] { return tracer->counts(); };
  }

  net::StreamMaker stream_maker() const {
    if (tls_ == nullptr) return net::make_tcp_stream;
    return [tls = tls_.get()](net::Socket socket) { return tls->accept(std::move(socket)); };
  }

  std::optional<http::PeerParts> peers() {
    engine::PeerService* const service = backend_->peer_service();
    if (service == nullptr) return std::nullopt;
    return http::PeerParts{.service = *service,
                           .secret = backend_->peer_secret(),
                           .log = log_,
                           .certified = !config_.tls_ca.empty()};
  }

  Status begin() {
    if (Status begun = backend_->begin(advertised_url(config_, http_->port())); !begun) {
      http_->close({});
      push_->stop({});
      backend_->stop();
      return begun;
    }
    follower_ = std::make_unique<CatalogFollower>(backend_->gateway(), catalog_);
    await_catalog();
    tell_models_of_errors();
    errors_->start();
    ListenAddress address = config_.listen;
    address.port = http_->port();
    push_->start();
    const std::string at = to_string(address);
    log_.info("listening", {{"url", address.path.empty() ? scheme(config_) + at : at}});
    supervisor_.ready();
    return {};
  }

  // Ensures that tokens made at run time are known once the server reports ready. A node that can't
  // reach the first shard's leader continues without them.
  void await_catalog() const {
    const auto deadline = SteadyClock::now() + kAwaitCatalog;
    while (catalog_.heard_at() == Steady::min() && SteadyClock::now() < deadline) {
      std::this_thread::sleep_for(5ms);
    }
  }

  // A process whose shards do not answer is useless, even if its timers still run.
  void show_life() {
    const auto now = SteadyClock::now();
    if (supervisor_.awaits_sign_of_life(now) && operations_->shards_answer()) {
      supervisor_.alive(now);
    }
  }

  // All accepted work is answered, committed and projected, or handed to another node, within the
  // drain time.
  int stop() {
    const auto deadline = SteadyClock::now() + config_.drain;
    supervisor_.stopping();
    log_.info("stopping", {{"drain", format_duration(config_.drain)}});
    const ImpatientExit impatient(signals_, deadline + kClosingTime);
    http_->drain();
    push_->stop(SteadyClock::now() + config_.drain / 2);
    const bool drained = backend_->drain(deadline);
    const auto left = std::chrono::duration_cast<Duration>(deadline - SteadyClock::now());
    http_->close(std::max(left, Duration{0}));
    const bool broken = backend_->broken();
    errors_->stop();
    follower_->stop();
    backend_->stop();
    if (tracer_) tracer_->stop();
    http_.reset();
    push_.reset();
    backend_.reset();
    if (broken) return kFailure;
    log_.info("stopped", {{"drained", drained}});
    return kOk;
  }

  // The journal can't be written any more. Clients are told so, and the next start repairs it.
  int stop_broken() {
    supervisor_.stopping();
    http_->drain();
    http_->close(kClosingTime);
    push_->stop({});
    errors_->stop();
    follower_->stop();
    backend_->stop();
    log_.error(
        "the server stopped after a failure; start it again, and it checks its journal first");
    return kFailure;
  }

  const std::vector<Setting> settings_;  // in force at the start
  const std::string config_file_;        // empty: none
  Config config_;
  const LoadAgain load_again_;
  StopSignals& signals_;
  LevelFilter& filter_;
  const Logger log_;
  SystemClock clock_;
  const std::shared_ptr<engine::Zones> zones_ =
      std::make_shared<engine::ZoneCache>(config_.zoneinfo, system_time());
  Supervisor supervisor_ = Supervisor::from_environment();

  Metrics metrics_;
  std::unique_ptr<net::Tls> tls_;       // null: plain HTTP
  std::unique_ptr<net::Tls> node_tls_;  // for calls to other nodes
  std::unique_ptr<Tracer> tracer_;      // null: no traces are exported
  std::unique_ptr<Backend> backend_;
  service::Catalog catalog_;
  service::CatalogTokens made_tokens_{catalog_, clock_, log_};
  std::unique_ptr<CatalogFollower> follower_;
  std::unique_ptr<ErrorWatch> errors_;
  std::unique_ptr<service::Tokens> tokens_;
  std::unique_ptr<ServerOperations> operations_;
  std::unique_ptr<RequestLog> request_log_;
  std::unique_ptr<PushService> push_;
  std::unique_ptr<http::HttpServer> http_;
};

}  // namespace

Status check_files(const LoadedConfig& loaded) {
  if (const auto policy = push_policy(loaded.config); !policy) {
    return failure(with_source(policy.error().message, loaded.settings));
  }
  if (loaded.config.tls_cert.empty()) return {};
  const auto tls = net::Tls::load(net::TlsSide::kServer, tls_files(loaded.config));
  return tls ? Status() : std::unexpected(tls.error());
}

int serve(const LoadedConfig& loaded,
          const std::function<std::expected<LoadedConfig, ConfigErrors>()>& load_again) {
  if (const auto policy = push_policy(loaded.config); !policy) {
    fmt::print(stderr, "millrace: {}\n", with_source(policy.error().message, loaded.settings));
    return kBadConfiguration;
  }
  prepare_process();
  bound_heap(memory_bytes(loaded.config));
  StopSignals signals(meaning_of_hangup());
  const auto sink = make_stderr_sink();
  LevelFilter filter(*sink, loaded.config.log_level);
  const Logger log(filter, loaded.config.log_format, LogLevel::kDebug,
                   [] { return system_time().wall(); });
  if (!loaded.warning.empty()) log.warn(loaded.warning);
  Server server(loaded, load_again, signals, filter, log);
  if (const Status status = server.start(); !status) {
    log.error("the server can't start", {{"reason", status.error().message}});
    return kFailure;
  }
  return server.run();
}

}  // namespace millrace::server
