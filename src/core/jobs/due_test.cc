#include "core/bounds.h"
#include "core/scenario.h"

namespace millrace::core {
namespace {

constexpr std::size_t kJobs = kMaxDuePerTick + 1;

// More jobs than a tick may move, all due at once.
std::vector<JobSpec> crowd() {
  std::vector<JobSpec> jobs;
  for (std::size_t i = 0; i < kJobs; ++i) jobs.push_back(Scenario::spec(std::to_string(i)));
  return jobs;
}

std::uint64_t count(const Machine& machine, State state) {
  return machine.counts()[static_cast<std::size_t>(state)];
}

// A tick moves `kMaxDuePerTick` jobs and says that there is more to do at once, the next the rest.
void expect_two_ticks(Scenario& s, Duration later, State from) {
  Machine& machine = s.machine();
  const Time at = s.now() + later;
  ASSERT_EQ(count(machine, from), kJobs);
  std::vector<Event> events;
  for (const std::uint64_t left : {std::uint64_t{1}, std::uint64_t{0}}) {
    ASSERT_LE(machine.next_timer(), at);
    machine.tick(at, events);
    machine.end_step();
    machine.check_invariants();
    EXPECT_EQ(count(machine, from), left);
  }
  EXPECT_TRUE(!machine.next_timer() || *machine.next_timer() > at);
}

TEST(Due, LeasesThatEndTogetherEndInSeveralTicks) {
  Scenario s;
  s.enqueue(crowd());
  s.claim(kJobs);
  expect_two_ticks(s, kDefaultLease, State::kRunning);
  EXPECT_EQ(count(s.machine(), State::kRetrying), kJobs);
}

TEST(Due, JobsThatExpireTogetherExpireInSeveralTicks) {
  Scenario s;
  auto jobs = crowd();
  for (JobSpec& job : jobs) job.expires_at = s.now() + Duration{10};
  s.enqueue(std::move(jobs));
  expect_two_ticks(s, Duration{10}, State::kReady);
  EXPECT_EQ(count(s.machine(), State::kExpired), kJobs);
}

TEST(Due, JobsThatAreDueTogetherBecomeReadyInSeveralTicks) {
  Scenario s;
  auto jobs = crowd();
  for (JobSpec& job : jobs) job.delay = Duration{10};
  s.enqueue(std::move(jobs));
  expect_two_ticks(s, Duration{10}, State::kScheduled);
  EXPECT_EQ(count(s.machine(), State::kReady), kJobs);
}

TEST(Due, LeasesComeBeforeJobsThatBecomeReady) {
  Scenario s;
  s.enqueue(crowd());
  s.claim(kJobs);
  auto late = Scenario::spec("late");
  late.delay = kDefaultLease;
  s.enqueue(late);
  std::vector<Event> events;
  s.machine().tick(s.now() + kDefaultLease, events);
  EXPECT_EQ(s.state("late"), "scheduled");
  s.machine().tick(s.now() + kDefaultLease, events);
  EXPECT_EQ(s.state("late"), "ready");
}

}  // namespace
}  // namespace millrace::core
