#include "sim/crash_points/campaign.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/check.h"
#include "sim/crash_points/damage.h"
#include "sim/crash_points/system_calls.h"
#include "sim/crash_points/vfs.h"

namespace millrace::crash_points {
namespace {

// Each slice is spread evenly over the whole workload, so that stopping early leaves no part out.
constexpr std::uint64_t kSlices = 64;

class KeptLines final : public LogSink {
 public:
  void write(LogLevel, std::string_view line) override { lines_.emplace_back(line); }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

// Everything that a run of the workload needs.
struct Machine {
  Machine(Tally& tally, const Workload::Places& places)
      : log(lines, LogFormat::kText, LogLevel::kInfo, [this] { return ledger.now; }),
        world{disk, ledger, tally, places, log, lines.lines()} {
    install_vfs(disk);
    install_system_calls(disk, {places.directory, places.backup});
  }
  Disk disk;
  Ledger ledger;
  KeptLines lines;
  Logger log;
  Explorer::World world;
};

}  // namespace

Campaign::Campaign(Options options, Workload::Places places)
    : options_(std::move(options)), places_(std::move(places)), tally_(Tally::make()) {
  if (!options_.minutes) return;
  const auto time = std::chrono::duration<double, std::ratio<60>>(*options_.minutes);
  until_ = std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(time);
}

bool Campaign::run() {
  count();
  if (tally_.violations == 0 && options_.site) {
    Plan one = plan();
    one.sites = {*options_.site};
    explore(std::move(one));
  }
  if (tally_.violations == 0 && options_.flips > 0) try_flips();
  if (tally_.violations == 0 && options_.sample > 0) try_sample();
  if (tally_.violations == 0 && options_.whole_recoveries.value_or(0) > 0) try_whole_recoveries();
  if (tally_.violations == 0 && options_.all) try_all();
  tell_figures();
  if (tally_.violations == 0) return true;
  fmt::print(stderr, "\n{}\n", tally_.story());
  return false;
}

template <typename Work>
void Campaign::in_process(Work work) {
  std::fflush(nullptr);
  const pid_t child = fork();
  MILLRACE_CHECK(child >= 0);
  if (child == 0) {
    // Never freed: processes that died on it must not refer to freed memory.
    auto* const machine = new Machine(tally_, places_);
    work(*machine);
    _exit(0);
  }
  int status = 0;
  MILLRACE_CHECK(waitpid(child, &status, 0) == child);
  if (status != 0) tally_.violated("The process that runs the workload was ended; see above.");
}

void Campaign::explore(Plan plan) {
  in_process([&](Machine& machine) { Explorer(std::move(plan), machine.world).explore(); });
}

Plan Campaign::plan() const {
  Plan plan;
  plan.seed = options_.seed;
  plan.in_recovery = options_.in_recovery;
  plan.processes = options_.processes;
  plan.until = until_;
  return plan;
}

void Campaign::count() {
  in_process([&](Machine& machine) {
    Explorer::count(machine.world);
    fmt::print("The workload: {} requests, {} answered, {} rows, {} calls on the disk.\n",
               machine.ledger.requests, machine.ledger.answers, to_number(machine.ledger.durable),
               tally_.call_count.load());
    std::fflush(stdout);
  });
}

void Campaign::try_sample() {
  Random random(options_.seed);
  std::map<std::pair<CallKind, Trial>, std::vector<Site>> by_class;
  std::vector<Site> all;
  for (std::uint64_t point = 1; point <= tally_.call_count; ++point) {
    const CallKind kind = tally_.calls[point - 1];
    for (const Trial trial : kTrials) {
      if (!applies(trial, kind)) continue;
      all.emplace_back(point, trial);
      by_class[{kind, trial}].emplace_back(point, trial);
    }
  }
  // Half of them are chosen from all sites, half evenly from each kind, so that rare kinds are
  // included.
  Plan sample = plan();
  sample.sites.emplace();
  auto sort = by_class.begin();
  while (sample.sites->size() < std::min<std::uint64_t>(options_.sample, all.size())) {
    if (random.next() % 2 == 0) {
      sample.sites->insert(all[random.next() % all.size()]);
    } else {
      sample.sites->insert(sort->second[random.next() % sort->second.size()]);
      if (++sort == by_class.end()) sort = by_class.begin();
    }
  }
  explore(std::move(sample));
}

void Campaign::try_all() {
  Plan all = plan();
  all.slices = kSlices;
  for (all.slice = 0; all.slice < kSlices && tally_.violations == 0 && !late(); ++all.slice) {
    explore(all);
    tell_progress(fmt::format("part {} of {}", all.slice + 1, kSlices));
  }
}

void Campaign::try_whole_recoveries() {
  std::vector<Trial> deaths;
  for (const Trial trial : kTrials) {
    if (death_of(trial)) deaths.push_back(trial);
  }
  Plan whole = plan();
  whole.sites.emplace();
  whole.one_in_recovery = 1;
  // A third of the time, so that every call of the workload gets its turn too.
  if (options_.all && until_) {
    const auto now = std::chrono::steady_clock::now();
    whole.until = now + (*until_ - now) / 3;
  }
  const std::uint64_t count = std::min(*options_.whole_recoveries, tally_.call_count.load());
  for (std::uint64_t i = 0; i < count; ++i) {
    // The next call at which this kind of death makes a difference, so that the kinds alternate.
    const Trial death = deaths[i % deaths.size()];
    std::uint64_t point = 1 + (2 * i + 1) * tally_.call_count / (2 * count);
    while (point < tally_.call_count && !applies(death, tally_.calls[point - 1])) ++point;
    whole.sites->insert({point, death});
  }
  explore(std::move(whole));
  tell_progress(fmt::format("{} whole recoveries", count));
}

void Campaign::try_flips() {
  in_process(
      [&](Machine& machine) { flip_bits(machine.world, options_.flips, Random(options_.seed)); });
}

bool Campaign::late() const { return until_ && std::chrono::steady_clock::now() >= *until_; }

void Campaign::tell_progress(std::string_view what) const {
  fmt::print("{}: {} deaths, {} failing calls, {} in recoveries, {} recoveries, {} violations\n",
             what, tally_.deaths.load(), tally_.failing_calls.load(),
             tally_.deaths_in_recovery + tally_.failing_calls_in_recovery, tally_.recoveries.load(),
             tally_.violations.load());
  std::fflush(stdout);
}

void Campaign::tell_figures() const {
  fmt::print(
      "crash points: {} calls; {} deaths, {} failing calls, {} flipped bits; in recoveries {} "
      "deaths, {} failing calls; {} recoveries ({} repairs, {} refusals while the disk failed); "
      "violations: {}\n",
      tally_.call_count.load(), tally_.deaths.load(), tally_.failing_calls.load(),
      tally_.flips.load(), tally_.deaths_in_recovery.load(),
      tally_.failing_calls_in_recovery.load(), tally_.recoveries.load(), tally_.repairs.load(),
      tally_.refused_starts.load(), tally_.violations.load());
}

}  // namespace millrace::crash_points
