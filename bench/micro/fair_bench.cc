// The machine with fair keys: the cost of a job among ten thousand keys with waiting jobs, compared
// with the same jobs in a queue that does not share.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "machine_driver.h"
#include "micro.h"

namespace millrace::bench {
namespace {

constexpr std::size_t kBatch = 100;
constexpr std::size_t kKeys = 10'000;
constexpr std::size_t kBacklog = 30'000;

enum class Mode : std::uint8_t {
  kPlain,     // jobs without a key, in a queue that does not share
  kUnshared,  // with a key, in a queue that does not share
  kStarts,
  kTime,
  kLimits,  // no sharing, but a limit of slots and one of tokens
  kTimeAndLimits,
};

std::vector<std::shared_ptr<const core::JobExtras>> extras_of(Mode mode) {
  std::vector<std::shared_ptr<const core::JobExtras>> made(kKeys);
  if (mode == Mode::kPlain) return made;
  for (std::size_t i = 0; i < kKeys; ++i) {
    core::JobExtras extras;
    if (mode != Mode::kLimits) extras.fair_key = SharedBytes("tenant-" + std::to_string(i));
    if (mode >= Mode::kLimits) {
      for (const char* name : {"slots", "rate"}) {
        extras.limits.push_back({SharedBytes(std::string_view(name)), {}, 1, 0});
      }
    }
    made[i] = std::make_shared<const core::JobExtras>(std::move(extras));
  }
  return made;
}

void set_limit(MachineDriver& driver, const char* name, core::Bounds bounds) {
  core::SetLimit set;
  set.name = SharedBytes(std::string_view(name));
  set.settings.bounds = std::move(bounds);
  driver.step(set);
}

// Submits, claims, completes and projects.
void lifecycle(benchmark::State& state) {
  const auto mode = static_cast<Mode>(state.range(0));
  MachineDriver driver;
  Random random(1);
  const auto extras = extras_of(mode);
  const auto submit = [&](std::size_t count) {
    core::Enqueue jobs = driver.new_jobs(count);
    for (core::JobSpec& spec : jobs.jobs) spec.extras = extras[random.next() % kKeys];
    driver.step(jobs);
  };
  set_limit(driver, "slots", {1'000'000, {}});
  set_limit(driver, "rate", {{}, core::Rate{1'000'000'000, Duration{1}, {}}});
  if (mode == Mode::kStarts || mode == Mode::kTime || mode == Mode::kTimeAndLimits) {
    core::SetQueue set;
    set.queue = driver.new_jobs(1).jobs.at(0).queue;
    set.create = true;
    set.patch.fair.emplace().emplace().by =
        mode == Mode::kStarts ? core::FairBy::kStarts : core::FairBy::kTime;
    driver.step(set);
  }
  for (std::size_t made = 0; made < kBacklog; made += 1'000) {
    submit(1'000);
    driver.project_if_due();
  }
  for (auto _ : state) {
    submit(kBatch);
    core::Claim claim = MachineDriver::claim(kBatch);
    claim.lease = core::kMaxLease;
    const auto reply = std::get<core::ClaimReply>(driver.step(claim));
    MILLRACE_CHECK(reply.jobs.size() == kBatch);
    driver.step(MachineDriver::succeeded(reply));
    driver.project_if_due();
  }
  show_time_per(state, "job", kBatch);
}
BENCHMARK(lifecycle)->Name("fair/lifecycle")->ArgName("mode")->DenseRange(0, 5);

}  // namespace
}  // namespace millrace::bench
