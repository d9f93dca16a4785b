#include "sim/model/chronicle.h"

#include <algorithm>
#include <utility>

#include "engine/routing/scatter_gather.h"
#include "sim/violation.h"
#include "store/event_codec.h"

namespace millrace::sim {

Chronicle::Chronicle(std::uint32_t shard, Database& database, Marks& marks,
                     const core::MachineOptions& options, Limits limits, Effects& effects,
                     core::ShareWatch* watch)
    : shard_(shard),
      database_(database),
      watch_(watch),
      auditor_(marks, *this, options, limits,
               {.shard = shard, .shards = database.shards(), .effects = &effects, .fences = true}),
      fold_([&] {
        core::MachineOptions mine = options;
        mine.shard = shard;
        mine.shards = database.shards();
        return std::make_unique<core::Machine>(mine);
      }()) {}

std::optional<store::JournalRow> Chronicle::row(Seq seq) {
  const auto found = rows_.find(seq);
  return found == rows_.end() ? std::nullopt : std::optional(found->second);
}

Result<std::vector<core::Job>> Chronicle::fetch(const std::vector<JobId>& ids) {
  return database_.shard(shard_).tables.fetch(ids);
}

// --- Terms.

TermId Chronicle::begin(const store::JournalRow& first, Time now) {
  const TermId id{++terms_begun_};
  Term& term = waiting_[id];
  term.id = id;
  term.first = first.checksum;
  term.seq = first.seq;
  term.notes.push_back([this, now, seq = first.seq, epoch = first.epoch](Auditor& auditor) {
    auditor.started(now, seq, epoch);
    auditor.stalled(std::min(served_until_.value_or(now), now), now);
  });
  return id;
}

void Chronicle::note(TermId term, Note note) {
  if (is_current(term)) return note(auditor_);
  if (const auto found = waiting_.find(term); found != waiting_.end()) {
    found->second.notes.push_back(std::move(note));
  }
}

void Chronicle::served(TermId term, Time now) {
  if (is_current(term)) {
    current_->served = now;
  } else if (const auto found = waiting_.find(term); found != waiting_.end()) {
    found->second.served = now;
  }
}

void Chronicle::answered(TermId term, std::vector<engine::Outgoing> answers) {
  if (!is_current(term) && !waiting_.contains(term)) {
    for (const engine::Outgoing& answer : answers) check_late(answer);
    return;
  }
  note(term, [answers = std::move(answers)](Auditor& auditor) { auditor.answered(answers); });
}

// An answer from a node that leads no more: all that it reports as done must be in the journal.
void Chronicle::check_late(const engine::Outgoing& out) const {
  const engine::Answer& answer = out.delivery.answer;
  if (const core::ClaimReply* claim = claim_in(answer)) {
    for (const auto& item : claim->jobs) {
      demand(granted_.contains(to_number(item.job.token)), "DU1",
             "shard {}: {} was handed out by a node that leads no more, and no durable row says so",
             shard_, to_string(item.job.id));
    }
  }
  const auto* reply = std::get_if<core::Reply>(&answer);
  const auto* submitted = reply == nullptr ? nullptr : std::get_if<core::EnqueueReply>(reply);
  if (submitted == nullptr || submitted->refused_as_one) return;
  for (const auto& item : submitted->items) {
    demand(item.fate != core::Fate::kCreated || created(item.id), "DU1",
           "shard {}: {} was acknowledged by a node that leads no more, and was never stored",
           shard_, to_string(item.id));
  }
}

// --- The journal.

void Chronicle::advance() {
  while (const auto row = database_.shard(shard_).journal.row(next(newest_))) {
    check_chain(*row);
    const bool begins = std::ranges::any_of(
        waiting_, [&](const auto& entry) { return entry.second.first == row->checksum; });
    if (begins) {
      enter(*row);
    } else {
      demand(current_ && row->epoch == rows_.at(newest_).epoch, "N1",
             "shard {}: row {} is of epoch {}, whose term is over or never began", shard_,
             to_number(row->seq), to_number(row->epoch));
    }
    rows_.emplace(row->seq, *row);
    newest_ = row->seq;
    fold(*row);
    if (begins) {
      for (const Note& note : std::exchange(current_->notes, {})) note(auditor_);
    }
  }
}

void Chronicle::check_chain(const store::JournalRow& row) const {
  const auto checksum = store::row_checksum(shard_, row.seq, row.epoch, row.predecessor, row.body);
  demand(checksum == row.checksum, "DU6", "shard {}: row {} is damaged", shard_,
         to_number(row.seq));
  const auto before = rows_.find(newest_);
  if (before == rows_.end()) return;
  demand(before->second.checksum == row.predecessor, "N2",
         "shard {}: row {} does not continue row {}", shard_, to_number(row.seq),
         to_number(newest_));
}

// The first row of another term: the previous term is over, even for nodes that still believe in
// it.
void Chronicle::enter(const store::JournalRow& row) {
  const auto found = std::ranges::find_if(
      waiting_, [&](const auto& entry) { return entry.second.first == row.checksum; });
  if (current_) {
    demand(row.epoch > rows_.at(newest_).epoch, "N2", "shard {}: epoch {} follows epoch {}", shard_,
           to_number(row.epoch), to_number(rows_.at(newest_).epoch));
    auditor_.ended(newest_);
    if (current_->served) served_until_ = current_->served;
  }
  current_ = std::move(found->second);
  waiting_.erase(found);
}

void Chronicle::fold(const store::JournalRow& row) {
  const Result<core::EventBatch> batch = store::decode_events(row.body);
  demand(batch.has_value(), "DU6", "shard {}: row {} can't be decoded", shard_, to_number(row.seq));
  Finishes& finishes = database_.finishes();
  for (const core::Event& event : batch->events) {
    fold_->apply(event, batch->at);
    if (const auto* submitted = std::get_if<core::Submitted>(&event)) {
      const core::Job& job = submitted->job;
      created_.insert(job.id);
      const bool belongs = job.queue.view() == kOutbox ||
                           engine::shard_of(job.queue.view(), database_.shards()) == shard_;
      demand(belongs, "N5", "{} of queue {} lies on shard {}", to_string(job.id), job.queue.view(),
             shard_);
    } else if (const auto* claimed = std::get_if<core::Claimed>(&event)) {
      for (const auto& item : claimed->items) {
        granted_.insert(to_number(item.token));
        finishes.granted(fold_->view(item.job.id)->job, item.token);
      }
    } else if (const auto* retried = std::get_if<core::Retried>(&event)) {
      finishes.retried(retried->job);
    } else if (const auto* ended = std::get_if<core::AttemptEnded>(&event)) {
      if (ended->state == core::State::kSucceeded) finishes.succeeded(ended->job.id, ended->token);
    } else if (const auto* finished = std::get_if<core::Finished>(&event)) {
      finishes.succeeded(finished->job.id, finished->token);
    }
  }
  database_.stored(*batch);
  if (watch_ != nullptr) {
    watch_->follow(shard_, *batch);
    const std::string& broken = watch_->broken();
    demand(broken.empty(), broken.starts_with("F8") ? "F8" : "F1", "shard {}: {}", shard_, broken);
  }
  fold_->take_woken_queues();
  fold_->take_endings();
  fold_->end_step();
  if (to_number(row.seq) % kRowsBetweenEvictions == 0) {
    fold_->take_changes();
    fold_->changes_stored();
  }
}

}  // namespace millrace::sim
