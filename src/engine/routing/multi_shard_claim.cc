// A claim, or a worker's poll, over several shards. The poll's items are sent to all their shards
// at once. While these are committed, the shards of its queues are asked for jobs, one after
// another in the order of the queues, each for the rest of the limit. If none has any, a hint is
// left on each shard; when one fires, that shard is asked again. A hint leases nothing.
//
// Every answer is recorded, then settle() decides the next step.
#include <algorithm>
#include <deque>
#include <utility>

#include "core/bounds.h"
#include "engine/routing/exchange.h"
#include "engine/routing/router.h"

namespace millrace::engine {
namespace {

using std::chrono::milliseconds;

// With jobs or commands already obtained, it waits no longer than this for anything else.
constexpr milliseconds kPatienceInHand{1'000};
// The pause before a hint is left again on a shard that refused it; it doubles each time.
constexpr milliseconds kRefusedHintPause{100};
// The same after the second hint in a row that fired at once without a job to get.
constexpr milliseconds kVainHintPause{20};
constexpr milliseconds kLongestRefusedPause{2'000};
// Other claims may just have been faster, so the next job must not wait longer than this.
constexpr milliseconds kLongestVainPause{160};
// A hint that stood for this long did not fire at once.
constexpr milliseconds kHintStood{100};

milliseconds doubled(milliseconds pause, int times, milliseconds longest) {
  return std::min(pause * (1 << std::clamp(times, 0, 10)), longest);
}

// Consecutive queues that lie on one shard.
struct QueueRun {
  ShardNumber shard = 0;
  std::vector<SharedBytes> queues;
};

std::deque<QueueRun> queue_runs_of(const std::vector<SharedBytes>& queues, ShardNumber shards) {
  std::deque<QueueRun> runs;
  for (const SharedBytes& queue : queues) {
    const ShardNumber shard = shard_of(queue.view(), shards);
    if (runs.empty() || runs.back().shard != shard) runs.push_back({shard, {}});
    runs.back().queues.push_back(queue);
  }
  return runs;
}

class MultiShardClaim final : public Exchange {
 public:
  MultiShardClaim(Router& router, Request request, ReplyAddress reply_to, std::string credentials)
      : Exchange(router, reply_to, std::move(credentials)) {
    if (auto* poll = std::get_if<Poll>(&request)) {
      kind_ = Kind::kPoll;
      poll_ = std::move(*poll);
    } else if (auto* waiting = std::get_if<WaitingClaim>(&request)) {
      kind_ = Kind::kWaitingClaim;
      poll_.claim = std::move(waiting->claim);
      poll_.wait = waiting->wait;
      poll_.worker = std::move(waiting->worker);
    } else {
      kind_ = Kind::kClaim;
      poll_.claim = std::get<core::Claim>(std::get<core::Command>(std::move(request)));
    }
  }

 private:
  enum class Kind : std::uint8_t { kPoll, kWaitingClaim, kClaim };

  // A shard of the claim's queues.
  struct Place {
    QueueRun all;  // the queues that lie there
    std::optional<std::size_t> hint;
    Instant hinted_at{};
    // No hint is left before this time; set after a refusal, or when hints fire in vain.
    Instant hint_after{};
    int refusals = 0;  // in a row
    int vain = 0;      // likewise, of hints that fired at once
  };

  // Why a part was sent.
  enum class Purpose : std::uint8_t { kBring, kBringElsewhere, kAsk, kHint };

  struct Brought {
    core::ItemsReply* into = nullptr;  // null: it has been answered
    Part part;                         // its request is kept
  };

  void start() override MILLRACE_REQUIRES(mutex_) {
    until_ = now() + poll_.wait;
    bring(reply_.acks, core::Command(std::exchange(poll_.acks, {})));
    bring(reply_.heartbeats, core::Command(std::exchange(poll_.heartbeats, {})));
    bring(reply_.logs, core::Command(std::exchange(poll_.logs, {})));
    if (poll_.claim) {
      to_ask_ = queue_runs_of(poll_.claim->queues, shards());
      for (const QueueRun& run : to_ask_) {
        std::vector<SharedBytes>& queues = place_of(run.shard).all.queues;
        queues.insert(queues.end(), run.queues.begin(), run.queues.end());
      }
    } else {
      // Needed only for the worker's commands, which are on every shard.
      for (ShardNumber shard = 0; shard < shards(); ++shard) ask_shard({shard, {}});
    }
    settle();
  }

  Place& place_of(ShardNumber shard) MILLRACE_REQUIRES(mutex_) {
    const auto found =
        std::ranges::find_if(places_, [&](const Place& place) { return place.all.shard == shard; });
    if (found != places_.end()) return *found;
    Place& place = places_.emplace_back();
    place.all.shard = shard;
    return place;
  }

  void send(Purpose purpose, ShardNumber shard, Request request) MILLRACE_REQUIRES(mutex_) {
    purposes_.push_back(purpose);  // its index is the part's number
    ask(shard, std::move(request));
  }

  // --- The poll's items.

  void bring(core::ItemsReply& into, Request request) MILLRACE_REQUIRES(mutex_) {
    into = std::get<core::ItemsReply>(std::get<core::Reply>(empty_answer(request)));
    if (into.items.empty()) return;
    for (Part& part : scatter(std::move(request), shards())) {
      bring_part(into, std::move(part), Purpose::kBring);
    }
  }

  void bring_part(core::ItemsReply& into, Part part, Purpose purpose) MILLRACE_REQUIRES(mutex_) {
    ++bringing_;
    brings_ = true;
    brought_.resize(purposes_.size() + 1);
    brought_.back() = {&into, std::move(part)};
    send(purpose, brought_.back().part.shard, brought_.back().part.request);
  }

  void was_brought(std::size_t number, Answer answer) MILLRACE_REQUIRES(mutex_) {
    const Brought brought = std::exchange(brought_[number], {});
    --bringing_;
    Answer whole = core::Reply(std::move(*brought.into));
    std::optional<Part> missing;
    if (purposes_[number] == Purpose::kBring) {
      gather(whole, brought.part, answer);
      missing = ask_elsewhere(brought.part.request, answer);
    } else {
      gather_elsewhere(whole, brought.part, std::move(answer));
    }
    *brought.into = std::get<core::ItemsReply>(std::get<core::Reply>(std::move(whole)));
    if (!missing) return;
    for (std::uint32_t& place : missing->places) place = brought.part.places[place];
    for (missing->shard = 0; missing->shard < shards(); ++missing->shard) {
      if (missing->shard == brought.part.shard) continue;
      bring_part(*brought.into, *missing, Purpose::kBringElsewhere);
    }
  }

  // Items whose shards have not answered may or may not have been done.
  void leave_open() MILLRACE_REQUIRES(mutex_) {
    for (std::size_t number = 0; number < brought_.size(); ++number) {
      if (brought_[number].into != nullptr) was_brought(number, Unavailable::kUnknown);
    }
  }

  // An item must be sent again, so the worker is answered now, without waiting for jobs.
  bool must_bring_again() const MILLRACE_REQUIRES(mutex_) {
    const auto refused = [](const core::ItemsReply& reply) {
      return std::ranges::any_of(reply.items, [](const auto& item) {
        return item.refusal.why == core::Rejection::kOverloaded;
      });
    };
    return refused(reply_.acks) || refused(reply_.heartbeats) || refused(reply_.logs);
  }

  // --- Requests for jobs.

  void ask_next() MILLRACE_REQUIRES(mutex_) {
    QueueRun run = std::move(to_ask_.front());
    to_ask_.pop_front();
    ask_shard(std::move(run));
  }

  void ask_shard(QueueRun run) MILLRACE_REQUIRES(mutex_) {
    ++asking_;
    std::optional<core::Claim> claim = poll_.claim;
    if (claim) {
      claim->queues = std::move(run.queues);
      claim->limit -= static_cast<std::uint32_t>(reply_.claim.jobs.size());
    }
    switch (kind_) {
      case Kind::kPoll:
        return send(Purpose::kAsk, run.shard,
                    Poll{poll_.worker, {}, {}, {}, std::move(claim), {}, poll_.goodbye});
      case Kind::kWaitingClaim:
        return send(Purpose::kAsk, run.shard, WaitingClaim{*std::move(claim), {}, poll_.worker});
      case Kind::kClaim:
        return send(Purpose::kAsk, run.shard, core::Command(*std::move(claim)));
    }
  }

  void was_asked(Answer answer) MILLRACE_REQUIRES(mutex_) {
    --asking_;
    if (refused(answer)) return;
    heard_ = true;
    if (auto* poll = std::get_if<PollReply>(&answer)) {
      take_jobs(std::move(poll->claim));
      for (const WorkerCommand& command : poll->commands) take_command(command);
      reply_.news = reply_.news || poll->news;
    } else {
      take_jobs(std::get<core::ClaimReply>(std::get<core::Reply>(std::move(answer))));
    }
  }

  void take_jobs(core::ClaimReply claim) MILLRACE_REQUIRES(mutex_) {
    for (const core::ClaimReply::Item& item : claim.jobs) {
      // The size of a payload that memory has dropped is unknown here.
      constexpr std::size_t kUnknown = std::size_t{1} << 20;
      bytes_ += item.job.payload.empty() ? kUnknown : item.job.payload.size();
    }
    std::ranges::move(claim.jobs, std::back_inserter(reply_.claim.jobs));
  }
  // A command for the whole worker that several shards send is passed on once.
  void take_command(const WorkerCommand& command) MILLRACE_REQUIRES(mutex_) {
    const auto same = [&](const WorkerCommand& other) {
      return other.kind == command.kind && other.kind != WorkerCommand::Kind::kCancel;
    };
    if (std::ranges::none_of(reply_.commands, same)) reply_.commands.push_back(command);
  }

  bool refused(const Answer& answer) MILLRACE_REQUIRES(mutex_) {
    if (std::holds_alternative<Denied>(answer)) {
      // Another node rejects the token: retrying with it would not help.
      refusal_ = answer;
      denied_ = true;
      return true;
    }
    if (!std::holds_alternative<Unavailable>(answer)) return false;
    if (!denied_) refusal_ = answer;
    return true;
  }

  // --- Hints.

  void was_hinted(std::size_t number, const Answer& answer) MILLRACE_REQUIRES(mutex_) {
    const auto place = std::ranges::find(places_, std::optional<std::size_t>(number), &Place::hint);
    if (place == places_.end()) return;
    place->hint.reset();
    if (refused(answer)) {
      // This shard will report nothing, but others may, and so may its next leader.
      place->hint_after =
          now() + doubled(kRefusedHintPause, place->refusals++, kLongestRefusedPause);
      return;
    }
    heard_ = true;
    place->refusals = 0;
    // The shard may hold jobs that this claim cannot get: do not ask it endlessly.
    place->vain = now() - place->hinted_at < kHintStood ? place->vain + 1 : 0;
    if (place->vain > 1) {
      place->hint_after = now() + doubled(kVainHintPause, place->vain - 2, kLongestVainPause);
    }
    to_ask_.push_back(place->all);
  }

  void leave_hints() MILLRACE_REQUIRES(mutex_) {
    std::optional<Instant> next;
    for (Place& place : places_) {
      if (place.hint) continue;
      if (place.hint_after > now()) {
        next = std::min(next.value_or(place.hint_after), place.hint_after);
        continue;
      }
      place.hint = purposes_.size();
      place.hinted_at = now();
      send(Purpose::kHint, place.all.shard,
           AwaitWork{place.all.queues, poll_.claim->types, poll_.worker.id,
                     std::chrono::ceil<Duration>(until_ - now()), kind_ != Kind::kPoll});
    }
    if (next) wake_at(std::min(*next, until_));
  }

  void drop_hints() MILLRACE_REQUIRES(mutex_) {
    for (Place& place : places_) {
      if (place.hint) drop(*std::exchange(place.hint, std::nullopt));
    }
  }

  // No shard accepts a hint.
  bool hints_refused() const MILLRACE_REQUIRES(mutex_) {
    return std::ranges::all_of(
        places_, [](const Place& place) { return !place.hint && place.refusals > 0; });
  }

  // --- The next step.

  // A quiet worker gets that command each time, and must wait nevertheless.
  bool in_hand() const MILLRACE_REQUIRES(mutex_) {
    return !reply_.claim.jobs.empty() || reply_.news;
  }
  bool wants_more() const MILLRACE_REQUIRES(mutex_) {
    return !gone_ && !denied_ && !impatient_ && !to_ask_.empty() &&
           reply_.claim.jobs.size() < poll_.claim->limit && bytes_ < core::kMaxClaimBytes;
  }
  bool waits_on() const MILLRACE_REQUIRES(mutex_) {
    if (gone_ || denied_ || in_hand() || !poll_.claim || now() >= until_) return false;
    const bool nobody_listens = !heard_ && refusal_;
    return !nobody_listens && !hints_refused() && !(bringing_ == 0 && must_bring_again());
  }

  void settle() MILLRACE_REQUIRES(mutex_) {
    if (asking_ == 0 && wants_more()) ask_next();
    if (asking_ == 0 && waits_on()) return leave_hints();
    const bool over = asking_ == 0 && (bringing_ == 0 || impatient_);
    if (over) return conclude();
    if (in_hand() && !gone_ && !patience_set_) {
      patience_set_ = true;
      patient_until_ = now() + kPatienceInHand;
      wake_at(patient_until_);
    }
  }

  void conclude() MILLRACE_REQUIRES(mutex_) {
    drop_hints();
    if (gone_) return finish(Unavailable::kDraining);
    if (refusal_ && !in_hand() && !brings_ && (denied_ || !heard_)) return finish(*refusal_);
    if (kind_ != Kind::kPoll) return finish(core::Reply(std::move(reply_.claim)));
    leave_open();
    finish(std::move(reply_));
  }

  void answered(std::size_t part, Answer answer) override MILLRACE_REQUIRES(mutex_) {
    switch (purposes_[part]) {
      case Purpose::kBring:
      case Purpose::kBringElsewhere:
        was_brought(part, std::move(answer));
        break;
      case Purpose::kAsk:
        was_asked(std::move(answer));
        break;
      case Purpose::kHint:
        was_hinted(part, answer);
        break;
    }
    settle();
  }

  void give_up_asking() MILLRACE_REQUIRES(mutex_) {
    for (std::size_t part = 0; part < purposes_.size(); ++part) {
      if (purposes_[part] == Purpose::kAsk) give_up(part);
    }
    asking_ = 0;
  }

  // Only one alarm at a time, the earliest.
  void wake_at(Instant at) MILLRACE_REQUIRES(mutex_) {
    if (alarm_ && *alarm_ <= at) return;
    alarm_ = at;
    ring_at(at);
  }

  void rang() override MILLRACE_REQUIRES(mutex_) {
    if (alarm_ && now() >= *alarm_) alarm_.reset();
    if (patience_set_ && now() >= patient_until_) {
      impatient_ = true;
      give_up_asking();
    }
    settle();
    if (patience_set_ && !finished()) wake_at(patient_until_);
  }

  // The poll's items are still executed.
  void given_up() override MILLRACE_REQUIRES(mutex_) {
    gone_ = true;
    give_up_asking();
    drop_hints();
    for (core::ClaimReply::Item& item : std::exchange(reply_.claim.jobs, {})) {
      const ShardNumber shard = shard_of(item.job.queue.view(), shards());
      core::ClaimReply one;
      one.jobs.push_back(std::move(item));
      give_back(shard, one);
    }
    settle();
  }

  Kind kind_{};
  Poll poll_;
  PollReply reply_;
  Instant until_{};

  std::vector<Purpose> purposes_;  // by part
  std::vector<Brought> brought_;   // by part
  std::size_t bringing_ = 0;
  bool brings_ = false;

  std::vector<Place> places_;
  std::deque<QueueRun> to_ask_;
  std::size_t asking_ = 0;
  std::size_t bytes_ = 0;  // approximate, of the payloads of the jobs obtained
  bool heard_ = false;     // a shard took the claim, or kept a hint
  bool denied_ = false;
  std::optional<Answer> refusal_;  // the last one

  bool gone_ = false;  // the caller has gone
  std::optional<Instant> alarm_;
  bool patience_set_ = false;
  Instant patient_until_{};
  bool impatient_ = false;
};

}  // namespace

std::shared_ptr<Exchange> make_multi_shard_claim(Router& router, Request request,
                                                 ReplyAddress reply_to, std::string credentials) {
  return std::make_shared<MultiShardClaim>(router, std::move(request), reply_to,
                                           std::move(credentials));
}

}  // namespace millrace::engine
