// The program for Millrace's C++ SDK.
#include <millrace/worker.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>

struct Mail {
  std::string to;
};
MILLRACE_JSON(Mail, to);

namespace {

using Clock = std::chrono::steady_clock;

// Counts the handlers that have run, and reports the first and the last to bench/sdk/run.
class Tally {
 public:
  explicit Tally(long jobs) : jobs_(jobs) {}

  void ran() {
    const long count = ++count_;
    if (count == 1) {
      first_ = Clock::now().time_since_epoch();
      std::puts("began");
    } else if (count == jobs_) {
      const std::chrono::duration<double> took = Clock::now().time_since_epoch() - first_.load();
      std::printf("ended {\"jobs\": %ld, \"seconds\": %f}\n", count, took.count());
    }
    if (count == 1 || count == jobs_) std::fflush(stdout);
  }

 private:
  const long jobs_;
  std::atomic<long> count_ = 0;
  std::atomic<Clock::duration> first_{};
};

}  // namespace

int main(int, char** arguments) {
  Tally tally(std::stol(arguments[2]));
  millrace::sdk::Client client({.url = std::string("http://127.0.0.1:") + arguments[3]});
  millrace::sdk::Worker worker(client, {.concurrency = 16});
  worker.on<Mail>("bench.empty", [&tally](const Mail&) { tally.ran(); });
  return worker.run_until_signal() ? 0 : 1;
}
