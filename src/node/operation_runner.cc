#include "node/operation_runner.h"

#include <algorithm>
#include <string>
#include <variant>

#include "base/mutant.h"
#include "core/bounds.h"
#include "engine/shard/outbox.h"

namespace millrace::node {
namespace {

using std::chrono_literals::operator""ms;

constexpr Duration kWait{1'000};
constexpr Duration kTryAgainAfter{200};
constexpr Duration kAfterFailedRead{1'000};
// More than the difference between nodes' clocks.
constexpr Duration kLateFrom{2'000};
constexpr auto kLookEvery = 1'000ms;
constexpr auto kForgetEvery = 60'000ms;
constexpr auto kUnseenFor = 600'000ms;

const core::OperationReply* reply_in(const engine::Answer& answer) {
  const auto* const reply = std::get_if<core::Reply>(&answer);
  return reply == nullptr ? nullptr : std::get_if<core::OperationReply>(reply);
}

core::Condition until(core::JobField field, Time time) {
  core::Condition condition;
  condition.field = field;
  condition.comparison = core::Comparison::kLessEqual;
  condition.number = to_ms(time);
  condition.real = static_cast<double>(condition.number);
  return condition;
}

core::JobFilter filter_of(const core::OperationPart& part) {
  core::JobFilter filter = part.spec.filter;
  // Jobs that acks submitted to other shards are in transit, and operations must not change them.
  core::Condition of_users;
  of_users.field = core::JobField::kQueue;
  of_users.negated = true;
  of_users.values = {std::string(engine::kOutboxQueue)};
  filter.conditions.push_back(std::move(of_users));
  // The shard was out of reach when the operation began: then the bound is a time, not an ord.
  const bool late = part.begun_at > part.spec.created_at + kLateFrom;
  const Time bound = late ? part.spec.created_at : part.begun_at;
  if (late) filter.conditions.push_back(until(core::JobField::kCreatedAt, bound));
  // A job that this operation retried and that ended again is not retried again.
  if (part.spec.action == core::OperationAction::kRetry) {
    filter.conditions.push_back(until(core::JobField::kFinishedAt, bound));
  }
  return filter;
}

}  // namespace

void OperationRunner::begin() {
  end();
  leads_ = true;
  ++term_;
  ask();
}

void OperationRunner::end() {
  leads_ = false;
  not_before_ = {};
  work_.reset();
  selecting_ = false;
  step_.reset();
  whole_.reset();
  known_.clear();
  told_.clear();
  viewed_.clear();
  apart_.reset();
  asks_.clear();
  selections_.clear();
}

engine::Ticket OperationRunner::send(Asking::Whom whom, engine::Request request) {
  const engine::Ticket ticket{++last_ticket_};
  asks_.push_back({whom, std::move(request), ticket});
  return ticket;
}

void OperationRunner::pause(Duration time) { not_before_ = now_ + time; }

void OperationRunner::ask() {
  if (!leads_ || work_ || busy() || now_ < not_before_) return;
  engine::AwaitOperationWork wait{kWait, {}};
  for (const auto& [id, known] : known_) wait.sharers.push_back({id, known.sharers});
  work_ = send(Asking::Whom::kShard, std::move(wait));
}

void OperationRunner::tick(Instant now, Time wall) {
  now_ = now;
  wall_ = wall;
  if (!leads_) return;
  std::erase_if(known_, [&](const auto& entry) { return entry.second.seen_at + kUnseenFor < now; });
  for (auto& [id, known] : known_) look(id, known, nullptr);
  // The first shard's leader forgets operations for all shards.
  if (shard_ == 0 && !whole_ && now >= whole_at_) {
    whole_at_ = now + kForgetEvery;
    whole_ = send(Asking::Whom::kAllShards, core::Command(core::GetOperations{}));
  }
  ask();
}

// The first shard's leader has all others begin their parts. Each learns how many shards still
// share the rate.
void OperationRunner::look(const JobId& id, Known& known, const core::OperationPart* part) {
  if (shards_ == 1) return;
  if (part != nullptr && shard_ == 0 && !known.told) {
    core::StartOperation start{id, part->spec, part->rate_per_s, {}};
    told_.emplace(send(Asking::Whom::kAllShards, core::Command(std::move(start))), id);
  }
  if (now_ < known.look_at) return;
  known.look_at = now_ + kLookEvery;
  core::GetOperations get;
  get.id = id;
  viewed_.emplace(send(Asking::Whom::kAllShards, core::Command(get)), id);
}

void OperationRunner::answered(engine::Ticket ticket, engine::Answer answer) {
  const core::OperationReply* const reply = reply_in(answer);
  if (const auto told = told_.extract(ticket); !told.empty()) {
    const auto known = known_.find(told.mapped());
    if (known != known_.end()) known->second.told = reply != nullptr && !reply->refusal;
  } else if (const auto viewed = viewed_.extract(ticket); !viewed.empty()) {
    if (reply != nullptr) take_view(viewed.mapped(), *reply);
  } else if (whole_ == ticket) {
    whole_.reset();
    if (reply != nullptr) forget_old(*reply);
  } else if (work_ == ticket) {
    work_.reset();
    if (auto* const work = std::get_if<engine::OperationWork>(&answer)) {
      take_work(std::move(*work));
    } else {
      pause(kTryAgainAfter);
    }
  } else if (step_ == ticket) {
    step_.reset();
    const bool done = reply != nullptr && !reply->refusal;
    if (apart_ && done) {  // a mutant: the cursor follows in a commit of its own
      step_ = send(Asking::Whom::kShard, core::Command(*std::exchange(apart_, std::nullopt)));
      return;
    }
    apart_.reset();
    const bool overloaded = reply == nullptr || reply->refusal.why == core::Rejection::kOverloaded;
    if (!done && overloaded) pause(kTryAgainAfter);
    ask();
  }
}

void OperationRunner::take_work(engine::OperationWork work) {
  if (!work.part) return ask();
  Known& known = known_.try_emplace(work.part->id, Known{false, shards_, {}, {}}).first->second;
  known.seen_at = now_;
  look(work.part->id, known, &*work.part);
  selecting_ = true;
  core::JobFilter filter = filter_of(*work.part);
  selections_.push_back({term_, std::move(*work.part), std::move(filter), work.limit});
}

void OperationRunner::selected(const Selection& selection,
                               const Result<store::Tables::IdPage>& page) {
  if (!leads_ || selection.term != term_ || !selecting_) return;
  selecting_ = false;
  if (!page) {
    pause(kAfterFailedRead);
    return;
  }
  core::StepOperation step;
  step.id = selection.part.id;
  step.below = selection.part.below;
  for (std::size_t i = 0; i < page->ids.size(); ++i) {
    step.items.push_back({page->ids[i], page->ords[i]});
  }
  step.next = page->next_after_ord.value_or(0);
  step.ends = !page->next_after_ord;
  // The models' follower reads the rows, at its own pace.
  const bool reads_rows = selection.part.spec.kind == core::OperationKind::kReproject;
  if (reads_rows && !step.ends && step.next >= step.below) return pause(kTryAgainAfter);
  if (step.ends && awaits_others(step.id)) {
    step.ends = false;
    if (step.items.empty() && step.below == 0) return pause(kTryAgainAfter);
  }
  if (mutated(Mutant::kOperationCursorApart) && !step.items.empty()) {
    apart_ = step;
    apart_->items.clear();
  }
  step_ = send(Asking::Whom::kShard, core::Command(std::move(step)));
}

// The first shard's part ends last: it represents the whole operation.
bool OperationRunner::awaits_others(const JobId& id) {
  const auto known = known_.find(id);
  if (shard_ != 0 || shards_ == 1 || known == known_.end()) return false;
  if (known->second.told && known->second.sharers == 1) return false;
  if (viewed_.empty()) known->second.look_at = now_;
  return true;
}

void OperationRunner::take_view(const JobId& id, const core::OperationReply& reply) {
  const auto known = known_.find(id);
  if (known == known_.end()) return;
  const auto ended = static_cast<std::uint32_t>(std::ranges::count_if(
      reply.parts, [](const core::OperationPart& part) { return core::has_ended(part.state); }));
  // A shard that has not begun its part yet will begin it.
  known->second.sharers = std::max(shards_ - std::min(ended, shards_), 1U);
}

void OperationRunner::forget_old(const core::OperationReply& reply) {
  struct Whole {
    bool ended = true;
    Time at = Time::min();
  };
  std::map<JobId, Whole> all;
  for (const core::OperationPart& part : reply.parts) {
    Whole& whole = all[part.id];
    whole.ended = whole.ended && core::has_ended(part.state);
    whole.at = std::max(whole.at, part.ended_at.value_or(part.updated_at));
  }
  core::ForgetOperations forget;
  std::size_t kept = 0;
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    if (!at->second.ended) continue;
    const bool old = at->second.at + core::kOperationsKept < wall_;
    if (old || kept == core::kMaxEndedOperations) {
      forget.ids.push_back(at->first);
    } else {
      ++kept;
    }
  }
  if (forget.ids.empty()) return;
  (void)send(Asking::Whom::kAllShards, core::Command(std::move(forget)));
}

}  // namespace millrace::node
