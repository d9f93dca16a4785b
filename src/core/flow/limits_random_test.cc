// The machine against the naive model of limits, in random lives. After every step no waiter could
// start, no bound is broken, each job's reasons are true, and the state is the fold of the journal,
// from its beginning or from the tables.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "core/flow/limits_testing.h"
#include "core/machine.h"
#include "core/stored_testing.h"

namespace millrace::core {
namespace {

const std::vector<std::string> kQueues = {"mail", "sync", "bulk"};
const std::vector<std::string> kTypes = {"a", "b"};
const std::vector<std::string> kUniqueKeys = {"u1", "u2"};
const std::vector<std::string> kLimits = {"api", "db", "acct", "gpu"};
const std::vector<std::string> kOrderKeys = {"o1", "o2"};
const std::vector<std::string> kFairKeys = {"f1", "f2", "f3"};
const std::vector<std::string> kKeys = {"k1", "k2", "k3"};

class Life {
 public:
  explicit Life(std::uint64_t seed, std::size_t max_held_back = kMaxHeldBackPerClaim)
      : random_(seed) {
    options_.max_held_back = max_held_back;
    machine_ = std::make_unique<Machine>(options_);
    record([&](std::vector<Event>& events) { machine_->start_epoch(Epoch{1}, now_, events); });
    for (const std::string& queue : kQueues) decide(SetQueue{SharedBytes(queue), true, {}, {}});
    for (std::size_t i = 0; i < 4; ++i) set_order();
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
  std::size_t longest_stretch() const { return longest_stretch_; }
  // How often a breaker, a worker's wish or a retry budget mattered.
  std::size_t breakers_seen() const { return breakers_seen_; }
  std::size_t slowed_seen() const { return slowed_seen_; }
  std::size_t budgets_passed() const { return budgets_passed_; }
  std::size_t debounced_seen() const { return debounced_seen_; }

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

  std::optional<BreakerRule> any_breaker() {
    if (!one_in(3)) return std::nullopt;
    BreakerRule rule;
    rule.failure_ppm = one_in(3) ? 1'000'000 : static_cast<std::uint32_t>(1 + below(800'000));
    rule.min_attempts = static_cast<std::uint32_t>(1 + below(3));
    rule.window = Duration{static_cast<std::int64_t>(1'000 + below(3'000))};
    rule.open = Duration{static_cast<std::int64_t>(100 + below(400))};
    rule.probes = static_cast<std::uint32_t>(1 + below(3));
    return rule;
  }
  std::optional<Rate> any_budget() {
    if (!one_in(2)) return std::nullopt;
    return any_rate();
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
    set.settings.breaker = any_breaker();
    set.settings.retry_rate = any_budget();
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
    patch.breaker = any_breaker();
    patch.limits.emplace();
    if (one_in(4)) patch.limits->limits.push_back({SharedBytes("db"), {}, 1, 0});
    if (one_in(4)) patch.limits->limits.push_back({SharedBytes("acct"), {}, 1, 0, true});
    SetQueue set;
    set.queue = SharedBytes(any_of(kQueues));
    set.patch = std::move(patch);
    decide(std::move(set));
    set_order();
  }
  // By shares, by age, or neither.
  void set_order() {
    if (one_in(2)) return;
    SetQueue set;
    set.queue = SharedBytes(any_of(kQueues));
    set.patch.fair.emplace();
    set.patch.ageing.emplace();
    if (!one_in(4)) {
      FairSettings& fair = set.patch.fair->emplace();
      fair.by = one_in(2) ? FairBy::kTime : FairBy::kStarts;
      fair.default_weight = static_cast<std::uint32_t>(1 + below(3));
      if (one_in(2)) fair.weights.push_back({SharedBytes("f2"), 5});
      if (one_in(4)) fair.weights.push_back({SharedBytes(), 2});
    } else if (one_in(2)) {
      set.patch.ageing->emplace(static_cast<std::int64_t>(1 + below(200)));
    }
    decide(std::move(set));
    for (FairBound& bound : bounds_) bound.forget();
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
    if (!one_in(4)) extras.fair_key = SharedBytes(any_of(kFairKeys));
    if (one_in(8)) {
      extras.unique.emplace();
      extras.unique->key = SharedBytes(any_of(kUniqueKeys));
      extras.unique->on_conflict = OnConflict::kDebounce;
      if (one_in(2))
        extras.unique->max_wait = Duration{static_cast<std::int64_t>(300 + below(300))};
      spec.delay = Duration{static_cast<std::int64_t>(below(300))};
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

  // The claim must get the model's jobs. False: it got nothing.
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
    if (options_.max_held_back == kMaxHeldBackPerClaim) follow_shares(waiter, expected);
    const auto reply = std::get<ClaimReply>(decide(claim));
    std::vector<JobId> got;
    for (const ClaimReply::Item& item : reply.jobs) {
      got.push_back(item.job.id);
      leases_.push_back({item.job.id, item.job.token});
    }
    // A claim may stop early at closed gates; its queue is offered again.
    if (options_.max_held_back == kMaxHeldBackPerClaim) {
      EXPECT_EQ(got, expected);
    } else {
      EXPECT_LE(got.size(), expected.size());
    }
    claims_with_jobs_ += got.empty() ? 0 : 1;
    return !got.empty();
  }

  // F5.
  void follow_shares(const Waiter& waiter, const std::vector<JobId>& starts) {
    NaiveLimits before = model_;
    for (const JobId& id : starts) {
      const NaiveLimits::ModelJob job = *before.find(id);
      const auto queue = std::ranges::find(kQueues, job.queue) - kQueues.begin();
      FairBound& bound =
          bounds_[static_cast<std::size_t>(queue * 3 + std::clamp<int>(job.priority, 0, 2))];
      const FairSettings* const settings = before.fair().settings(job.queue);
      if (settings == nullptr || settings->by == FairBy::kTime) {
        bound.forget();
      } else {
        bound.started(job.fair_key, before.open_keys(job.queue, job.priority, waiter.types, now_));
        EXPECT_FALSE(bound.broken()) << "a key has more than its share";
        longest_stretch_ = std::max(longest_stretch_, bound.longest());
      }
      Claimed one;
      one.items.emplace_back().job.id = id;
      before.apply(Event(one), now_);
    }
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
    item.slow_down = any_wishes(item.id);
    if (one_in(12)) {
      Heartbeat beat;
      beat.items.push_back({item.id, item.token, {}, {}, any_wishes(item.id)});
      decide(std::move(beat));
      return;
    }
    Ack command;
    if (item.outcome == AckOutcome::kSucceeded && item.enqueue.empty() && item.slow_down.empty() &&
        one_in(2)) {
      command.right = AckRight::kFence;
    }
    if (!one_in(10)) leases_.erase(at);
    command.items.push_back(std::move(item));
    decide(std::move(command));
  }

  std::vector<SlowDown> any_wishes(const JobId& id) {
    const auto* const job = model_.find(id);
    if (job == nullptr || job->limits.empty() || !one_in(8)) return {};
    const JobLimit& named = job->limits[below(job->limits.size())];
    const Duration length{static_cast<std::int64_t>(100 + below(400))};
    return {{named.name, one_in(2) ? named.key : SharedBytes(), length}};
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
  // Notes the queues that tick() woke; they are offered at the end of the step.
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
    EXPECT_TRUE(model_.breakers_are_right()) << "a breaker turned when it must not, or did not";
    journal_.push_back(std::move(batch));
  }

  // F1, F6 and F9: a start must find a free slot, be the job's turn, and not be stopped by a
  // breaker.
  void fold(const Event& event) {
    if (const auto* const debounced = std::get_if<Debounced>(&event)) check_debounced(*debounced);
    const auto* const claimed = std::get_if<Claimed>(&event);
    if (claimed == nullptr) return;
    NaiveLimits before = model_;
    for (const Claimed::Item& item : claimed->items) {
      EXPECT_TRUE(before.is_its_turn(*before.find(item.job.id)));
      for (const auto& gate : before.gates_of(*before.find(item.job.id))) {
        const Bounds bounds = before.bounds_of(gate);
        if (bounds.concurrency) EXPECT_LT(before.in_use(gate), *bounds.concurrency);
        EXPECT_TRUE(before.breaker_lets_through(gate, now_));
        EXPECT_FALSE(before.is_slowed(gate, now_));
        budgets_passed_ += gate.of_retries;
      }
      Claimed one{claimed->worker, {item}};
      before.apply(Event(one), now_);
    }
  }

  // A debounced job starts no earlier than its backoff, and no later than its max_wait_ms says.
  void check_debounced(const Debounced& event) {
    const auto& job = *model_.find(event.job.id);
    EXPECT_TRUE(is_waiting(job.state));
    if (job.state == State::kRetrying) {
      EXPECT_GE(event.run_at, job.run_at);
    } else if (job.max_wait && event.state == State::kScheduled) {
      EXPECT_LE(event.run_at, job.created_at + *job.max_wait);
    }
    ++debounced_seen_;
  }
  // Among the jobs that share a debounced key, only one waits.
  void check_debounced_keys() const {
    std::map<std::pair<std::string, std::string>, int> waiting;
    for (const auto& job : model_.jobs()) {
      if (job.unique_key.empty() || !is_waiting(job.state)) continue;
      EXPECT_EQ(++waiting[std::pair(job.queue, job.unique_key)], 1);
    }
  }

  void check() {
    EXPECT_TRUE(model_.keeps_rates(now_));
    check_debounced_keys();
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
    } else if (blocker.code == BlockCode::kRetryRate) {
      EXPECT_TRUE(NaiveLimits::is_again(job));
      EXPECT_TRUE(!blocker.until || *blocker.until > now_);
    } else if (blocker.code == BlockCode::kBreakerOpen) {
      EXPECT_FALSE(model_.breaker_lets_through(gate, now_));
      ++breakers_seen_;
    } else if (blocker.code == BlockCode::kSlowDown) {
      EXPECT_TRUE(model_.is_slowed(gate, now_));
      EXPECT_FALSE(model_.is_slowed(gate, *blocker.until));
      ++slowed_seen_;
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
    // All waiters ask again.
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
  std::size_t breakers_seen_ = 0, slowed_seen_ = 0, budgets_passed_ = 0, debounced_seen_ = 0;
  FairBound bounds_[9];  // by queue and priority
  std::size_t longest_stretch_ = 0;
};

TEST(LimitsRandom, TheMachineAgreesWithTheModel) {
  std::size_t claims = 0, blocked = 0, breakers = 0, slowed = 0, budgets = 0, debounced = 0;
  std::size_t stretch = 0;
  for (std::uint64_t seed = 1; seed <= 40 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Life life(seed);
    life.run(500);
    claims += life.claims_with_jobs();
    blocked += life.blocked_seen();
    stretch = std::max(stretch, life.longest_stretch());
    breakers += life.breakers_seen();
    slowed += life.slowed_seen();
    budgets += life.budgets_passed();
    debounced += life.debounced_seen();
  }
  // The lives are not idle.
  EXPECT_GT(claims, 2'000U);
  EXPECT_GT(blocked, 2'000U);
  EXPECT_GT(stretch, 4U);  // fair_test.cc has long ones
  EXPECT_GT(breakers, 500U);
  EXPECT_GT(slowed, 100U);
  EXPECT_GT(budgets, 100U);
  EXPECT_GT(debounced, 80U);
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
