// sim: runs lives of the real engine in a simulated world.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/mutant.h"
#include "base/random.h"
#include "sim/child.h"
#include "sim/shrink.h"

namespace millrace::sim {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kClean = 0;
constexpr int kFound = 1;
constexpr int kUsage = 2;
// The most nodes of a cluster.
constexpr std::uint32_t kNodes = 4;
// A run of this many commands must have met every mark: on a lone server those that need no other
// node, with both kinds of lives all of them. (Clusters alone do not meet marks that need a lone
// server.)
constexpr std::uint64_t kCommandsForAllMarks = 5'000'000;

volatile std::sig_atomic_t interrupted = 0;

struct Options {
  std::optional<std::uint64_t> seed;
  std::uint64_t steps = 6'000;
  std::optional<std::uint32_t> nodes;
  std::vector<std::string> without;
  std::vector<std::string> only;
  std::string skip;
  bool story = false;
  bool no_shrink = false;
  bool forever = false;
  double minutes = 0;
  std::uint64_t lives = 0;
  std::uint64_t from = 0;
  std::string kept;
  std::string mutant;
};

std::set<Knob> switched_off(const Options& options) {
  std::set<Knob> off;
  for (const std::string& name : options.without) {
    if (const auto knob = knob_by_name(name)) off.insert(*knob);
  }
  if (options.only.empty()) return off;
  for (std::size_t i = 0; i < kKnobs; ++i) off.insert(static_cast<Knob>(i));
  for (const std::string& name : options.only) {
    if (const auto knob = knob_by_name(name)) off.erase(*knob);
  }
  return off;
}

// The totals of all lives.
class Tally {
 public:
  void add(const Life& life) {
    ++lives_;
    commands_ += life.outcome.commands;
    rows_ += life.outcome.rows;
    restarts_ += life.outcome.restarts;
    marks_.add(life.marks);
  }
  std::uint64_t commands() const { return commands_; }

  std::string line() const {
    const double minutes = std::chrono::duration<double>(SteadyClock::now() - begin_).count() / 60;
    return fmt::format("{} lives, {:.1f} million commands ({:.2f} million a minute), {} restarts",
                       lives_, static_cast<double>(commands_) / 1e6,
                       static_cast<double>(commands_) / 1e6 / minutes, restarts_);
  }
  // The first `many` marks as a table; returns how many were never hit.
  std::size_t print_marks(std::size_t many, bool limits) const {
    std::size_t missing = 0;
    for (std::size_t i = 0; i < many; ++i) {
      const auto mark = static_cast<Mark>(i);
      if (!limits && is_of_limits(mark)) continue;
      fmt::print("  {:>12}  {}\n", marks_.of(mark), mark_name(mark));
      if (marks_.of(mark) == 0) ++missing;
    }
    return missing;
  }

 private:
  const SteadyClock::time_point begin_ = SteadyClock::now();
  std::uint64_t lives_ = 0;
  std::uint64_t commands_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t restarts_ = 0;
  Marks marks_;
};

void print_swarm(const Plan& plan) {
  Swarm swarm = Swarm::draw(plan.seed);
  for (const Knob knob : plan.without) swarm.turn_off(knob);
  fmt::print("seed {}: {}\n", plan.seed, swarm.describe(plan.nodes > 1));
}

// Prints the finding, the smallest plan that shows it, and its story.
void explain(const Plan& plan, const Finding& finding, bool no_shrink) {
  fmt::print("\nseed {} breaks {}: {}\n", plan.seed, finding.id, finding.text);
  Plan smallest = plan;
  if (!no_shrink) {
    fmt::print("making it smaller ...\n");
    std::fflush(stdout);
    smallest = shrink(plan, finding, 400);
  }
  fmt::print("\n");
  print_swarm(smallest);
  const Life life = live(smallest, Telling::kStory);
  if (life.finding) fmt::print("\n{} is broken: {}\n", life.finding->id, life.finding->text);
  std::string mutant;
#ifdef MILLRACE_MUTANTS
  if (planted_mutant != Mutant::kNone) {
    mutant = fmt::format(" --mutant {}", mutant_name(planted_mutant));
  }
#endif
  fmt::print("To see it again:  {}{} --story\n", command_of(smallest), mutant);
}

int run_one(const Plan& plan, const Options& options) {
  print_swarm(plan);
  const Life life = live(plan, options.story ? Telling::kStory : Telling::kSilent);
  if (life.finding && options.story) {
    fmt::print("\n{} is broken: {}\n", life.finding->id, life.finding->text);
    return kFound;
  }
  if (life.finding) {
    explain(plan, *life.finding, options.no_shrink);
    return kFound;
  }
  fmt::print("{} commands, {} rows, {} restarts: nothing broken; digest {:016x}\n",
             life.outcome.commands, life.outcome.rows, life.outcome.restarts, life.outcome.digest);
  return kClean;
}

// One seed per line, with its number of steps and of nodes; the rest of the line says why it is
// kept. A line `without a,b` switches off features newer than the seeds below it, up to the next
// such line.
int run_kept(const Options& options) {
  std::ifstream file(options.kept);
  if (!file) {
    fmt::print(stderr, "sim: {} can't be read\n", options.kept);
    return kUsage;
  }
  Tally tally;
  std::uint64_t digest = 0;
  std::set<Knob> without;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with("without ")) {
      without.clear();
      std::istringstream names(line.substr(line.find(' ') + 1));
      for (std::string name; std::getline(names, name, ',');) {
        const auto knob = knob_by_name(name);
        if (!knob && name != "none") {
          fmt::print(stderr, "sim: {}: there is no feature {}\n", options.kept, name);
          return kUsage;
        }
        if (knob) without.insert(*knob);
      }
      continue;
    }
    Plan plan;
    plan.without = without;
    if (!(std::istringstream(line) >> plan.seed >> plan.actions >> plan.nodes) || plan.nodes == 0) {
      fmt::print(stderr, "sim: {}: a line begins with seed, steps and nodes, not: {}\n",
                 options.kept, line);
      return kUsage;
    }
    const Life life = live(plan, Telling::kSilent);
    if (life.finding) {
      explain(plan, *life.finding, options.no_shrink);
      return kFound;
    }
    digest = mix64(digest ^ life.outcome.digest);
    tally.add(life);
  }
  fmt::print("kept seeds: {}: nothing broken; digest {:016x}\n", tally.line(), digest);
  return kClean;
}

int run_many(const Options& options) {
  const std::uint64_t from = options.from > 0 ? options.from : system_random() % 1'000'000'000;
  const bool timed = options.minutes > 0;
  const auto end = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                                            std::chrono::duration<double>(options.minutes * 60));
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  auto shown = SteadyClock::now();
  Tally tally;
  fmt::print("seeds from {}, {} steps each\n", from, options.steps);
  std::fflush(stdout);
  for (std::uint64_t seed = from; interrupted == 0; ++seed) {
    if (timed && SteadyClock::now() >= end) break;
    if (options.lives > 0 && seed - from == options.lives) break;
    Plan plan;
    plan.seed = seed;
    plan.nodes = options.nodes.value_or(seed % 2 == 0 ? 1 : kNodes);
    plan.actions = options.steps;
    plan.without = switched_off(options);
    const Life life = live(plan, Telling::kSilent);
    if (interrupted != 0) break;
    tally.add(life);
    if (life.finding) {
      fmt::print("\n{}\n", tally.line());
      explain(plan, *life.finding, options.no_shrink);
      return kFound;
    }
    if (SteadyClock::now() - shown < std::chrono::seconds(terminal ? 1 : 60)) continue;
    shown = SteadyClock::now();
    fmt::print("{}{}{}", terminal ? "\r" : "", tally.line(), terminal ? " " : "\n");
    std::fflush(stdout);
  }
  fmt::print("\nWhat was met:\n");
  const bool schedules = !switched_off(options).contains(Knob::kSchedules);
  const std::size_t of_one_node = schedules ? kMarksOfOneNode : kMarksWithoutSchedules;
  const bool limits = !switched_off(options).contains(Knob::kLimits);
  const std::size_t missing = tally.print_marks(options.nodes == 1 ? of_one_node : kMarks, limits);
  fmt::print("simulator: {}, 0 violations\n", tally.line());
  const bool all_expected = options.nodes.value_or(1) == 1;
  if (missing == 0 || !all_expected || tally.commands() < kCommandsForAllMarks) return kClean;
  fmt::print("{} marks were never hit: the run shows less than it should\n", missing);
  return kFound;
}

bool read_skips(const std::string& text, Plan& plan) {
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    if (dash == std::string::npos) return false;
    plan.skips.emplace_back(std::stoull(part.substr(0, dash)), std::stoull(part.substr(dash + 1)));
  }
  return true;
}

int run(const Options& options) {
  for (const auto* names : {&options.without, &options.only}) {
    for (const std::string& name : *names) {
      if (name == "none" || knob_by_name(name)) continue;
      fmt::print(stderr, "sim: there is no feature {}\n", name);
      return kUsage;
    }
  }
  if (!options.mutant.empty()) {
    const Mutant mutant = mutant_by_name(options.mutant);
    if (mutant == Mutant::kNone) {
      fmt::print(stderr, "sim: there is no mutant {}\n", options.mutant);
      return kUsage;
    }
#ifdef MILLRACE_MUTANTS
    planted_mutant = mutant;
#else
    fmt::print(stderr, "sim: this build holds no mutants; the preset `mutants` does\n");
    return kUsage;
#endif
  }
  if (!options.kept.empty()) return run_kept(options);
  if (!options.seed) return run_many(options);
  Plan plan;
  plan.seed = *options.seed;
  plan.nodes = options.nodes.value_or(1);
  plan.actions = options.steps;
  plan.without = switched_off(options);
  if (!read_skips(options.skip, plan)) {
    fmt::print(stderr, "sim: --skip takes ranges like 10-20,35-36\n");
    return kUsage;
  }
  return run_one(plan, options);
}

}  // namespace
}  // namespace millrace::sim

int main(int argc, char** argv) {
  millrace::sim::Options options;
  CLI::App app(
      "Lives of the real engine over a simulated disk, clock and network, with faults.\n"
      "Every promise is checked after every step; a breach is made small and told.");
  app.footer(
      "Examples:\n"
      "  sim --seed 42                  one life, 6,000 steps\n"
      "  sim --seed 42 --story          the same, told\n"
      "  sim --minutes 2                fresh seeds for two minutes\n"
      "  sim --forever                  until stopped\n"
      "Exit code: 0 nothing broken, 1 something is, 2 wrong usage.");
  app.add_option("--seed", options.seed, "Live this seed once");
  app.add_option("--steps", options.steps, "Actions of a life")->capture_default_str();
  app.add_option(
      "--nodes", options.nodes,
      "Of a cluster, at most; 1: one server (of fresh seeds every other one is a cluster)");
  app.add_option("--without", options.without, "Switch off these faults and features: a,b")
      ->delimiter(',');
  app.add_option("--only", options.only, "Switch off all faults and features but these: a,b; none")
      ->delimiter(',');
  app.add_option("--skip", options.skip, "Leave out actions: 10-20,35-36");
  app.add_flag("--story", options.story, "Tell what happens");
  app.add_flag("--no-shrink", options.no_shrink, "Leave a failing seed as it is");
  app.add_flag("--forever", options.forever, "Fresh seeds until stopped");
  app.add_option("--minutes", options.minutes, "Fresh seeds for so long");
  app.add_option("--lives", options.lives, "So many fresh seeds");
  app.add_option("--from", options.from, "The first of the fresh seeds");
  app.add_option("--kept", options.kept, "Live the seeds of this file: seed, steps, nodes a line");
  app.add_option("--mutant", options.mutant, "Plant a known bug (preset mutants)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : millrace::sim::kUsage;
  }
  const bool fresh = options.forever || options.minutes > 0 || options.lives > 0;
  if (!options.seed && !fresh && options.kept.empty()) options.seed = 1;
  struct sigaction action{};
  action.sa_handler = [](int) { millrace::sim::interrupted = 1; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  return millrace::sim::run(options);
}
