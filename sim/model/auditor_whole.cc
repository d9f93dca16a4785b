// Compares the machine's whole state with the model's.
#include "sim/model/auditor.h"
#include "sim/model/difference.h"
#include "sim/violation.h"

namespace millrace::sim {

void Auditor::compare(const core::Machine& machine) {
  std::size_t live = 0;
  model_.each_job([&](const core::Job& should) {
    const auto view = machine.view(should.id);
    const bool terminal = core::is_terminal(should.state);
    if (!terminal) ++live;
    demand(view != nullptr || terminal, "H1", "{} ({}) is not in memory", to_string(should.id),
           name_of(should.state));
    if (view != nullptr) {
      const std::string wrong = difference(whole(view->job, should), should);
      demand(wrong.empty(), terminal ? "X1" : "S1", "{}:{}", to_string(should.id), wrong);
    } else {
      const auto rows = stored_.fetch({should.id});
      demand(rows && rows->size() == 1, "DU7", "{} ({}) is gone", to_string(should.id),
             name_of(should.state));
      const std::string wrong = difference(rows->front(), should);
      demand(wrong.empty(), "X1", "{}, in the tables:{}", to_string(should.id), wrong);
    }
  });
  demand(live == model_.live().size(), "S1", "the model lost count of itself");
  const core::StateCounts counts = machine.counts();
  core::StateCounts should{};
  for (const auto& [name, queue] : model_.queues()) {
    for (std::size_t i = 0; i < should.size(); ++i) should[i] += queue.counts[i];
  }
  demand(counts == should, "S4", "the machine's counts are not the model's");
  demand(machine.live_leases() == counts[static_cast<std::size_t>(core::State::kRunning)], "L1",
         "{} leases are live, {} jobs run", machine.live_leases(),
         counts[static_cast<std::size_t>(core::State::kRunning)]);
  demand(machine.live_leases() == model_.leases_held(), "S5",
         "{} leases are live, of those given out {} have not ended", machine.live_leases(),
         model_.leases_held());
  compare_schedules(machine);
  operations_.compare(machine.operations());
  machine.check_invariants();
  demand(machine.digest() == folded_digest(), "S7",
         "the journal's fold at row {} is another state than the live one", to_number(followed_));
}

}  // namespace millrace::sim
