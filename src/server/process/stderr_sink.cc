#include "server/process/stderr_sink.h"

#include <fmt/format.h>
#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>

namespace millrace::server {
namespace {

constexpr std::size_t kMaxWaitingLines = 8192;

class StderrSink final : public LogSink {
 public:
  StderrSink()
      : pool_(std::make_shared<spdlog::details::thread_pool>(kMaxWaitingLines, 1)),
        logger_(std::make_shared<spdlog::async_logger>(
            "", std::make_shared<spdlog::sinks::stderr_sink_mt>(), pool_,
            spdlog::async_overflow_policy::overrun_oldest)) {
    logger_->set_pattern("%v");
    logger_->set_level(spdlog::level::trace);
  }

  void write(LogLevel level, std::string_view line) override {
    put(level, line);
    const std::size_t dropped = pool_->overrun_counter();
    const std::size_t told = told_.exchange(dropped, std::memory_order_relaxed);
    if (dropped > told) {
      put(LogLevel::kWarn,
          fmt::format("(standard error is too slow; the server dropped {} log lines)",
                      dropped - told));
    }
  }

 private:
  void put(LogLevel level, std::string_view line) {
    logger_->log(level >= LogLevel::kWarn ? spdlog::level::warn : spdlog::level::info,
                 spdlog::string_view_t(line.data(), line.size()));
  }

  std::shared_ptr<spdlog::details::thread_pool> pool_;
  std::shared_ptr<spdlog::async_logger> logger_;
  std::atomic<std::size_t> told_{0};
};

}  // namespace

std::unique_ptr<LogSink> make_stderr_sink() { return std::make_unique<StderrSink>(); }

}  // namespace millrace::server
