// The order in which sites are tried, and the resulting figures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/crash_points/explorer.h"
#include "sim/crash_points/tally.h"

namespace millrace::crash_points {

struct Options {
  bool all = false;
  std::uint64_t sample = 0;  // sites
  // For this many deaths, spread over the workload, each call of the recovery is tried too.
  std::optional<std::uint64_t> whole_recoveries;
  std::optional<double> minutes;
  std::uint64_t seed = 1;
  std::optional<Site> site;
  std::optional<Site> in_recovery;
  std::uint64_t flips = 0;
  unsigned processes = 2;
};

class Campaign {
 public:
  Campaign(Options options, Workload::Places places);

  // Prints the progress, the figures, and the story of a violation. True: there was none.
  bool run();

 private:
  void count();
  void try_sample();
  void try_all();
  void try_whole_recoveries();
  void try_flips();
  // Each plan runs in a separate process, which begins with an empty disk.
  template <typename Work>
  void in_process(Work work);
  void explore(Plan plan);
  Plan plan() const;
  bool late() const;
  void tell_progress(std::string_view what) const;
  void tell_figures() const;

  const Options options_;
  const Workload::Places places_;
  Tally& tally_;
  std::optional<std::chrono::steady_clock::time_point> until_;
};

}  // namespace millrace::crash_points
