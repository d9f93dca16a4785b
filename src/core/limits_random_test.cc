// The machine against the naive model of limits: random lives, in which after every step nobody
// waits for what could start, no bound is broken, each job's reasons are the true ones, and the
// state is the fold of the journal, whether from its beginning or from the tables.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "core/limits_testing.h"
#include "core/machine.h"
#include "core/stored_testing.h"

namespace millrace::core {
namespace {

const std::vector<std::string> kQueues = {"mail", "sync", "bulk"};
const std::vector<std::string> kTypes = {"a", "b"};
const std::vector<std::string> kLimits = {"api", "db", "acct", "gpu"};
const std::vector<std::string> kOrderKeys = {"o1", "o2"};
const std::vector<std::string> kKeys = {"k1", "k2", "k3"};

class Life {
 public:
  explicit Life(std::uint64_t seed, std::size_t max_held_back = kMaxHeldBackPerClaim)
      : random_(seed) {
    options_.max_held_back = max_held_back;
    machine_ = std::make_unique<Machine>(options_);
    record([&](std::vector<Event>& events) { machine_->start_epoch(Epoch{1}, now_, events); });
    for (const std::string& queue : kQueues) decide(SetQueue{SharedBytes(queue), true, {}, {}});
    for (std::size_t i = 0; i < 6; ++i) wait();
  }

  void run(std::size_t steps) {
    for (std::size_t i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      step();
      ++steps_;
    }
  }
  std::size_t claims_with_jobs() const { return claims_with_jobs_; }
  std::size_t blocked_seen() const { return blocked_seen_; }

 private:
  struct Waiter {
    std::vector<std::string> queues, types;
    std::uint32_t count = 1;
  };
  struct Lease {
    JobId id;
    LeaseToken token{};
  };

  std::uint64_t below(std::uint64_t bound) { return random_.next() % bound; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  const std::string& any_of(const std::vector<std::string>& names) {
    return names[below(names.size())];
  }

  void step() {
    switch (below(17)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return submit();
      case 4:
      case 5:
      case 6:
        return claim();
      case 7:
      case 8:
      case 9:
        return ack();
      case 10:
      case 11:
        return pass_time();
      case 12:
        return set_limit();
      case 13:
        return pause_or_resume();
      case 14:
        return operate();
      case 15:
        return one_in(2) ? set_queue() : wait();
      default:
        return crash_or_flush();
    }
  }

  Rate any_rate() {
    Rate rate;
    rate.limit = static_cast<std::uint32_t>(1 + below(4));
    rate.per = Duration{static_cast<std::int64_t>(1 + below(one_in(2) ? 7 : 4'000))};
    if (one_in(2)) rate.burst = static_cast<std::uint32_t>(1 + below(5));
    return rate;
  }
  Bounds any_bounds() {
    Bounds bounds;
    if (!one_in(3)) bounds.concurrency = static_cast<std::uint32_t>(1 + below(3));
    if (one_in(2)) bounds.rate = any_rate();
    return bounds;
  }

  void set_limit() {
    if (one_in(6)) {
      DeleteLimit remove;
      remove.kind = one_in(3) ? LimitKind::kType : LimitKind::kNamed;
      remove.name = SharedBytes(any_of(remove.kind == LimitKind::kType ? kTypes : kLimits));
      remove.force = one_in(2);
      decide(std::move(remove));
      return;
    }
    SetLimit set;
    set.kind = one_in(4) ? LimitKind::kType : LimitKind::kNamed;
    set.name = SharedBytes(any_of(set.kind == LimitKind::kType ? kTypes : kLimits));
    set.incarnation = random_.next();
    set.settings.bounds = any_bounds();
    set.settings.per_key =
        set.kind == LimitKind::kNamed && (set.name.view() == "acct" || one_in(8));
    if (set.settings.per_key && one_in(2)) {
      set.settings.keys.push_back({SharedBytes(any_of(kKeys)), any_bounds()});
    }
    decide(std::move(set));
  }

  void pause_or_resume() {
    const bool of_type = one_in(4);
    const auto kind = of_type ? LimitKind::kType : LimitKind::kNamed;
    const SharedBytes name(any_of(of_type ? kTypes : kLimits));
    const SharedBytes key(!of_type && one_in(2) ? any_of(kKeys) : std::string());
    if (one_in(6)) {
      decide(one_in(2) ? Command(PauseQueue{SharedBytes(any_of(kQueues)), SharedBytes("off")})
                       : Command(ResumeQueue{SharedBytes(any_of(kQueues))}));
    } else if (one_in(3)) {
      PauseLimit pause{kind, name, key, SharedBytes("down"), {}};
      if (!one_in(3)) pause.length = Duration{static_cast<std::int64_t>(1 + below(500))};
      decide(std::move(pause));
    } else {
      decide(ResumeLimit{kind, name, key});
      for (const std::string& queue : kQueues) decide(ResumeQueue{SharedBytes(queue)});
    }
  }

  void set_queue() {
    QueuePatch patch;
    const Bounds bounds = one_in(3) ? Bounds{} : any_bounds();
    patch.concurrency = bounds.concurrency;
    patch.rate = bounds.rate;
    patch.limits.emplace();
    if (one_in(4)) patch.limits->limits.push_back({SharedBytes("db"), {}, 1, 0});
    SetQueue set;
    set.queue = SharedBytes(any_of(kQueues));
    set.patch = std::move(patch);
    decide(std::move(set));
  }

  JobSpec any_spec() {
    JobSpec spec;
    for (std::size_t i = 0; i < 8; ++i) spec.id.bytes[8 + i] = std::uint8_t(next_id_ >> (8 * i));
    ++next_id_;
    spec.queue = SharedBytes(any_of(kQueues));
    spec.type = SharedBytes(any_of(kTypes));
    spec.payload = SharedBytes("{}");
    spec.priority = static_cast<std::int16_t>(below(3));
    if (one_in(5)) spec.delay = Duration{static_cast<std::int64_t>(below(300))};
    if (one_in(8)) spec.expires_in = Duration{static_cast<std::int64_t>(1 + below(400))};
    if (one_in(3)) spec.max_attempts = 2;
    if (one_in(6)) spec.timeout = Duration{1'000};
    JobExtras extras;
    for (const std::string& name : kLimits) {
      if (!one_in(3)) continue;
      JobLimit limit;
      limit.name = SharedBytes(name);
      if (name == "acct" || one_in(20)) limit.key = SharedBytes(any_of(kKeys));
      if (one_in(4)) limit.cost = static_cast<std::uint32_t>(1 + below(4));
      extras.limits.push_back(std::move(limit));
    }
    if (one_in(4)) {
      extras.order_key = SharedBytes(any_of(kOrderKeys));
      extras.order_passes = one_in(3);
    }
    if (!(extras == JobExtras{}))
      spec.extras = std::make_shared<const JobExtras>(std::move(extras));
    return spec;
  }

  void submit() {
    if (model_waiting() > 40) return;
    Enqueue enqueue;
    for (std::uint64_t left = 1 + below(4); left > 0; --left) enqueue.jobs.push_back(any_spec());
    enqueue.atomicity = one_in(3) ? Atomicity::kAll : Atomicity::kEach;
    decide(std::move(enqueue));
  }
  std::size_t model_waiting() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        model_.jobs(), [](const auto& job) { return is_waiting(job.state); }));
  }

  Waiter any_waiter() {
    Waiter waiter;
    for (std::uint64_t left = 1 + below(3); left > 0; --left) {
      waiter.queues.push_back(any_of(kQueues));
    }
    if (one_in(2)) waiter.types.push_back(any_of(kTypes));
    waiter.count = static_cast<std::uint32_t>(1 + below(one_in(4) ? 10 : 2));
    return waiter;
  }
  void claim() {
    const Waiter waiter = any_waiter();
    if (!try_claim(waiter) && waiters_.size() < 4) waiters_.push_back(waiter);
  }

  // The claim must get what the model says. False: it got nothing.
  bool try_claim(const Waiter& waiter) {
    tick();
    Claim claim;
    for (const std::string& queue : waiter.queues) claim.queues.emplace_back(queue);
    for (const std::string& type : waiter.types) claim.types.emplace_back(type);
    claim.limit = waiter.count;
    claim.worker = SharedBytes("w" + std::to_string(below(2)));
    claim.lease = Duration{static_cast<std::int64_t>(1'000 + below(3'000))};
    const std::vector<JobId> expected =
        model_.claimed(waiter.queues, waiter.types, waiter.count, now_);
    const std::size_t hint = machine_->claimable(waiter.queues[0], claim.types, now_, 10);
    const std::vector<JobId> hinted = model_.claimed({waiter.queues[0]}, waiter.types, 10, now_);
    EXPECT_EQ(hint, hinted.size());
    const auto reply = std::get<ClaimReply>(decide(claim));
    std::vector<JobId> got;
    for (const ClaimReply::Item& item : reply.jobs) {
      got.push_back(item.job.id);
      leases_.push_back({item.job.id, item.job.token});
    }
    // A claim may stop early on its way past closed gates; what it left is offered again.
    if (options_.max_held_back == kMaxHeldBackPerClaim) {
      EXPECT_EQ(got, expected);
    } else {
      EXPECT_LE(got.size(), expected.size());
    }
    claims_with_jobs_ += got.empty() ? 0 : 1;
    return !got.empty();
  }

  void ack() {
    if (leases_.empty()) return;
    const auto at = leases_.begin() + static_cast<std::ptrdiff_t>(below(leases_.size()));
    AckItem item;
    item.id = at->id;
    item.token = at->token;
    item.outcome = static_cast<AckOutcome>(below(6));
    if (item.outcome == AckOutcome::kFailed) item.error = std::make_shared<JobError>();
    if (one_in(2)) item.delay = Duration{static_cast<std::int64_t>(below(200))};
    if (item.outcome == AckOutcome::kSnoozed && !item.delay) item.delay = Duration{50};
    if (one_in(6)) item.enqueue.push_back(any_spec());
    Ack command;
    if (item.outcome == AckOutcome::kSucceeded && item.enqueue.empty() && one_in(2)) {
      command.right = AckRight::kFence;
    }
    if (!one_in(10)) leases_.erase(at);
    command.items.push_back(std::move(item));
    decide(std::move(command));
  }

  void operate() {
    if (model_.jobs().empty()) return;
    const JobId id = model_.jobs()[below(model_.jobs().size())].id;
    switch (below(4)) {
      case 0:
        decide(Cancel{{id}, SharedBytes("no")});
        return;
      case 1: {
        Retry retry;
        retry.ids = {id};
        retry.drop_limits = one_in(2);
        decide(std::move(retry));
        return;
      }
      case 2: {
        Edit edit;
        edit.ids = {id};
        if (one_in(2)) edit.priority = static_cast<std::int16_t>(below(3));
        if (one_in(2)) edit.run_at = now_ + Duration{static_cast<std::int64_t>(below(100))};
        decide(std::move(edit));
        return;
      }
      default:
        decide(Delete{{id}});
    }
  }

  void pass_time() {
    now_ += Duration{static_cast<std::int64_t>(below(one_in(6) ? 3'000 : 40))};
    tick();
    serve();
    check();
  }
  void wait() { set_limit(); }

  void tick() {
    while (machine_->next_timer() && *machine_->next_timer() <= now_) {
      record([&](std::vector<Event>& events) { machine_->tick(now_, events); });
      if (!queues_offered()) break;
    }
  }
  // What tick() woke is offered at the end of the step.
  bool queues_offered() {
    for (SharedBytes& queue : machine_->take_woken_queues()) woken_.emplace_back(queue.view());
    return true;
  }

  void serve() {
    queues_offered();
    for (std::size_t round = 0; !woken_.empty() && round < 2'000; ++round) {
      const std::string queue = woken_.front();
      woken_.erase(woken_.begin());
      for (std::size_t i = 0; i < waiters_.size();) {
        const bool names_it = std::ranges::count(waiters_[i].queues, queue) > 0;
        if (names_it && try_claim(waiters_[i])) {
          waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
          ++i;
        }
      }
      tick();
      queues_offered();
    }
    EXPECT_TRUE(woken_.empty());
  }

  Reply decide(Command command) {
    const bool claims = std::holds_alternative<Claim>(command);
    if (!claims) tick();
    Reply reply;
    record([&](std::vector<Event>& events) {
      reply = machine_->decide(command, now_, tables_, Admission::kOpen, events);
    });
    if (claims) return reply;
    serve();
    check();
    return reply;
  }

  template <typename Step>
  void record(Step step) {
    EventBatch batch;
    batch.at = now_;
    step(batch.events);
    machine_->end_step();
    for (const Event& event : batch.events) {
      fold(event);
      model_.apply(event, now_);
    }
    machine_->check_invariants();
    journal_.push_back(std::move(batch));
  }

  // F1 and F6: a start must find a free slot, and be the job's turn.
  void fold(const Event& event) {
    const auto* const claimed = std::get_if<Claimed>(&event);
    if (claimed == nullptr) return;
    NaiveLimits before = model_;
    for (const Claimed::Item& item : claimed->items) {
      EXPECT_TRUE(before.is_its_turn(*before.find(item.job.id)));
      for (const auto& gate : before.gates_of(*before.find(item.job.id))) {
        const Bounds bounds = before.bounds_of(gate);
        if (bounds.concurrency) EXPECT_LT(before.in_use(gate), *bounds.concurrency);
      }
      Claimed one{claimed->worker, {item}};
      before.apply(Event(one), now_);
    }
  }

  void check() {
    EXPECT_TRUE(model_.keeps_rates(now_));
    // F4.
    for (const Waiter& waiter : waiters_) {
      EXPECT_TRUE(model_.claimed(waiter.queues, waiter.types, 1, now_).empty())
          << "a claim waits for a job that could start";
    }
    if (steps_ % 3 == 0) check_reasons();
  }

  // F7.
  void check_reasons() {
    for (const auto& job : model_.jobs()) {
      if (job.state != State::kReady) continue;
      std::vector<Event> events;
      const auto why = std::get<WhyReply>(
          machine_->decide(GetWhy{job.id}, now_, tables_, Admission::kOpen, events));
      EXPECT_TRUE(events.empty());
      const auto next = model_.claimed({job.queue}, {job.type}, 1, now_);
      const bool gets_it = !next.empty() && next[0] == job.id;
      EXPECT_EQ(why.blocking.empty(), gets_it) << "the reasons are not the true ones";
      blocked_seen_ += gets_it ? 0 : 1;
      for (const Blocker& blocker : why.blocking) check_reason(job, blocker);
    }
  }
  void check_reason(const NaiveLimits::ModelJob& job, const Blocker& blocker) {
    const NaiveLimits::GateName gate{blocker.kind, std::string(blocker.limit.view()),
                                     std::string(blocker.key.view())};
    EXPECT_EQ(blocker.code == BlockCode::kOrder,
              !model_.is_its_turn(job) && blocker.code == BlockCode::kOrder);
    if (blocker.code == BlockCode::kOrder) {
      const auto& before = *model_.find(blocker.jobs.at(0));
      EXPECT_EQ(before.order_key, job.order_key);
      EXPECT_TRUE(before.state == State::kRunning || model_.is_its_turn(before));
    } else if (blocker.code == BlockCode::kLimitFull) {
      EXPECT_EQ(blocker.in_use, model_.in_use(gate));
      EXPECT_GE(blocker.in_use, blocker.bound);
      EXPECT_EQ(blocker.jobs.size(), std::min<std::uint64_t>(blocker.in_use, kHoldersTold));
      for (const JobId& holder : blocker.jobs) {
        EXPECT_EQ(model_.find(holder)->state, State::kRunning);
      }
    } else if (blocker.code == BlockCode::kBehind) {
      const auto before = model_.claimed({job.queue}, {job.type}, 1'000, now_);
      const auto place = std::ranges::find(before, job.id) - before.begin();
      EXPECT_EQ(blocker.ahead, static_cast<std::uint64_t>(place));
    } else if (blocker.code == BlockCode::kRate && blocker.until) {
      EXPECT_GT(*blocker.until, now_);
    }
  }

  // The state is the fold of the journal: from its beginning, or from the tables.
  void crash_or_flush() {
    const bool flushes = one_in(2);
    if (flushes) {
      const auto changes = machine_->take_changes();
      if (one_in(4)) {  // not stored before the crash
        revive();
        return;
      }
      tables_.store(*changes);
      flushed_ = journal_.size();
      machine_->changes_stored();
      machine_->check_invariants();
    }
    if (!flushes || one_in(2)) revive();
  }
  void revive() {
    auto revived = std::make_unique<Machine>(options_);
    tables_.load(*revived);
    for (std::size_t i = flushed_; i < journal_.size(); ++i) {
      for (const Event& event : journal_[i].events) revived->apply(event, journal_[i].at);
      revived->end_step();
    }
    revived->check_invariants();
    EXPECT_EQ(revived->digest(), machine_->digest()) << "the revived state is another one";
    auto from_beginning = std::make_unique<Machine>(options_);
    for (const EventBatch& batch : journal_) {
      for (const Event& event : batch.events) from_beginning->apply(event, batch.at);
      from_beginning->end_step();
    }
    EXPECT_EQ(from_beginning->digest(), machine_->digest()) << "the journal folds to another state";
    machine_ = std::move(revived);
    record(
        [&](std::vector<Event>& events) { machine_->start_epoch(Epoch{++epoch_}, now_, events); });
    // Everybody asks anew.
    for (const std::string& queue : kQueues) woken_.push_back(queue);
    tick();
    serve();
    check();
  }

  Random random_;
  MachineOptions options_;
  std::unique_ptr<Machine> machine_;
  NaiveLimits model_;
  StoredForTests tables_;
  std::vector<EventBatch> journal_;
  std::size_t flushed_ = 0;  // rows that the tables have
  Time now_ = time_from_ms(1'700'000'000'000);
  std::uint64_t epoch_ = 1;
  std::uint64_t next_id_ = 1;
  std::size_t steps_ = 0;
  std::vector<Lease> leases_;
  std::vector<Waiter> waiters_;
  std::vector<std::string> woken_;
  std::size_t claims_with_jobs_ = 0;
  std::size_t blocked_seen_ = 0;
};

TEST(LimitsRandom, TheMachineAgreesWithTheModel) {
  std::size_t claims = 0, blocked = 0;
  for (std::uint64_t seed = 1; seed <= 40 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Life life(seed);
    life.run(500);
    claims += life.claims_with_jobs();
    blocked += life.blocked_seen();
  }
  // The lives are not idle.
  EXPECT_GT(claims, 2'000U);
  EXPECT_GT(blocked, 2'000U);
}

TEST(LimitsRandom, AClaimThatStopsOnItsWayGoesOnAtTheNextTimer) {
  for (std::uint64_t seed = 1001; seed <= 1020 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Life life(seed, 1);
    life.run(400);
  }
}

}  // namespace
}  // namespace millrace::core
