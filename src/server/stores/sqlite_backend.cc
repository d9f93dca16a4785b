// A single process with one shard and its own data directory.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include "server/process/system_time.h"
#include "server/shard/operation_courier.h"
#include "server/shard/relay_courier.h"
#include "server/stores/archiver.h"
#include "server/stores/backend.h"
#include "store/sqlite/directory.h"
#include "store/sqlite/sqlite_store.h"

namespace millrace::server {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::uint32_t kShard = 0;
constexpr std::uint64_t kMostCacheBytes = std::uint64_t{64} << 20;

class SqliteBackend final : public Backend {
 public:
  SqliteBackend(BackendParts parts, store::Store store)
      : outside_(std::move(parts)),
        store_id_(store.id),
        parts_(one(std::move(store)), outside_.observer, outside_.log) {}

  Status start() {
    const auto extent = parts_.store(kShard).journal->extent();
    if (!extent) return std::unexpected(extent.error());
    const Config& config = outside_.config;
    if (!config.archive.empty()) {
      auto archiver = Archiver::start({.directory = config.archive,
                                       .store_id = store_id_,
                                       .journal = *parts_.store(kShard).journal,
                                       .every = config.archive_every,
                                       .log = outside_.log});
      if (!archiver) return std::unexpected(std::move(archiver.error()));
      archiver_ = std::move(*archiver);
    }
    parts_.begin_leading(kShard, extent->newest);
    auto driver =
        Driver::start(outside_.driver, {.store = parts_.store(kShard),
                                        .time = system_time(),
                                        .observer = parts_.observer(kShard),
                                        .probe = outside_.metrics,
                                        .chores =
                                            [this](Time) {
                                              if (!couriers_ready_) return;
                                              operations_->tick();
                                              relay_->tick();
                                            },
                                        .read_until = [this] { return parts_.read_until(kShard); },
                                        .on_settled =
                                            [this] {
                                              settled_.release();
                                              outside_.settled();
                                            },
                                        .log = outside_.log,
                                        .archiver = archiver_.get()});
    if (!driver) return std::unexpected(std::move(driver.error()));
    driver_ = std::move(*driver);
    operations_ = std::make_unique<OperationCourier>(
        kShard, 1,
        OperationCourier::Parts{.router = *driver_,
                                .tables = *parts_.store(kShard).tables,
                                .journal = *parts_.store(kShard).journal,
                                .time = system_time(),
                                .run = [this](std::function<void()> work) {
                                  boost::asio::post(operations_reader_, std::move(work));
                                }});
    operations_->begin(driver_);
    relay_ = std::make_unique<RelayCourier>(
        *driver_, *parts_.store(kShard).tables,
        [this](std::function<void()> work) { boost::asio::post(relay_reader_, std::move(work)); },
        outside_.log);
    relay_->begin(driver_);
    couriers_ready_ = true;
    // Opened with O_PATH only: closing an ordinary descriptor would release SQLite's locks on the
    // file.
    for (const std::string_view name : {store::kJournalFile, store::kTablesFile}) {
      const std::string path = outside_.config.data + "/" + std::string(name);
      Descriptor file(::open(path.c_str(), O_PATH | O_CLOEXEC));
      if (file.ok()) files_.emplace_back(path, std::move(file));
    }
    return {};
  }
  ~SqliteBackend() override { stop(); }

  engine::Gateway& gateway() override { return *driver_; }
  ShardParts& parts() override { return parts_; }
  std::vector<ShardReport> shards() const override {
    return {{.shard = kShard,
             .role = ShardReport::Role::kLeads,
             .leader_url = {},
             .driver = driver_->status(),
             .now = driver_->now()}};
  }
  std::vector<std::shared_ptr<engine::Gateway>> led() const override { return {driver_}; }
  bool leads(std::uint32_t) const override { return true; }
  const std::string& store_id() const override { return store_id_; }
  std::string engine_version() const override {
    return fmt::format("SQLite {}", store::sqlite_version());
  }
  std::shared_ptr<void> hold_trimming() override { return driver_->hold_trimming(); }

  Status begin(const std::string&) override { return {}; }
  bool broken() const override { return driver_->status().ended.has_value(); }
  std::optional<std::string> removed_file() const override {
    for (const auto& [path, file] : files_) {
      struct stat facts{};
      if (::fstat(file.number(), &facts) == 0 && facts.st_nlink == 0) return path;
    }
    return std::nullopt;
  }
  bool drain(Deadline deadline) override {
    driver_->drain();
    return settled_.try_acquire_until(deadline);
  }
  // The driver is kept: it answers late requests with the fact that it has stopped.
  void stop() override {
    if (driver_ == nullptr || std::exchange(stopped_, true)) return;
    couriers_ready_ = false;
    operations_->end();
    relay_->end();
    relay_reader_.stop();
    relay_reader_.join();
    operations_reader_.stop();
    operations_reader_.join();
    driver_->stop();
    if (archiver_ != nullptr) archiver_->finish(driver_->stopped_at());
    parts_.end_leading(kShard);
  }

 private:
  static std::vector<store::Store> one(store::Store store) {
    std::vector<store::Store> stores;
    stores.push_back(std::move(store));
    return stores;
  }

  const BackendParts outside_;
  const std::string store_id_;
  ShardParts parts_;
  std::counting_semaphore<> settled_{0};
  std::unique_ptr<Archiver> archiver_;
  std::unique_ptr<OperationCourier> operations_;  // outlives the driver
  std::unique_ptr<RelayCourier> relay_;           // likewise
  std::atomic<bool> couriers_ready_ = false;
  boost::asio::thread_pool operations_reader_{1};
  boost::asio::thread_pool relay_reader_{1};
  std::shared_ptr<Driver> driver_;
  bool stopped_ = false;
  std::vector<std::pair<std::string, Descriptor>> files_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_sqlite_backend(BackendParts parts) {
  auto store = store::open_sqlite_store(
      {.directory = parts.config.data,
       .clock = [] { return SteadyClock::now(); },
       .log = parts.log,
       .cache_bytes = std::min(kMostCacheBytes, parts.driver.memory_bytes / 16)});
  if (!store) return std::unexpected(std::move(store.error()));
  auto backend = std::make_unique<SqliteBackend>(std::move(parts), std::move(*store));
  if (Status started = backend->start(); !started) return std::unexpected(started.error());
  return backend;
}

}  // namespace millrace::server
