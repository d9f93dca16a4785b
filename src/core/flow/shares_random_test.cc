// Several shards that share limits over a network that loses, repeats, delays and reorders their
// messages, with crashes at any time and clocks that differ. After every event no bound is broken
// (shares_testing.h), and once the network is reliable all jobs end.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "core/flow/shares_testing.h"
#include "core/machine.h"
#include "core/stored_testing.h"

namespace millrace::core {
namespace {

const std::vector<std::string> kQueues = {"a", "b"};
const std::vector<std::string> kLimits = {"api", "db", "acct", "gpu"};
const std::vector<std::string> kTypes = {"x", "y"};
const std::vector<std::string> kKeys = {"k1", "k2", "k3"};

class Store {
 public:
  Store(std::uint64_t seed, std::uint32_t shards) : random_(seed), watch_(shards) {
    for (std::uint32_t number = 0; number < shards; ++number) {
      Shard& shard = *shards_.emplace_back(std::make_unique<Shard>());
      shard.options.shard = number;
      shard.options.shards = shards;
      shard.options.max_held_back = 4;
      shard.skew = Duration{static_cast<std::int64_t>(below(600))};
      shard.machine = std::make_unique<Machine>(shard.options);
      record(shard, [&](std::vector<Event>& events) {
        shard.machine->start_epoch(Epoch{1}, now(shard), events);
      });
    }
    for (int i = 0; i < 4; ++i) set_limit();
  }

  void run(std::size_t steps) {
    for (std::size_t i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      step();
    }
    EXPECT_EQ(watch_.check_rates(), "");
  }

  // The network becomes reliable: all jobs end, whatever their limits.
  void heal() {
    sound_ = true;
    for (const auto& [name, limit] : standing_) {
      auto& at_home = home_of(limit.name);
      for (const std::string& key : {std::string(), kKeys[0], kKeys[1], kKeys[2]}) {
        decide(at_home, ResumeLimit{limit.kind, limit.name, SharedBytes(key)});
      }
      GetLimits get;
      get.kind = limit.kind;
      get.name = limit.name;
      const auto reply = std::get<LimitReply>(decide(at_home, get));
      if (!reply.limits.empty()) copy(reply.limits.front().limit, false);
    }
    for (int round = 0; round < 20'000 && !::testing::Test::HasFailure(); ++round) {
      std::size_t left = 0;
      for (auto& shard : shards_) {
        tick(*shard);
        for (const Lease& lease : std::exchange(shard->leases, {})) end(*shard, lease);
        claim(*shard, 20);
        left += unfinished(*shard);
      }
      talk();
      if (left == 0) break;
      time_ += Duration{20};
    }
    std::size_t left = 0;
    for (auto& shard : shards_) left += unfinished(*shard);
    EXPECT_EQ(left, 0U) << "some jobs never start" << reasons() << watch_.books();
    EXPECT_EQ(watch_.check_rates(), "");
  }

  const ShareWatch& watch() const { return watch_; }

 private:
  struct Lease {
    JobId id;
    LeaseToken token{};
  };
  struct Shard {
    MachineOptions options;
    std::unique_ptr<Machine> machine;
    StoredForTests tables;
    std::vector<EventBatch> journal;
    std::size_t flushed = 0;
    std::uint64_t epoch = 1;
    Duration skew{};
    std::vector<Lease> leases;
  };
  struct Letter {
    std::uint32_t shard = 0;
    Command command;
    Time arrives{};
  };

  std::uint64_t below(std::uint64_t bound) { return random_.next() % bound; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  const std::string& any_of(const std::vector<std::string>& names) {
    return names[below(names.size())];
  }
  Shard& any_shard() { return *shards_[below(shards_.size())]; }
  Time now(const Shard& shard) const {
    return std::max(time_ + shard.skew, shard.machine->facts().at);
  }
  Shard& home_of(const SharedBytes& name) {
    return *shards_[queue_bits(name.view()) % shards_.size()];
  }

  void step() {
    switch (below(20)) {
      case 0:
      case 1:
      case 2:
      case 3:
        submit(any_shard());
        break;
      case 4:
      case 5:
      case 6:
      case 7:
        claim(any_shard(), 1 + static_cast<std::uint32_t>(below(4)));
        break;
      case 8:
      case 9:
      case 10: {
        Shard& shard = any_shard();
        if (shard.leases.empty()) break;
        const std::size_t which = below(shard.leases.size());
        const Lease lease = shard.leases[which];
        shard.leases.erase(shard.leases.begin() + static_cast<std::ptrdiff_t>(which));
        end(shard, lease);
        break;
      }
      case 11:
        if (one_in(3)) set_limit();
        break;
      case 12:
        if (one_in(3)) pause_or_resume();
        break;
      case 13:
        if (one_in(8)) delete_limit();
        break;
      case 14:
        crash_or_flush(any_shard());
        break;
      default:
        time_ += Duration{static_cast<std::int64_t>(one_in(30) ? below(5'000) : below(60))};
        for (auto& shard : shards_) tick(*shard);
    }
    talk();
  }

  static std::size_t unfinished(const Shard& shard) {
    std::size_t count = 0;
    const StateCounts counts = shard.machine->counts();
    for (std::size_t state = 0; state < counts.size(); ++state) {
      if (!is_terminal(static_cast<State>(state))) count += counts[state];
    }
    return count;
  }
  // The reasons why the remaining jobs wait.
  std::string reasons() {
    std::map<std::string, int> counts;
    for (auto& shard : shards_) {
      for (std::uint64_t number = 1; number < next_id_; ++number) {
        const auto why = std::get<WhyReply>(decide(*shard, GetWhy{id_of(number)}));
        for (const Blocker& blocker : why.blocking) {
          ++counts[fmt::format("\nshard {}: reason {} of {} {}: {} of {}, until {}",
                               shard->options.shard, static_cast<int>(blocker.code),
                               blocker.limit.view(), blocker.key.view(), blocker.in_use,
                               blocker.bound, blocker.until ? to_ms(*blocker.until) : 0)];
        }
      }
    }
    std::string text;
    for (const auto& [reason, count] : counts) text += fmt::format("{} ({} jobs)", reason, count);
    return text;
  }

  // --- Users.
  static JobId id_of(std::uint64_t number) {
    JobId id;
    id.bytes[6] = 0x70;
    id.bytes[8] = 0x80;
    for (std::size_t i = 0; i < 4; ++i) {
      id.bytes[i] = static_cast<std::uint8_t>(number >> (24 - 8 * i));
    }
    return id;
  }
  void submit(Shard& shard) {
    JobSpec spec;
    spec.id = id_of(next_id_++);
    spec.queue = SharedBytes(any_of(kQueues));
    spec.type = SharedBytes(any_of(kTypes));
    spec.payload = SharedBytes("1");
    JobExtras extras;
    for (const std::string& name : kLimits) {
      if (!one_in(3)) continue;
      const auto standing = standing_.find({LimitKind::kNamed, name});
      if (standing == standing_.end()) continue;
      JobLimit& limit = extras.limits.emplace_back();
      limit.name = SharedBytes(name);
      if (standing->second.settings.per_key) limit.key = SharedBytes(any_of(kKeys));
      if (one_in(4)) limit.cost = 2;
    }
    if (!extras.limits.empty()) spec.extras = std::make_shared<const JobExtras>(std::move(extras));
    Enqueue enqueue;
    enqueue.jobs.push_back(std::move(spec));
    decide(shard, std::move(enqueue));
  }
  void claim(Shard& shard, std::uint32_t count) {
    Claim claim;
    for (const std::string& queue : kQueues) claim.queues.emplace_back(queue);
    if (one_in(4) && !sound_) claim.types.emplace_back(any_of(kTypes));
    claim.limit = count;
    claim.lease = Duration{one_in(3) ? 1'000 : 20'000};
    claim.worker = SharedBytes("w");
    const auto reply = std::get<ClaimReply>(decide(shard, std::move(claim)));
    for (const auto& item : reply.jobs) shard.leases.push_back({item.job.id, item.job.token});
  }
  void end(Shard& shard, const Lease& lease) {
    Ack ack;
    AckItem& item = ack.items.emplace_back();
    item.id = lease.id;
    item.token = lease.token;
    item.outcome = AckOutcome::kSucceeded;
    if (!sound_ && one_in(4)) item.outcome = AckOutcome::kReleased;
    decide(shard, std::move(ack));
  }

  Rate some_rate() {
    Rate rate{1 + static_cast<std::uint32_t>(below(8)), Duration{one_in(2) ? 1'000 : 100}, {}};
    if (one_in(2)) rate.burst = 2 + static_cast<std::uint32_t>(below(6));
    if (rate.most_at_once() < 2) rate.burst = 2;  // as the highest cost
    return rate;
  }
  void set_limit() {
    SetLimit set;
    const bool of_type = one_in(4);
    set.kind = of_type ? LimitKind::kType : LimitKind::kNamed;
    set.name = SharedBytes(of_type ? any_of(kTypes) : any_of(kLimits));
    set.incarnation = random_.next();
    if (!one_in(4)) set.settings.bounds.concurrency = 1 + static_cast<std::uint32_t>(below(6));
    if (one_in(2)) set.settings.bounds.rate = some_rate();
    const auto standing = standing_.find({set.kind, std::string(set.name.view())});
    set.settings.per_key =
        standing != standing_.end() ? standing->second.settings.per_key : !of_type && one_in(2);
    if (set.settings.per_key && one_in(2)) {
      set.settings.keys.push_back({SharedBytes("k1"), {1 + std::uint32_t(below(3)), {}}});
    }
    const auto reply = std::get<LimitReply>(decide(home_of(set.name), set));
    if (!reply.limits.empty()) copy(reply.limits.front().limit, false);
  }
  void pause_or_resume() {
    if (standing_.empty()) return;
    auto limit = std::next(standing_.begin(), static_cast<std::ptrdiff_t>(below(standing_.size())));
    const Limit& is = limit->second;
    const SharedBytes key(is.settings.per_key && one_in(2) ? any_of(kKeys) : "");
    Reply reply;
    if (one_in(3)) {
      reply = decide(home_of(is.name), PauseLimit{is.kind, is.name, key, {}, Duration{2'000}});
    } else {
      reply = decide(home_of(is.name), ResumeLimit{is.kind, is.name, key});
    }
    const auto& changed = std::get<LimitReply>(reply);
    if (!changed.limits.empty()) copy(changed.limits.front().limit, false);
  }
  void delete_limit() {
    if (standing_.empty()) return;
    auto limit = std::next(standing_.begin(), static_cast<std::ptrdiff_t>(below(standing_.size())));
    const Limit is = limit->second;
    standing_.erase(limit);
    decide(home_of(is.name), DeleteLimit{is.kind, is.name, true, {}});
    copy(is, true);
  }
  // A message of the service to all shards; some may not be reachable.
  void copy(const Limit& limit, bool gone) {
    if (!gone) standing_[{limit.kind, std::string(limit.name.view())}] = limit;
    for (std::uint32_t number = 0; number < shards_.size(); ++number) {
      if (!sound_ && one_in(6)) continue;
      if (!sound_ && one_in(6)) {
        post(number, CopyLimit{number, limit, gone});
        continue;
      }
      decide(*shards_[number], CopyLimit{number, limit, gone});
    }
  }

  // --- The network.
  void post(std::uint32_t shard, Command command) {
    const auto late = [&] {
      return time_ + Duration{static_cast<std::int64_t>(one_in(8) ? below(3'000) : below(10))};
    };
    letters_.push_back({shard, command, sound_ ? time_ : late()});
    if (!sound_ && one_in(4)) letters_.push_back({shard, std::move(command), late()});
  }
  void talk() {
    for (auto& shard : shards_) {
      const auto at = shard->machine->next_share_message();
      if (!at || *at > now(*shard)) continue;
      if (!sound_ && one_in(3)) continue;
      for (ShareMessage& message : shard->machine->take_share_messages(now(*shard))) {
        if (!sound_ && one_in(5)) continue;
        post(message.shard, std::move(message.command));
      }
    }
    std::vector<Letter> there;
    for (auto letter = letters_.begin(); letter != letters_.end();) {
      if (letter->arrives <= time_) {
        there.push_back(std::move(*letter));
        letter = letters_.erase(letter);
      } else {
        ++letter;
      }
    }
    for (std::size_t i = there.size(); i > 1 && !sound_; --i) {
      std::swap(there[i - 1], there[below(i)]);
    }
    for (Letter& letter : there) decide(*shards_[letter.shard], std::move(letter.command));
  }

  // --- Shards.
  void tick(Shard& shard) {
    while (shard.machine->next_timer() && *shard.machine->next_timer() <= now(shard)) {
      record(shard, [&](std::vector<Event>& events) { shard.machine->tick(now(shard), events); });
    }
  }
  Reply decide(Shard& shard, Command command) {
    tick(shard);
    Reply reply;
    record(shard, [&](std::vector<Event>& events) {
      reply = shard.machine->decide(command, now(shard), shard.tables, Admission::kOpen, events);
    });
    return reply;
  }
  template <typename Step>
  void record(Shard& shard, Step step) {
    EventBatch batch;
    batch.at = now(shard);
    step(batch.events);
    shard.machine->end_step();
    if (++recorded_ % 7 == 0) shard.machine->check_invariants();
    shard.machine->take_woken_queues();
    shard.machine->take_endings();
    if (batch.events.empty()) return;
    watch_.follow(shard.options.shard, batch);
    if (!watch_.broken().empty()) ADD_FAILURE() << watch_.broken();
    shard.journal.push_back(std::move(batch));
  }
  void crash_or_flush(Shard& shard) {
    const bool flushes = one_in(2);
    if (flushes) {
      const auto changes = shard.machine->take_changes();
      if (one_in(4)) return revive(shard);  // not stored before the crash
      shard.tables.store(*changes);
      shard.flushed = shard.journal.size();
      shard.machine->changes_stored();
    }
    if (!flushes || one_in(2)) revive(shard);
  }
  void revive(Shard& shard) {
    auto revived = std::make_unique<Machine>(shard.options);
    shard.tables.load(*revived);
    for (std::size_t i = shard.flushed; i < shard.journal.size(); ++i) {
      for (const Event& event : shard.journal[i].events) revived->apply(event, shard.journal[i].at);
      revived->end_step();
    }
    revived->check_invariants();
    EXPECT_EQ(revived->digest(), shard.machine->digest()) << "the revived state is another one";
    shard.machine = std::move(revived);
    // The new leader's clock may be behind.
    if (one_in(2)) shard.skew = Duration{static_cast<std::int64_t>(below(600))};
    record(shard, [&](std::vector<Event>& events) {
      shard.machine->start_epoch(Epoch{++shard.epoch}, now(shard), events);
    });
  }

  Random random_;
  ShareWatch watch_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::map<std::pair<LimitKind, std::string>, Limit> standing_;  // as users know them
  std::vector<Letter> letters_;
  Time time_ = time_from_ms(1'700'000'000'000);
  std::uint64_t next_id_ = 1;
  std::uint64_t recorded_ = 0;
  bool sound_ = false;
};

TEST(SharesRandom, NoBoundIsBrokenAndAllJobsEnd) {
  std::uint64_t starts = 0, shared = 0, moves = 0;
  for (std::uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Store store(seed, 2 + static_cast<std::uint32_t>(seed % 3));
    store.run(700);
    if (!HasFailure()) store.heal();
    starts += store.watch().starts();
    shared += store.watch().starts_shared();
    moves += store.watch().moves();
  }
  // The lives are not idle.
  EXPECT_GT(starts, 3'000U);
  EXPECT_GT(shared, 500U);
  EXPECT_GT(moves, 2'000U);
}

}  // namespace
}  // namespace millrace::core
