// Lives that have ended, whose rows turn up later.
#include <algorithm>
#include <utility>

#include "sim/model/auditor.h"
#include "sim/violation.h"
#include "store/event_codec.h"

namespace millrace::sim {

// A row of an ended life: of the last one, or of an earlier one, if the row was thought lost.
void Auditor::follow_dead_row(Seq seq) {
  const auto row = stored_.row(seq);
  demand(row.has_value(), "DU2", "row {} is gone", to_number(seq));
  if (!batches_.contains(seq) || row->epoch != epoch_) {
    Result<core::EventBatch> batch = store::decode_events(row->body);
    demand(batch.has_value(), "DU6", "row {} can't be decoded", to_number(seq));
    batches_.insert_or_assign(seq, std::move(*batch));
  }
  if (row->epoch != epoch_) {
    const auto ghost = std::ranges::find_if(
        ghosts_, [&](const Ghost& known) { return known.row == seq && known.epoch == row->epoch; });
    demand(ghost != ghosts_.end(), "H2", "row {} stands in the journal, and nobody decided it",
           to_number(seq));
    marks_.hit(Mark::kLeaderDeposed);
    entries_.clear();
    requests_ = ghost->requests;
    parked_ = ghost->parked;
    const Entry entry = ghost->entry;
    // The row was decided with the stalls known to its own life.
    const auto stalls = std::exchange(stalls_, ghost->stalls);
    follow_entry(entry);
    stalls_ = stalls;
    // That life served until this row, but the next life's stall was counted without it.
    if (!stalls_.empty()) {
      auto& [from, to] = stalls_.back();
      from = std::max(from, std::min(to, model_.now()));
    }
    return;
  }
  while (followed_ < seq && !entries_.empty() && entries_.front().needs <= seq) {
    const Entry entry = std::move(entries_.front());
    entries_.pop_front();
    follow_entry(entry);
  }
}

// Keeps the entries whose rows may still arrive: the row that was in flight.
void Auditor::keep_ghosts() {
  for (Entry& entry : entries_) {
    std::map<Ticket, engine::Request> requests;
    if (const auto* step = std::get_if<Step>(&entry.what)) {
      if (!step->row || *step->row != next(followed_)) continue;
      for (const Ticket ticket : step->tickets) requests.insert(requests_.extract(ticket));
    } else if (!std::holds_alternative<Start>(entry.what) || entry.needs != next(followed_)) {
      continue;
    }
    const Seq row = entry.needs;
    ghosts_.push_back({row, epoch_, std::move(entry), std::move(requests), parked_, stalls_});
    if (ghosts_.size() > 64) ghosts_.erase(ghosts_.begin());
    return;
  }
}

}  // namespace millrace::sim
