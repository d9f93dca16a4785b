#include "engine/routing/exchange.h"

#include <utility>

#include "base/mutant.h"
#include "engine/kinds.h"
#include "engine/routing/router.h"

namespace millrace::engine {
namespace {

// How long a part that was given up may still bring jobs.
constexpr std::chrono::seconds kLateAnswers{90};

const core::ClaimReply* claim_in(const Answer& answer) {
  if (const auto* poll = std::get_if<PollReply>(&answer)) return &poll->claim;
  const auto* reply = std::get_if<core::Reply>(&answer);
  return reply == nullptr ? nullptr : std::get_if<core::ClaimReply>(reply);
}

// For one shard, whose answer is the whole answer.
class SingleShardExchange final : public Exchange {
 public:
  SingleShardExchange(Router& router, Request request, ShardNumber shard, ReplyAddress reply_to,
                      std::string credentials)
      : Exchange(router, reply_to, std::move(credentials)),
        shard_(shard),
        request_(std::move(request)) {}

 private:
  void start() override MILLRACE_REQUIRES(mutex_) { ask(shard_, std::move(request_)); }
  void answered(std::size_t, Answer answer) override MILLRACE_REQUIRES(mutex_) {
    finish(std::move(answer));
  }
  void given_up() override MILLRACE_REQUIRES(mutex_) {
    give_up(0);
    finish(Unavailable::kDraining);
  }

  const ShardNumber shard_;
  Request request_;
};

// A poll whose items are for one shard. Items unknown there are asked for on the others.
class SingleShardPoll final : public Exchange {
 public:
  SingleShardPoll(Router& router, Poll poll, ShardNumber shard, ReplyAddress reply_to,
                  std::string credentials)
      : Exchange(router, reply_to, std::move(credentials)), shard_(shard), poll_(std::move(poll)) {}

 private:
  struct Carried {
    core::ItemsReply* into = nullptr;
    Part part;
  };

  void start() override MILLRACE_REQUIRES(mutex_) { ask(shard_, poll_); }

  void answered(std::size_t part, Answer answer) override MILLRACE_REQUIRES(mutex_) {
    if (part > 0) {
      const Carried& carried = carried_[part - 1];
      Answer whole = core::Reply(std::move(*carried.into));
      gather_elsewhere(whole, carried.part, std::move(answer));
      *carried.into = std::get<core::ItemsReply>(std::get<core::Reply>(std::move(whole)));
    } else {
      auto* reply = std::get_if<PollReply>(&answer);
      if (reply == nullptr) return finish(std::move(answer));
      reply_ = std::move(*reply);
      look_elsewhere(reply_.acks, core::Command(std::move(poll_.acks)));
      look_elsewhere(reply_.heartbeats, core::Command(std::move(poll_.heartbeats)));
      look_elsewhere(reply_.logs, core::Command(std::move(poll_.logs)));
    }
    if (part > 0) --missing_;
    if (missing_ == 0) finish(std::move(reply_));
  }

  void look_elsewhere(core::ItemsReply& items, const Request& asked) MILLRACE_REQUIRES(mutex_) {
    const std::optional<Part> part = ask_elsewhere(asked, core::Reply(items));
    if (!part) return;
    for (ShardNumber shard = 0; shard < shards(); ++shard) {
      if (shard == shard_) continue;
      ++missing_;
      carried_.push_back({&items, *part});
      ask(shard, part->request);
    }
  }

  void given_up() override MILLRACE_REQUIRES(mutex_) {
    if (missing_ == 0) give_up(0);
    give_back(shard_, reply_.claim);
    finish(Unavailable::kDraining);
  }

  const ShardNumber shard_;
  Poll poll_;
  PollReply reply_;
  std::vector<Carried> carried_;  // by part, from the second on
  std::size_t missing_ = 0;
};

// Items for one or several shards. Items unknown there are asked for on the others.
class ScatterExchange final : public Exchange {
 public:
  ScatterExchange(Router& router, Request request, ReplyAddress reply_to, std::string credentials)
      : Exchange(router, reply_to, std::move(credentials)),
        request_(std::move(request)),
        whole_(empty_answer(request_)) {}

 private:
  void start() override MILLRACE_REQUIRES(mutex_) {
    parts_ = scatter(request_, shards());
    missing_ = parts_.size();
    if (parts_.empty()) return finish(std::move(whole_));
    for (Part& part : parts_) ask(part.shard, std::move(part.request));
  }

  void answered(std::size_t part, Answer answer) override MILLRACE_REQUIRES(mutex_) {
    if (elsewhere_) {
      gather_elsewhere(whole_, *elsewhere_, std::move(answer));
    } else {
      gather(whole_, parts_[part], std::move(answer));
    }
    if (--missing_ > 0) return;
    if (elsewhere_ || !look_elsewhere()) finish(std::move(whole_));
  }

  bool look_elsewhere() MILLRACE_REQUIRES(mutex_) {
    elsewhere_ = ask_elsewhere(request_, whole_);
    if (!elsewhere_) return false;
    for (ShardNumber shard = 0; shard < shards(); ++shard) {
      if (parts_.size() == 1 && parts_.front().shard == shard) continue;
      ++missing_;
      ask(shard, elsewhere_->request);
    }
    return missing_ > 0;
  }

  const Request request_;
  Answer whole_;
  std::vector<Part> parts_;
  std::optional<Part> elsewhere_;
  std::size_t missing_ = 0;
};

// Asks every shard: waits for all answers, or only for the first.
class BroadcastExchange final : public Exchange {
 public:
  BroadcastExchange(Router& router, Request request, ReplyAddress reply_to, std::string credentials)
      : Exchange(router, reply_to, std::move(credentials)),
        request_(std::move(request)),
        route_(facts_of(request_).route),
        whole_(empty_answer(request_)) {}

 private:
  void start() override MILLRACE_REQUIRES(mutex_) {
    std::vector<Part> parts = scatter(request_, shards());
    missing_ = parts.size();
    for (Part& part : parts) ask(part.shard, std::move(part.request));
  }
  void answered(std::size_t, Answer answer) override MILLRACE_REQUIRES(mutex_) {
    --missing_;
    if (route_ == Route::kToFirst) {
      // A shard that cannot be asked is not the first one that knows. One that stops ends the wait
      // for events, since it would no longer report its own.
      const bool knows = std::holds_alternative<std::monostate>(answer);
      const auto* why = std::get_if<Unavailable>(&answer);
      const bool stops = why != nullptr && *why == Unavailable::kDraining &&
                         std::holds_alternative<AwaitEvents>(request_);
      if (!knows && !stops && missing_ > 0) return;
      drop_all();
      return finish(std::move(answer));
    }
    const auto* workers = std::get_if<WorkersReply>(&answer);
    done_ = done_ || (workers != nullptr && workers->found &&
                      std::holds_alternative<SetWorkerState>(request_));
    gather(whole_, {}, std::move(answer));
    if (missing_ > 0) return;
    // Some shards have sent the worker its command.
    const bool refused =
        std::holds_alternative<Unavailable>(whole_) || std::holds_alternative<Denied>(whole_);
    if (done_ && refused) whole_ = Unavailable::kUnknown;
    finish(std::move(whole_));
  }
  void given_up() override MILLRACE_REQUIRES(mutex_) {
    drop_all();
    finish(Unavailable::kDraining);
  }
  // These requests lease nothing, so late answers are ignored.
  void drop_all() MILLRACE_REQUIRES(mutex_) {
    for (std::size_t part = 0; part < shards(); ++part) drop(part);
  }

  const Request request_;
  const Route route_;
  Answer whole_;
  std::size_t missing_ = 0;
  bool done_ = false;  // some shard executed the worker's command
};

bool brings_items(const Poll& poll) {
  return !(poll.acks.items.empty() && poll.heartbeats.items.empty() && poll.logs.items.empty());
}

}  // namespace

std::shared_ptr<Exchange> make_exchange(Router& router, Request request,
                                        std::optional<ShardNumber> shard, ReplyAddress reply_to,
                                        std::string credentials) {
  const auto make = [&]<typename Kind>(std::in_place_type_t<Kind>, auto&&... more) {
    return std::make_shared<Kind>(router, std::move(request), more..., reply_to,
                                  std::move(credentials));
  };
  const Route route = facts_of(request).route;
  switch (route) {
    case Route::kByItem:
      return make(std::in_place_type<ScatterExchange>);
    case Route::kPoll: {
      auto& poll = std::get<Poll>(request);
      if (!shard || !brings_items(poll) || router.shards() == 1) break;
      return std::make_shared<SingleShardPoll>(router, std::move(poll), *shard, reply_to,
                                               std::move(credentials));
    }
    case Route::kByJob:
    case Route::kByQueue:
    case Route::kByQueues:
    case Route::kToOne:
    case Route::kToFirst:
    case Route::kToAll:
      break;
  }
  if (shard) return make(std::in_place_type<SingleShardExchange>, *shard);
  if (route == Route::kByJob) return make(std::in_place_type<ScatterExchange>);
  if (route == Route::kByQueues || route == Route::kPoll) {
    return make_multi_shard_claim(router, std::move(request), reply_to, std::move(credentials));
  }
  return make(std::in_place_type<BroadcastExchange>);
}

Instant Exchange::now() const { return router_.now(); }
ShardNumber Exchange::shards() const { return router_.shards(); }

void Exchange::begin(std::uint64_t number) {
  const MutexLock lock(mutex_);
  number_ = number;
  start();
}

std::size_t Exchange::ask(ShardNumber shard, Request request) {
  const std::size_t part = sent_.size();
  sent_.push_back({shard, std::move(request), Stage::kOpen, false, now() + kLeaderPatience});
  ++open_;
  send(part);
  return part;
}

void Exchange::send(std::size_t part) {
  Sent& sent = sent_[part];
  // After a repeat the request is needed again to convert its answer: the route takes a copy.
  std::optional<Request> copy;
  if (sent.repeated) copy = sent.request;
  if (!router_.give(sent.shard, sent.repeated ? copy : sent.request,
                    Router::ticket_of(number_, part), credentials_)) {
    router_.hold_part({shared_from_this(), part, sent.shard, now(), sent.until});
  }
}

void Exchange::send_again(std::size_t part) {
  const MutexLock lock(mutex_);
  if (sent_[part].stage == Stage::kOpen) send(part);
}

void Exchange::refuse(std::size_t part, Unavailable why) {
  const MutexLock lock(mutex_);
  if (sent_[part].stage != Stage::kOpen) return;
  const bool repeated = sent_[part].repeated;
  close(part);
  if (!finished_) answered(part, repeated ? Unavailable::kUnknown : why);
}

void Exchange::answer_came(std::size_t part, Answer answer) {
  const MutexLock lock(mutex_);
  if (part >= sent_.size() || sent_[part].stage == Stage::kAnswered) return;
  Sent& sent = sent_[part];
  if (sent.stage == Stage::kGivenUp || finished_) {
    if (const core::ClaimReply* claim = claim_in(answer)) give_back(sent.shard, *claim);
    if (sent.stage == Stage::kOpen) close(part);
    return;
  }
  if (hold_again(part, answer)) return;
  if (sent.repeated) {
    if (sent.request) as_first_answer(*sent.request, answer);
    // This answers the repetition; the outcome of the first sending is unknown.
    const bool refused =
        std::holds_alternative<Unavailable>(answer) || std::holds_alternative<Denied>(answer);
    if (refused) answer = Unavailable::kUnknown;
  }
  close(part);
  answered(part, std::move(answer));
}

bool Exchange::hold_again(std::size_t part, const Answer& answer) {
  Sent& sent = sent_[part];
  const auto* why = std::get_if<Unavailable>(&answer);
  if (why == nullptr || !sent.request) return false;
  const bool nothing_done = *why == Unavailable::kNoLeader;
  if (nothing_done && now() >= sent.until) return false;
  if (!nothing_done) {
    // Repeat it once. Its outcome is unknown, so it must be idempotent.
    if (*why != Unavailable::kUnknown || sent.repeated) return false;
    if (!is_idempotent(*sent.request) && !mutated(Mutant::kForwardedTwice)) return false;
    make_repeatable(*sent.request);
    sent.repeated = true;
    sent.until = now() + kLeaderPatience;
  }
  router_.hold_part({shared_from_this(), part, sent.shard, now() + kSendAgainAfter, sent.until});
  return true;
}

void Exchange::close(std::size_t part) {
  sent_[part].stage = Stage::kAnswered;
  sent_[part].request.reset();
  --open_;
  if (finished_ && open_ == 0) router_.over(*this);
}

void Exchange::give_up(std::size_t part) {
  Sent& sent = sent_[part];
  if (sent.stage != Stage::kOpen) return;
  sent.stage = Stage::kGivenUp;
  sent.request.reset();
  router_.cancel_part(sent.shard, Router::ticket_of(number_, part));
}

void Exchange::drop(std::size_t part) {
  if (sent_[part].stage != Stage::kOpen) return;
  router_.cancel_part(sent_[part].shard, Router::ticket_of(number_, part));
  close(part);
}

void Exchange::give_back(ShardNumber shard, const core::ClaimReply& claim) {
  if (!claim.jobs.empty()) router_.release_jobs(shard, releases_of(claim), credentials_);
}

void Exchange::ring_at(Instant at) { router_.ring_at(shared_from_this(), at); }

void Exchange::ring() {
  const MutexLock lock(mutex_);
  if (!finished_) rang();
}

void Exchange::finish(Answer answer) {
  if (std::exchange(finished_, true)) return;
  finished_at_ = now();
  Delivery delivery{reply_to_.ticket, std::move(answer)};
  reply_to_.port->deliver({&delivery, 1});
  if (open_ == 0) router_.over(*this);
}

void Exchange::cancel() {
  const MutexLock lock(mutex_);
  if (!finished_) given_up();
}

bool Exchange::over_since(Instant now) const {
  const MutexLock lock(mutex_);
  return finished_ && now - finished_at_ > kLateAnswers;
}

}  // namespace millrace::engine
