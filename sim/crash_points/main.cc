// Dies at every write and sync of a fixed workload on the SQLite store, lets each call to the disk
// fail, and checks each time that nothing that was answered is lost.
#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/check.h"
#include "base/mutant.h"
#include "sim/crash_points/campaign.h"

namespace millrace::crash_points {
namespace {

// The number of bit flips in addition to a sample or to all sites.
constexpr std::uint64_t kFlips = 40;
// The recoveries tried at each of their calls, in addition to all calls of the workload.
constexpr std::uint64_t kWholeRecoveries = 8;

// Empty directories on the real file system; their contents are simulated.
class Directories {
 public:
  Directories() : base_((std::filesystem::temp_directory_path() / "crash-points-XXXXXX").string()) {
    MILLRACE_CHECK(mkdtemp(base_.data()) != nullptr);
    std::filesystem::create_directory(data());
    std::filesystem::create_directory(backup());
  }
  ~Directories() {
    std::error_code error;
    std::filesystem::remove_all(base_, error);
  }
  Directories(const Directories&) = delete;
  Directories& operator=(const Directories&) = delete;
  std::string data() const { return base_ + "/data"; }
  std::string backup() const { return base_ + "/backup"; }

 private:
  std::string base_;
};

// The arguments as typed.
struct Arguments {
  Options options;
  std::uint64_t point = 0;
  std::string mode = "dropped";
  std::uint64_t then = 0;
  std::string then_mode = "dropped";
  std::string mutant;
};

void declare(CLI::App& app, Arguments& to) {
  std::vector<std::string> modes;
  for (const Trial trial : kTrials) modes.emplace_back(to_string(trial));
  app.add_flag("--all", to.options.all, "Every call, in every way, a slice of them at a time");
  app.add_option("--sample", to.options.sample, "So many calls and ways, chosen by the seed");
  app.add_option("--whole-recoveries", to.options.whole_recoveries,
                 "From so many deaths, each call of the recovery, in every way (with --all: 8)");
  app.add_option("--minutes", to.options.minutes, "Stop then, with what was tried so far");
  app.add_option("--seed", to.options.seed, "Of all chance")->capture_default_str();
  app.add_option("--point", to.point, "This call of the workload alone, by its number from 1");
  app.add_option("--mode", to.mode, "What happens at it")->check(CLI::IsMember(modes));
  app.add_option("--then", to.then, "And at this call of the recovery from it");
  app.add_option("--then-mode", to.then_mode, "What happens there")->check(CLI::IsMember(modes));
  app.add_option("--jobs", to.options.processes, "Processes at a time")->capture_default_str();
#ifdef MILLRACE_MUTANTS
  app.add_option("--mutant", to.mutant, "Plant this known bug: it must be found");
#endif
}

bool plant(const std::string& name) {
#ifdef MILLRACE_MUTANTS
  planted_mutant = mutant_by_name(name);
  return name.empty() || planted_mutant != Mutant::kNone;
#else
  return name.empty();
#endif
}

int run(int count, char** arguments) {
  CLI::App app(
      "Runs a fixed workload on the SQLite store, on a simulated disk. At its calls on the disk "
      "the process dies, the power is lost, or the call fails; then the store is opened again and "
      "held to everything that was answered. Prints a line of figures; exits 1 where something was "
      "found, with the command that repeats it.",
      "crash_points");
  Arguments given;
  declare(app, given);
  CLI11_PARSE(app, count, arguments);
  if (!plant(given.mutant)) {
    fmt::print(stderr, "crash_points: no such mutant: {}\n", given.mutant);
    return 2;
  }
  Options& options = given.options;
  if (given.point > 0) options.site = Site{given.point, *parse_trial(given.mode)};
  if (given.then > 0) options.in_recovery = Site{given.then, *parse_trial(given.then_mode)};
  if (!options.site) options.flips = kFlips;
  if (options.all && !options.whole_recoveries) options.whole_recoveries = kWholeRecoveries;
  if (!options.site && !options.all && options.sample == 0 && !options.whole_recoveries)
    options.sample = 400;
  const Directories directories;
  return Campaign(options, {directories.data(), directories.backup()}).run() ? 0 : 1;
}

}  // namespace
}  // namespace millrace::crash_points

int main(int count, char** arguments) { return millrace::crash_points::run(count, arguments); }
