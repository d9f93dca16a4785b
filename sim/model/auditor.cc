#include "sim/model/auditor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "core/bounds.h"
#include "sim/model/entries.h"
#include "sim/violation.h"
#include "sim/world/guesses.h"
#include "store/event_codec.h"

namespace millrace::sim {
namespace {

std::uint64_t count_commands(const engine::Request& request) {
  const auto* poll = std::get_if<engine::Poll>(&request);
  if (poll == nullptr) return 1;
  return 1 + (poll->acks.items.empty() ? 0 : 1) + (poll->heartbeats.items.empty() ? 0 : 1);
}

core::MachineOptions in_place(core::MachineOptions options, const Place& place) {
  options.shard = place.shard;
  options.shards = place.shards;
  return options;
}

}  // namespace

const core::ClaimReply* claim_in(const engine::Answer& answer) {
  if (const auto* poll = std::get_if<engine::PollReply>(&answer)) return &poll->claim;
  const auto* reply = std::get_if<core::Reply>(&answer);
  return reply == nullptr ? nullptr : std::get_if<core::ClaimReply>(reply);
}

Auditor::Auditor(Marks& marks, Storage& stored, core::MachineOptions options, Limits limits,
                 Place place)
    : marks_(marks),
      stored_(stored),
      options_(in_place(options, place)),
      limits_(limits),
      place_(place),
      model_(marks, options_),
      schedules_(marks, model_, place_, limits),
      catalog_(marks),
      operations_(marks, model_),
      fold_(std::make_unique<core::Machine>(options_)) {
  model_.gates().share_between(place.shard, place.shards);
}

// --- Events.

void Auditor::offered(Ticket ticket, engine::Request request, By by, std::uint64_t round) {
  commands_ += count_commands(request);
  if (round > 0) rounds_.emplace(ticket, round);
  if (by == By::kRelay) of_relays_.insert(ticket);
  requests_.emplace(ticket, std::move(request));
  undecided_.push_back(ticket);
}

void Auditor::cancelled(Ticket ticket) {
  const auto found = std::ranges::find(undecided_, ticket);
  if (found == undecided_.end()) {
    const Seq needs = entries_.empty() ? Seq{0} : entries_.back().needs;
    entries_.push_back({needs, Gone{ticket}});
    return;
  }
  engine::Request& request = requests_.at(ticket);
  // These can't be withdrawn.
  if (std::holds_alternative<core::Command>(request) ||
      std::holds_alternative<engine::FindJob>(request)) {
    return;
  }
  if (auto* poll = std::get_if<engine::Poll>(&request)) {
    poll->claim.reset();
    return;
  }
  undecided_.erase(found);
  requests_.erase(ticket);
}

void Auditor::decided(Time now, const Wall& wall, std::optional<Seq> row, Seq head, Closing closing,
                      bool reads_failed) {
  Step step{now, wall, row, closing, reads_failed, std::exchange(undecided_, {})};
  entries_.push_back({head, std::move(step)});
}

void Auditor::waits_ended(Seq head) {
  waits_are_over_ = true;
  entries_.push_back({head, std::monostate{}});
}
void Auditor::started(Time now, Seq row, Epoch epoch) {
  epoch_ = epoch;
  // Stalls that a life saw after its last durable row did not happen.
  for (auto& [from, to] : stalls_) to = std::min(to, now);
  std::erase_if(stalls_,
                [](const auto& stall) { return stall.second - stall.first <= core::kStallGrace; });
  entries_.push_back({row, Start{now, row}});
}

void Auditor::stalled(Time from, Time to) {
  if (to - from > core::kStallGrace) stalls_.emplace_back(from, to);
}

void Auditor::durable(Seq seq, const core::EventBatch& batch) {
  demand(stored_.row(seq).has_value(), "DU1", "row {} is called durable and is not there",
         to_number(seq));
  batches_.emplace(seq, batch);
}

void Auditor::answered(std::vector<engine::Outgoing> answers) {
  for (engine::Outgoing& out : answers) {
    const Ticket ticket = out.delivery.ticket;
    if (const core::ClaimReply* claim = claim_in(out.delivery.answer)) {
      for (const auto& item : claim->jobs) claimed_by_[to_number(item.job.token)] = ticket;
    }
    const auto request = requests_.find(ticket);
    if (request != requests_.end() &&
        std::holds_alternative<engine::Unavailable>(out.delivery.answer)) {
      note_put_off(ticket, request->second);
    }
    const bool first = answers_.emplace(ticket, std::move(out.delivery.answer)).second;
    demand(first, "DU4", "request {} was answered twice", static_cast<std::uint64_t>(ticket));
  }
}

void Auditor::gave_up(const std::vector<engine::Outgoing>& answers) {
  for (const engine::Outgoing& out : answers) {
    const auto* why = std::get_if<engine::Unavailable>(&out.delivery.answer);
    demand(why != nullptr && *why != engine::Unavailable::kDraining, "DU1",
           "request {} was answered by a shard that had ended",
           static_cast<std::uint64_t>(out.delivery.ticket));
  }
}

bool Auditor::needs_answers() const {
  return std::ranges::any_of(entries_, [](const Entry& entry) {
    const auto* step = std::get_if<Step>(&entry.what);
    return step != nullptr && step->reads_failed;
  });
}

// --- Following.

void Auditor::follow(Seq durable) {
  while (!entries_.empty() && entries_.front().needs <= durable) {
    const Entry entry = std::move(entries_.front());
    entries_.pop_front();
    follow_entry(entry);
  }
  check_payloads_gone();
  sort_out_strays();
}

// The journal's bytes alone must produce the same state (S7, DU3).
void Auditor::fold(Seq seq) {
  const std::optional<store::JournalRow> row = stored_.row(seq);
  demand(row.has_value(), "DU2", "row {}, which was answered for, is gone", to_number(seq));
  const Result<core::EventBatch> batch = store::decode_events(row->body);
  demand(batch.has_value(), "DU6", "row {} can't be decoded", to_number(seq));
  check_entries(seq, *batch, fold_->audited(),
                place_.effects == nullptr ? Entries::kDemanded : Entries::kMayLack, marks_);
  for (const core::Event& event : batch->events) fold_->apply(event, batch->at);
  fold_->take_woken_queues();
  fold_->take_endings();
  fold_->end_step();
  followed_ = seq;
  if (++rows_folded_ % kRowsBetweenEvictions == 0) {
    fold_->take_changes();
    fold_->changes_stored();
  }
}

void Auditor::follow_entry(const Entry& entry) {
  std::visit(
      [this](const auto& what) {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, Step>) {
          follow_step(what);
        } else if constexpr (std::is_same_v<What, Start>) {
          follow_start(what);
        } else if constexpr (std::is_same_v<What, Gone>) {
          follow_gone(what);
        } else {
          follow_waits_ended();
        }
      },
      entry.what);
}

Duration Auditor::counted(const Model::Lease& lease) const {
  Duration lost{};
  Time reached = lease.at;
  std::vector<std::pair<Time, Time>> stalls = stalls_;
  std::ranges::sort(stalls);
  for (const auto& [from, to] : stalls) {
    const Time begin = std::max(from, reached);
    // A stall less than a second old at the decision could not be known.
    if (to <= begin || model_.now() - from <= core::kStallGrace) continue;
    lost += std::min(to, model_.now()) - begin;
    reached = to;
  }
  return model_.now() - lease.at - lost;
}

void Auditor::follow_start(const Start& start) {
  fold(start.row);
  const core::EventBatch batch = std::move(batches_.extract(start.row).mapped());
  model_.begin(batch.at, batch);
  operations_.begin_term(batch.at);
  for (const core::Event& event : batch.events) {
    if (const auto* epoch = std::get_if<core::EpochStarted>(&event)) {
      model_.start_term(*epoch);
      term_first_token_ = epoch->first_token;
    }
    if (const auto* more = std::get_if<core::LeasesExtended>(&event)) {
      marks_.hit(Mark::kRestartGrace);
      model_.extend_leases(more->by);
    }
  }
}

void Auditor::follow_step(const Step& step) {
  core::EventBatch batch{step.now, {}};
  if (step.row) {
    fold(*step.row);
    batch = std::move(batches_.extract(*step.row).mapped());
  }
  demand(batch.at == step.now && step.now >= model_.now(), "S3", "decided at {}, written at {}",
         to_ms(step.now), to_ms(batch.at));
  const Choices choices(batch);
  model_.begin(step.now, batch);
  if (choices.extended > Duration{}) {
    marks_.hit(Mark::kStallGrace);
    model_.extend_leases(choices.extended);
  }
  schedules_.begin(batch, choices, step.wall, told_schedules(step));
  model_.tick(choices, [this](const Model::Lease& lease) { return counted(lease); });
  schedules_.fire_due();
  for (const core::Deleted* event : choices.retention) model_.prune(*event);
  for (const core::Event& event : batch.events) {
    const auto* cancel = std::get_if<core::CancelRequested>(&event);
    if (cancel != nullptr) cancel_orders_.emplace(cancel->job.id, to_number(cancel->token));
  }
  end_watches();
  next_claim_ = 0;
  retries_followed_.clear();
  for (const Ticket ticket : step.tickets) {
    follow_task(step, ticket, choices);
    end_watches();
  }
  schedules_.fire_rest();
  end_watches();
  serve_waiting(choices);
  tell_cancelled(batch);
  for (const core::Event& event : batch.events) {
    if (const auto* end = std::get_if<core::AttemptEnded>(&event)) {
      const core::EndedLease* known = model_.ended_lease(end->token);
      demand(known != nullptr && known->job == end->job.id && known->state == end->state, "L4",
             "an attempt of {} (token {}) ended, and nobody ended it", to_string(end->job.id),
             to_number(end->token));
    }
  }
  end_watches();
  end_waits();
  if (limits_ == Limits::kTight) model_.gates().count_unjudged_keys();
  model_.end();
  const std::uint64_t made = choices.submitted.size();
  const std::uint64_t created = model_.created_in_batch();
  demand(created == made, "H2", "row {}: {} jobs were stored, {} were submitted",
         step.row ? to_number(*step.row) : 0, made, created);
  demand(choices.finished.size() == model_.finished_in_batch(), "X6",
         "row {}: {} jobs were finished, {} finishes were brought",
         step.row ? to_number(*step.row) : 0, choices.finished.size(), model_.finished_in_batch());
}

void Auditor::follow_gone(const Gone& gone) {
  given_up_.erase(gone.ticket);
  requests_.erase(gone.ticket);
  std::erase_if(parked_, [&](const Parked& parked) { return parked.ticket == gone.ticket; });
  std::erase_if(watches_, [&](const Watch& watch) { return watch.ticket == gone.ticket; });
}

void Auditor::follow_waits_ended() {
  for (const Parked& parked : std::exchange(parked_, {})) check_parked(parked, {});
  for (const Watch& watch : std::exchange(watches_, {})) {
    if (const auto* reply = reply_of<core::JobReply>(watch.ticket, "a watch")) {
      check_job(*reply, watch.job, "a watch");
    }
  }
}

void Auditor::follow_task(const Step& step, Ticket ticket, const Choices& choices) {
  const auto node = requests_.extract(ticket);
  MILLRACE_CHECK(!node.empty());
  const engine::Request& request = node.mapped();
  if (follows_one_put_off(ticket, request)) return;
  if (was_refused_whole(step, ticket, request)) return;
  if (const auto* command = std::get_if<core::Command>(&request)) {
    follow_command(ticket, *command, choices);
  } else if (const auto* claim = std::get_if<engine::WaitingClaim>(&request)) {
    follow_claim(ticket, claim->claim, claim->wait, step.closing, choices);
  } else if (const auto* poll = std::get_if<engine::Poll>(&request)) {
    follow_poll(ticket, *poll, step.closing, choices);
  } else if (const auto* find = std::get_if<engine::FindJob>(&request)) {
    expect_job(ticket, find->id);
  } else if (const auto* watch = std::get_if<engine::WatchJob>(&request)) {
    const core::Job* job = model_.find(watch->id);
    const bool waits = job != nullptr && !core::is_terminal(job->state) &&
                       watch->wait > Duration{} && step.closing == Closing::kOpen;
    if (waits && given_up_.erase(ticket) > 0) {
      // Its wait exceeded the storage's patience, and it was told so.
    } else if (waits) {
      watches_.push_back({ticket, watch->id, job->ord, add_saturating(step.now, watch->wait)});
    } else if (const auto* reply = reply_of<core::JobReply>(ticket, "a watch")) {
      check_job(*reply, watch->id, "a watch");
    }
  } else if (given_up_.erase(ticket) == 0) {
    tells_later_.insert(ticket);
  }
}

// --- Waiting claims.

// In order of arrival; at most one if the life's answers are known.
std::vector<Ticket> Auditor::who_asked_for(const core::Claimed& event) {
  const auto by = claimed_by_.find(to_number(event.items.front().token));
  std::vector<Ticket> asked;
  for (const Parked& parked : parked_) {
    if (answers_known_) {
      if (by != claimed_by_.end() && parked.ticket == by->second) asked.push_back(parked.ticket);
      continue;
    }
    if (parked.claim.worker != event.worker) continue;
    std::vector<core::Job*> expired;
    const auto jobs = model_.claimable(parked.claim, expired);
    const bool is_same =
        std::ranges::equal(jobs, event.items, [&](const auto* job, const auto& item) {
          return job->id == item.job.id && parked.claim.lease.value_or(job->lease) == item.length;
        });
    if (is_same) asked.push_back(parked.ticket);
  }
  return asked;
}

void Auditor::serve_waiting(const Choices& choices) {
  Guesses guesses;
  while (next_claim_ < choices.claims.size()) {
    const core::Claimed& event = *choices.claims[next_claim_];
    const std::vector<Ticket> asked = who_asked_for(event);
    demand(answers_known_ ? !asked.empty() : guesses.add(asked), "L1",
           "{} was given {}, and nobody had asked for it", event.worker.view(),
           to_string(event.items.front().job.id));
    const auto served = std::ranges::find(parked_, asked.front(), &Parked::ticket);
    const Parked parked = *served;
    if (answers_known_) {
      // First come, first served, among claims for the same queues and types.
      const auto older = std::ranges::find_if(parked_, [&](const Parked& other) {
        return other.claim.queues == parked.claim.queues && other.claim.types == parked.claim.types;
      });
      demand(older == served, "O2", "waiting request {} was served before {}, which is older",
             static_cast<std::uint64_t>(parked.ticket), static_cast<std::uint64_t>(older->ticket));
      parked_.erase(served);
    }
    marks_.hit(Mark::kWaiterServed);
    check_parked(parked, model_claim(parked.claim, choices));
  }
  std::erase_if(parked_, [&](const Parked& parked) { return guesses.is_served(parked.ticket); });
  // In a dead life, it may be unknown which of two equal claims was served, and so which remains.
  model_.expire_as_told(choices);
  if (!answers_known_) return;
  check_nobody_waits();
}

// Cancellations end the polls of the workers concerned.
void Auditor::tell_cancelled(const core::EventBatch& batch) {
  for (const core::Event& event : batch.events) {
    const auto* cancel = std::get_if<core::CancelRequested>(&event);
    if (cancel == nullptr) continue;
    for (auto parked = parked_.begin(); parked != parked_.end();) {
      if (!parked->poll || parked->claim.worker != cancel->worker) {
        ++parked;
        continue;
      }
      const Parked told = *parked;
      parked = parked_.erase(parked);
      check_parked(told, {});
    }
  }
}

// A watch reports the first end after it began, with the job as it was then, whatever the rest of
// the step does.
void Auditor::end_watches() {
  std::erase_if(watches_, [&](const Watch& watch) {
    const core::Job* job = model_.find(watch.job);
    const bool another = job != nullptr && job->ord != watch.ord;
    if (job != nullptr && !another && !core::is_terminal(job->state)) return false;
    marks_.hit(Mark::kWatchAnswered);
    if (const auto* reply = reply_of<core::JobReply>(watch.ticket, "a watch")) {
      if (another) {
        demand(reply->job == nullptr, "H2", "a watch shows {}, which is another job now",
               to_string(watch.job));
      } else {
        check_job(*reply, watch.job, "a watch");
      }
    }
    return true;
  });
}

void Auditor::end_waits() {
  for (auto parked = parked_.begin(); parked != parked_.end();) {
    if (parked->deadline > model_.now()) {
      ++parked;
      continue;
    }
    const Parked over = *parked;
    parked = parked_.erase(parked);
    marks_.hit(Mark::kWaiterTimedOut);
    check_parked(over, {});
  }
  std::erase_if(watches_, [&](const Watch& watch) {
    if (watch.deadline > model_.now()) return false;
    if (const auto* reply = reply_of<core::JobReply>(watch.ticket, "a watch")) {
      check_job(*reply, watch.job, "a watch");
    }
    return true;
  });
}

bool Auditor::waits(Ticket ticket) const {
  return std::ranges::find(parked_, ticket, &Parked::ticket) != parked_.end() ||
         std::ranges::find(watches_, ticket, &Watch::ticket) != watches_.end();
}

// Accepts answers without a durable batch only if they depend on none.
void Auditor::sort_out_strays() {
  for (auto answer = answers_.begin(); answer != answers_.end();) {
    const Ticket ticket = answer->first;
    if (tells_later_.erase(ticket) > 0) {
      answer = answers_.erase(answer);
      continue;
    }
    const auto request = requests_.find(ticket);
    const bool decided =
        request != requests_.end() && std::ranges::find(undecided_, ticket) == undecided_.end();
    if (decided && (std::holds_alternative<engine::AwaitProjection>(request->second) ||
                    std::holds_alternative<engine::AwaitEvents>(request->second))) {
      // They depend on rows durable at the time of the request, or on a later durable row.
      given_up_.insert(ticket);
      answer = answers_.erase(answer);
      continue;
    }
    const auto* why = std::get_if<engine::Unavailable>(&answer->second);
    demand(why != nullptr, "DU1", "request {} was answered before its batch was durable",
           static_cast<std::uint64_t>(ticket));
    // A caller whose request was carried out in part, or may have been, is told that the outcome is
    // unknown.
    const bool too_new = *why == engine::Unavailable::kUpgrading && request != requests_.end() &&
                         is_too_new(request->second);
    const bool allowed =
        too_new || (may_refuse_ && (may_refuse_ == *why || *why == engine::Unavailable::kUnknown));
    demand(allowed, "R4", "request {} was refused for no reason",
           static_cast<std::uint64_t>(ticket));
    marks_.hit(too_new                                 ? Mark::kRefusedUpgrading
               : *why == engine::Unavailable::kStorage ? Mark::kRefusedStorage
                                                       : Mark::kRefusedInDoubt);
    if (std::erase(undecided_, ticket) > 0) {
      requests_.erase(ticket);
    } else if (requests_.contains(ticket) || waits(ticket)) {
      given_up_.insert(ticket);
    }
    // It was waiting until now, so earlier decisions must still be followed with it.
    entries_.push_back({entries_.empty() ? followed_ : entries_.back().needs, Gone{ticket}});
    answer = answers_.erase(answer);
  }
}

void Auditor::ended(Seq head) {
  answers_known_ = false;
  answers_.clear();
  claimed_by_.clear();
  while (followed_ < head) follow_dead_row(next(followed_));
  keep_ghosts();
  entries_.clear();
  batches_.clear();
  requests_.clear();
  undecided_.clear();
  parked_.clear();
  watches_.clear();
  tells_later_.clear();
  given_up_.clear();
  cancel_orders_.clear();
  put_off_.clear();
  answers_known_ = true;
  waits_are_over_ = false;
  may_refuse_.reset();
}

}  // namespace millrace::sim
