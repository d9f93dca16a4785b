// A worker with a server in the same process.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fake_server.h"
#include "millrace/worker.h"

namespace millrace::sdk {

class WorkerTest : public ::testing::Test {
 protected:
  // Runs until there is nothing left to claim.
  Result<void> work(Handler handler, int concurrency = 1) {
    Worker worker(client_, options(concurrency), std::move(handler));
    return worker.run({});
  }
  WorkerOptions options(int concurrency = 1) {
    return {.queues = {"q"},
            .concurrency = concurrency,
            .poll_wait = std::chrono::milliseconds{50},
            .flush_timeout = flush_timeout_,
            .exit_when = ExitWhen::kNothingToClaim,
            .notice = [this](std::string_view, std::string_view message) {
              const std::lock_guard lock(mutex_);
              notices_.emplace_back(message);
            }};
  }
  bool was_noticed(std::string_view text) {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(
        notices_, [&](const auto& notice) { return notice.find(text) != std::string::npos; });
  }

  std::chrono::milliseconds flush_timeout_{20'000};
  std::shared_ptr<FakeServer> shared_server_ = std::make_shared<FakeServer>();
  FakeServer& server_ = *shared_server_;
  Client client_{{.url = "http://server", .try_again = false}, shared_server_};
  std::mutex mutex_;
  std::vector<std::string> notices_;
};

}  // namespace millrace::sdk
