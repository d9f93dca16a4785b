#include "sim/crash_points/explorer.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/check.h"

namespace millrace::crash_points {
namespace {

// A persistently failing disk heals after this many steps of the workload. The consequences of a
// failing call show within the second number of steps.
constexpr int kHealsAfter = 12;
constexpr int kWatchedFor = 30;
// A child that takes longer is considered hanging.
constexpr unsigned kMostSeconds = 60;
constexpr std::size_t kLogLinesTold = 12;
constexpr std::uint64_t kReadsRarer = 16;

std::string describe(const Call& call) {
  std::string text = fmt::format("{} of {}", to_string(call.kind), call.path);
  if (call.kind == CallKind::kWrite) {
    text += fmt::format(", {} bytes at {}", call.data.size(), call.offset);
  } else if (call.kind == CallKind::kRead) {
    text += fmt::format(", {} bytes at {}", call.size, call.offset);
  } else if (call.kind == CallKind::kRename) {
    text += fmt::format(" to {}", call.target);
  }
  return text;
}

}  // namespace

// --- The first process

bool Explorer::explore() {
  Workload workload(world_.places, world_.disk, world_.ledger, world_.log);
  workload_ = &workload;
  world_.disk.set_hook(this);
  workload.run([this](Life* life) { return moment_over(life); });
  if (role_ == Role::kFailing) end_failing();
  world_.disk.set_hook(nullptr);
  while (!children_.empty()) wait_for_child();
  if (!world_.ledger.problems.empty()) {
    where_ = "no call: the workload itself, on a disk without fault";
    world_.tally.violated(story(world_.ledger.problems));
  }
  return world_.tally.violations == 0;
}

void Explorer::count(World world) {
  struct Counter final : CallHook {
    explicit Counter(Tally& to) : tally(to) {}
    Verdict before(const Call& call) override {
      MILLRACE_CHECK(tally.call_count < Tally::kMostCalls);
      tally.calls[tally.call_count++] = call.kind;
      return Verdict::kProceed;
    }
    Tally& tally;
  } counter(world.tally);
  world.disk.set_hook(&counter);
  Workload(world.places, world.disk, world.ledger, world.log).run([](Life*) { return false; });
  world.disk.set_hook(nullptr);
}

Verdict Explorer::before(const Call& call) {
  switch (role_) {
    case Role::kExploring:
      return explore(call);
    case Role::kRecovering:
      return explore_recovery(call);
    case Role::kFailing:
    case Role::kAfterwards:
      return still_failing(call);
  }
  return Verdict::kProceed;
}

bool Explorer::planned(std::uint64_t point, Trial trial) const {
  if (stopped_) return false;
  if (plan_.sites) return plan_.sites->contains({point, trial});
  const std::uint64_t hash = mix64(mix64(point) + static_cast<std::uint64_t>(trial));
  return hash % plan_.slices == plan_.slice;
}

Verdict Explorer::explore(const Call& call) {
  ++point_;
  for (const Trial trial : kTrials) {
    if (!applies(trial, call.kind) || !planned(point_, trial)) continue;
    if (fork_child()) return suffer(call, trial);
  }
  return Verdict::kProceed;
}

bool Explorer::fork_child() {
  while (children_.size() >= plan_.processes) wait_for_child();
  if (stopped_) return false;
  const pid_t child = fork();
  MILLRACE_CHECK(child >= 0);
  if (child == 0) {
    children_.clear();
    alarm(kMostSeconds);
    return true;
  }
  children_.insert(child);
  return false;
}

void Explorer::wait_for_child() {
  int status = 0;
  const pid_t child = waitpid(-1, &status, 0);
  MILLRACE_CHECK(child > 0);
  children_.erase(child);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    world_.tally.violated(fmt::format(
        "A process that tried a call up to number {} was ended by signal {} ({}){}", point_, signal,
        strsignal(signal), signal == SIGALRM ? ": it hung" : "; what it said stands above"));
  }
  const bool late = plan_.until && std::chrono::steady_clock::now() >= *plan_.until;
  stopped_ = stopped_ || late || world_.tally.violations > 0;
}

// --- A child at its call

Random Explorer::random_for(std::uint64_t salt) const {
  return Random(mix64(plan_.seed + mix64(point_ * 16 + static_cast<std::uint64_t>(trial_)) + salt));
}

Verdict Explorer::suffer(const Call& call, Trial trial) {
  trial_ = trial;
  where_ = fmt::format("call {}: {}, {}", point_, describe(call), workload_->doing());
  if (const auto death = death_of(trial)) {
    ++world_.tally.deaths;
    workload_->abandon();
    die(world_.disk, *death, call, random_for(1));
    recover_and_leave(this);
  }
  ++world_.tally.failing_calls;
  role_ = Role::kFailing;
  failing_kind_ = call.kind;
  healed_ = false;
  world_.disk.set_random(random_for(2));
  return verdict_of(trial);
}

Verdict Explorer::still_failing(const Call& call) const {
  const Trial trial = recovery_trial_.value_or(trial_);
  if (healed_ || !stays_for(trial, failing_kind_, call.kind)) return Verdict::kProceed;
  return verdict_of(trial);
}

bool Explorer::moment_over(Life* life) {
  if (role_ != Role::kFailing) return stopped_;
  ++moments_since_;
  healed_ = healed_ || moments_since_ >= kHealsAfter;
  return life == nullptr || life->ended() || moments_since_ >= kWatchedFor;
}

// The workload met a failing call and has continued for a while, or could not continue.
void Explorer::end_failing() {
  world_.disk.set_hook(nullptr);
  Life* const life = workload_->life();
  std::vector<std::string>& problems = world_.ledger.problems;
  if (life != nullptr) {
    life->settle();
    const bool full = trial_ == Trial::kNoSpace || trial_ == Trial::kNoSpaceStays;
    if (full && life->ended())
      problems.push_back("a full disk ended the shard: " + *life->shard().ended());
    if (world_.ledger.waiting() > 0)
      problems.push_back("something was not answered after the disk had healed");
  }
  Random random = random_for(3);
  const std::uint64_t end = random.next() % 4;
  if (end == 0 || life == nullptr) {
    workload_->stop();
  } else {
    workload_->abandon();
    constexpr std::array kEnds = {Death::kKilled, Death::kDropped, Death::kPart};
    die(world_.disk, kEnds[end - 1], {.kind = CallKind::kSync}, random_for(4));
  }
  recover_and_leave(this);
}

void Explorer::recover_and_leave(CallHook* hook) {
  role_ = Role::kRecovering;
  Aftermath aftermath(world_.disk, world_.places, world_.ledger, world_.log, world_.tally);
  aftermath.live_on(hook, random_for(5));
  leave();
}

// --- A child in its recovery

bool Explorer::planned_in_recovery(std::uint64_t point, CallKind kind, Trial trial) const {
  if (plan_.in_recovery) return *plan_.in_recovery == Site{point, trial};
  if (plan_.one_in_recovery == 1) return true;
  // Most calls of a recovery are reads, which are much alike.
  const bool reads = kind == CallKind::kRead || kind == CallKind::kOpen;
  Random random = random_for(1'000 + point * 16 + static_cast<std::uint64_t>(trial));
  return random.next() % (plan_.one_in_recovery * (reads ? kReadsRarer : 1)) == 0;
}

Verdict Explorer::explore_recovery(const Call& call) {
  ++recovery_point_;
  for (const Trial trial : kTrials) {
    if (!applies(trial, call.kind) || !planned_in_recovery(recovery_point_, call.kind, trial))
      continue;
    if (fork_child()) return suffer_in_recovery(call, trial);
    while (!children_.empty()) wait_for_child();
    alarm(kMostSeconds);  // restarted, since this process waits for many that do not hang
  }
  return Verdict::kProceed;
}

Verdict Explorer::suffer_in_recovery(const Call& call, Trial trial) {
  recovery_trial_ = trial;
  where_in_recovery_ = fmt::format("call {} of the recovery: {}", recovery_point_, describe(call));
  if (const auto death = death_of(trial)) {
    ++world_.tally.deaths_in_recovery;
    die(world_.disk, *death, call, random_for(6 + recovery_point_));
    recover_and_leave(nullptr);
  }
  ++world_.tally.failing_calls_in_recovery;
  role_ = Role::kAfterwards;
  failing_kind_ = call.kind;
  healed_ = false;
  world_.disk.set_random(random_for(7 + recovery_point_));
  return verdict_of(trial);
}

// --- The end of a child

void Explorer::leave() {
  while (!children_.empty()) wait_for_child();
  const std::vector<std::string>& problems = world_.ledger.problems;
  if (!problems.empty()) world_.tally.violated(story(problems));
  _exit(0);
}

std::string Explorer::story(const std::vector<std::string>& problems) const {
  std::string text =
      fmt::format("Seed {}. At {}\n   what happened: {}\n", plan_.seed, where_, to_string(trial_));
  if (recovery_trial_) {
    text += fmt::format("Then, at {}\n   what happened: {}\n", where_in_recovery_,
                        to_string(*recovery_trial_));
  }
  const auto& lines = world_.log_lines;
  const std::size_t first = lines.size() - std::min(lines.size(), kLogLinesTold);
  for (std::size_t i = first; i < lines.size(); ++i) text += fmt::format("   log: {}\n", lines[i]);
  text += "What is wrong:\n";
  for (std::size_t i = 0; i < std::min<std::size_t>(problems.size(), 10); ++i) {
    text += fmt::format(" - {}\n", problems[i]);
  }
  text += fmt::format("Again: crash_points --point {} --mode {} --seed {}", point_,
                      to_string(trial_), plan_.seed);
  if (recovery_trial_) {
    text += fmt::format(" --then {} --then-mode {}", recovery_point_, to_string(*recovery_trial_));
  }
  return text;
}

}  // namespace millrace::crash_points
