// The time after a death or a disk failure: the next start, and a period of work.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "sim/crash_points/disk.h"
#include "sim/crash_points/ledger.h"
#include "sim/crash_points/life.h"
#include "sim/crash_points/tally.h"
#include "sim/crash_points/workload.h"

namespace millrace::crash_points {

// The process dies, perhaps with its machine. It no longer holds anything on the disk.
void die(Disk& disk, Death death, const Call& under_way, Random random);

class Aftermath {
 public:
  Aftermath(Disk& disk, Workload::Places places, Ledger& ledger, Logger log, Tally& tally)
      : disk_(disk),
        places_(std::move(places)),
        ledger_(ledger),
        log_(std::move(log)),
        tally_(tally) {}

  // Starts, checks everything, continues to work, ends in one of several ways, starts again and
  // checks again. `in_recovery` is asked about each call of the first start, up to its first
  // answers; null: none. Problems are recorded in the ledger.
  void live_on(CallHook* in_recovery, Random random);

 private:
  std::unique_ptr<Life> start(CallHook* in_recovery);
  std::unique_ptr<Life> try_to_start();
  void work(Life& life);
  void use_a_lease(Life& life);
  void check_files();
  void check_backup();
  void problem(std::string what) { ledger_.problems.push_back(std::move(what)); }

  Disk& disk_;
  const Workload::Places places_;
  Ledger& ledger_;
  const Logger log_;
  Tally& tally_;
  std::string refusal_;
};

}  // namespace millrace::crash_points
