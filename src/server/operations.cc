#include "server/operations.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "service/made_tokens.h"

namespace millrace::server {
namespace {

namespace fs = std::filesystem;

// The longest that a scrape waits for a shard; that shard's figures are then missing.
constexpr Duration kQueuesPatience{2'000};

std::uint64_t size_of_directory(const fs::path& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::uint64_t size = entry.is_regular_file(error) ? entry.file_size(error) : 0;
    if (!error) bytes += size;
  }
  return bytes;
}

api::Problem path_fault(std::string detail) {
  return api::make_fault(api::FieldError::Place::kPointer, "/path", std::move(detail));
}

}  // namespace

std::optional<engine::Answer> ShardQuestions::ask(engine::Gateway& gateway, engine::Request request,
                                                  Duration patience, std::string_view credentials) {
  engine::Ticket ticket{};
  {
    const MutexLock lock(mutex_);
    ticket = engine::Ticket{++last_ticket_};
    open_.emplace(ticket, std::nullopt);
  }
  gateway.submit(std::move(request), *this, ticket, credentials);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const MutexLock lock(mutex_);
  while (!open_.at(ticket) && answered_.wait_until(mutex_, deadline)) {
  }
  return std::move(open_.extract(ticket).mapped());
}

void ShardQuestions::deliver(std::span<engine::Delivery> deliveries) {
  {
    const MutexLock lock(mutex_);
    for (engine::Delivery& delivery : deliveries) {
      const auto at = open_.find(delivery.ticket);
      if (at != open_.end()) at->second = std::move(delivery.answer);
    }
  }
  answered_.notify_all();
}

ServerOperations::ServerOperations(service::About about, Parts parts)
    : about_(std::move(about)),
      parts_(std::move(parts)),
      sampler_(
          [this](engine::Gateway& gateway, core::Command command) -> std::optional<core::Reply> {
            auto answer = questions_.ask(gateway, std::move(command), kQueuesPatience);
            auto* const reply = answer ? std::get_if<core::Reply>(&*answer) : nullptr;
            if (reply == nullptr) return std::nullopt;
            return std::move(*reply);
          },
          parts_.backend.parts().models()) {}

service::Readiness ServerOperations::readiness() const {
  service::Readiness readiness;
  const std::vector<ShardReport> shards = parts_.backend.shards();
  const bool several = shards.size() > 1;
  Duration ahead{};
  for (const ShardReport& shard : shards) {
    // A shard led by another node is reached there.
    const auto name = [&](const char* what) {
      return several ? fmt::format("{} {}", what, shard.shard) : std::string(what);
    };
    if (!shard.driver) {
      const bool led = !shard.leader_url.empty();
      readiness.checks.push_back(
          {name("shard"), led, led ? "led by " + shard.leader_url : "no node leads the shard"});
      continue;
    }
    const DriverStatus& status = *shard.driver;
    readiness.draining |= status.draining;
    readiness.checks.push_back(
        {name("shard"), !status.ended && !status.in_doubt,
         status.in_doubt ? "the node could not renew its lease" : status.ended.value_or("")});
    readiness.checks.push_back({name("journal"), !status.journal_failing && !status.ended,
                                status.journal_failing ? "can't be written" : ""});
    readiness.checks.push_back(
        {name("tables"), !status.tables_failing, status.tables_failing ? "can't be written" : ""});
    if (status.wall_ahead > ahead || ahead == Duration{}) ahead = status.wall_ahead;
  }
  // Without a current catalog, tokens made at run time are not recognised.
  const Steady heard = parts_.catalog.heard_at();
  const bool known =
      heard != Steady::min() && std::chrono::steady_clock::now() - heard <= service::kTokensStale;
  readiness.checks.push_back(
      {"tokens", known, known ? "" : "the first shard was not heard lately"});
  readiness.checks.push_back(
      {"clock", true, fmt::format("the wall clock is ahead by {} ms", ahead.count())});
  return readiness;
}

api::Configuration ServerOperations::configuration() const {
  const MutexLock lock(configuration_mutex_);
  return configuration_;
}

void ServerOperations::configure(api::Configuration configuration) {
  const MutexLock lock(configuration_mutex_);
  configuration_ = std::move(configuration);
}

api::Cluster ServerOperations::cluster() const {
  api::Cluster cluster;
  const auto view = parts_.backend.cluster();
  const std::vector<ShardReport> reports = parts_.backend.shards();
  if (!view) {
    // A lone process leads all shards.
    cluster.nodes.push_back({.id = "local",
                             .name = about_.node,
                             .url = {},
                             .version = about_.version,
                             .started_at = about_.started_at,
                             .live = true,
                             .draining = reports.front().driver->draining,
                             .self = true});
  } else {
    for (const store::NodeView& node : view->nodes) {
      cluster.nodes.push_back({.id = store::to_string(node.facts.id),
                               .name = node.facts.name,
                               .url = node.facts.url,
                               .version = node.facts.version,
                               .started_at = node.started_at,
                               .live = node.left > Duration{},
                               .draining = node.draining,
                               .self = node.facts.id == parts_.backend.self()});
    }
  }
  for (const ShardReport& report : reports) {
    api::ShardInfo shard{.shard = report.shard};
    if (view && report.shard < view->shards.size()) {
      const store::ShardView& seen = view->shards[report.shard];
      if (seen.leader != store::kNobody) shard.leader = store::to_string(seen.leader);
      shard.epoch = to_number(seen.epoch);
      shard.projected_seq = to_number(seen.projected);
    }
    if (report.role == ShardReport::Role::kFollows) shard.seq = to_number(report.followed);
    if (report.driver) {
      const engine::Shard::Figures& figures = report.driver->figures;
      if (!view) shard.leader = "local";
      shard.epoch = to_number(figures.epoch);
      shard.projected_seq = to_number(figures.projected);
      shard.seq = to_number(figures.durable);
      shard.projection_lag_ms = figures.projection_lag(report.now).count();
    }
    cluster.shards.push_back(std::move(shard));
  }
  return cluster;
}

api::Decoded<api::Cluster> ServerOperations::set_draining(const std::string& node, bool draining) {
  const auto id = store::parse_node_id(node);
  const auto set = id ? parts_.backend.set_draining(*id, draining) : Result<bool>(false);
  if (!set) {
    return std::unexpected(
        api::make_problem(api::ProblemCode::kStorageUnavailable, set.error().message));
  }
  if (!*set) {
    return std::unexpected(
        api::make_problem(api::ProblemCode::kNotFound, "there is no node with this id"));
  }
  parts_.log.info(draining ? "an operator drains a node" : "an operator ends the drain of a node",
                  {{"node", node}});
  return cluster();
}

bool ServerOperations::shards_answer() {
  const auto led = parts_.backend.led();
  return std::ranges::all_of(led, [this](const auto& gateway) {
    return questions_
        .ask(*gateway, core::Command(core::GetQueues{{}, {}, 1, false}), kQueuesPatience)
        .has_value();
  });
}

std::string ServerOperations::metrics_text() {
  // Only the shards that this node leads: other nodes report theirs.
  Metrics::Sources sources{.version = about_.version,
                           .commit = about_.commit,
                           .models = parts_.backend.parts().models(),
                           .shards = parts_.backend.shards(),
                           .started_at = about_.started_at,
                           .push = parts_.push_health()};
  if (parts_.trace_counts) sources.traces = parts_.trace_counts();
  sources.error_groups = parts_.error_groups();
  Time now{};
  for (const ShardReport& shard : sources.shards) now = std::max(now, shard.now);
  const std::shared_ptr<const QueueSample> sample = sampler_.sample(parts_.backend.led(), now);
  return parts_.metrics.text(sources, *sample);
}

api::Decoded<service::BackupDone> ServerOperations::backup(const std::string& path) {
  if (!fs::path(path).is_absolute()) {
    return std::unexpected(path_fault("must be an absolute path on the server's machine"));
  }
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_empty(path, error)) {
    return std::unexpected(path_fault("must be a new or an empty directory"));
  }
  store::Backup* const copier = parts_.backend.parts().store(0).backup.get();
  if (copier == nullptr) {
    return std::unexpected(api::make_problem(api::ProblemCode::kInvalidState,
                                             "this store can't be backed up while it runs"));
  }
  // Faults that only the caller can fix are reported before anything is copied.
  const bool existed = fs::exists(path, error);
  fs::create_directories(path, error);
  if (error) return std::unexpected(path_fault("can't be created: " + error.message()));
  if (::access(path.c_str(), W_OK | X_OK) != 0) {
    return std::unexpected(
        path_fault("is not writable for the server: " + std::generic_category().message(errno)));
  }
  if (!existed) fs::permissions(path, fs::perms::owner_all, error);
  const MutexLock lock(backup_mutex_);
  const auto hold = parts_.backend.hold_trimming();
  parts_.log.info("the server starts a backup", {{"path", path}});
  if (const Status status = copier->backup_to(path); !status) {
    if (!existed) fs::remove(path, error);
    parts_.log.error("the backup failed", {{"path", path}, {"reason", status.error().message}});
    return std::unexpected(
        api::make_problem(api::ProblemCode::kStorageUnavailable, status.error().message));
  }
  const service::BackupDone done{.bytes = size_of_directory(path)};
  parts_.log.info("the backup is complete", {{"path", path}, {"bytes", done.bytes}});
  return done;
}

}  // namespace millrace::server
