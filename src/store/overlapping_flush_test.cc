// The contract of shared stores for overlapping flushes (store/tables.h, FlushBase). A follower
// that takes over repeats some or all of the former leader's changes, and afterwards the tables are
// as if one leader had written them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "core/bounds.h"
#include "core/machine.h"
#include "core/scenario.h"
#include "digest/fingerprint.h"
#include "store/row_codec.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

using core::Scenario;
using ::testing::ElementsAre;

template <typename Value>
std::string encoded(const Value& value) {
  std::string bytes;
  encode_value(value, Time{}, bytes);
  return bytes;
}

// A store of its own, in this process.
class Place {
 public:
  explicit Place(StoreKind kind) {
    if (kind == StoreKind::kPostgres) url_ = new_postgres_store();
    store_ = url_.empty() ? make_memory_store() : open_postgres(url_);
  }
  ~Place() {
    store_ = Store();
    if (!url_.empty()) PostgresCluster::shared().drop_database(url_);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  Tables& tables() { return *store_.tables; }

  // All readable content, as text.
  std::vector<std::string> content() {
    LoadedState state;
    EXPECT_TRUE(tables().load(state));
    const Progress& at = state.loaded_progress;
    std::vector<std::string> rows = {
        fmt::format("at {} {} {} {} {} {}", to_number(at.seq), at.checksum.high, to_ms(at.facts.at),
                    to_number(at.facts.epoch), at.facts.next_token, at.facts.next_ord)};
    for (const core::Queue& queue : state.queues) {
      rows.push_back(fmt::format("queue {} {}", queue.name.view(), encoded(queue)));
    }
    for (const core::KeyRow& row : state.keys) {
      rows.push_back(fmt::format("key {} {}", to_ms(row.key.expires_at), to_string(row.job)));
    }
    for (const core::HeldUnique& unique : state.uniques) {
      rows.push_back(fmt::format("unique {} {} {} {}", unique.queue.view(), unique.key.view(),
                                 to_string(unique.job), to_ms(*unique.until)));
    }
    rows.push_back("leases " + encoded(EndedLeases{state.leases}));
    for (const core::Schedule& schedule : state.schedules) {
      rows.push_back("schedule " + encoded(schedule));
      for (const auto& row : tables().schedule_runs(schedule.name).value()) {
        rows.push_back(fmt::format("run {} {}", row.n, encoded(row.run)));
      }
    }
    JobQuery query;
    query.limit = 100'000;
    query.columns = {.payload = true, .result = true};
    const JobPage page = tables().list(query).value();
    for (const core::Job& job : page.jobs) add(job, rows);
    if (!url_.empty()) add_tables(rows);
    return rows;
  }

 private:
  void add(const core::Job& job, std::vector<std::string>& rows) {
    const std::string id = to_string(job.id);
    rows.push_back(fmt::format("job {} {} {} {} {} {}", id, job.ord, name_of(job.state),
                               job.payload.view(), job.result.view(),
                               encoded(RowDetail<const core::Job>{job})));
    const JobHistory history = tables().history(job.id, {}).value();
    for (const auto& row : history.attempts) rows.push_back("attempt " + id + encoded(row));
    for (const auto& row : history.logs) rows.push_back("log " + id + encoded(row));
    for (const auto& row : history.marks) rows.push_back("mark " + id + encoded(row));
  }
  // Adds rows that no read shows. It ignores which flush wrote them.
  void add_tables(std::vector<std::string>& rows) const {
    PostgresSession session(url_);
    for (const char* table : {"job_rows", "attempt_rows", "log_rows", "queue_rows", "key_rows",
                              "unique_rows", "schedule_rows", "schedule_run_rows"}) {
      rows.push_back(session.ask(fmt::format(
          "SELECT string_agg(r::text, ' ' ORDER BY r::text) FROM millrace.{} AS r", table)));
    }
    rows.push_back(session.ask(
        "SELECT string_agg(concat_ws(' ', ord, n, mark), ' ' ORDER BY ord, n) FROM (SELECT ord, "
        "mark, row_number() OVER (PARTITION BY ord ORDER BY flush, place) AS n FROM "
        "millrace.mark_rows) AS m"));
    rows.push_back(session.ask("SELECT sum(count) FROM millrace.ended_lease_rows"));
  }

  std::string url_;
  Store store_;
};

// A shard's life, decided by a leader. The leader writes to `exact`, and also to `shared` until a
// follower takes over there.
class Life {
 public:
  Life(std::uint64_t seed, Tables& exact, Tables& shared)
      : random_(seed), exact_(exact), shared_(shared) {
    follower_.follow();
    begin_term();
  }

  void moment() {
    switch (below(12)) {
      case 0:
        return flush();
      case 1:
        return follower_takes();
      case 2:
        return follower_hears();
      default:
        return act();
    }
  }
  void flush() {
    if (projected_ == head_) return;
    const auto changes = leader_.take_changes();
    const Progress to = progress(changes->facts);
    ASSERT_TRUE(exact_.flush(*changes, projected_, to));
    if (!taken_over_) ASSERT_TRUE(shared_.flush(*changes, projected_, to));
    leader_.changes_stored();
    projected_ = head_;
  }
  // The follower writes the missing changes to `shared`.
  void take_over() {
    if (!taken_over_) {
      taken_over_ = true;
      follower_hears();
    }
    follower_.lead();
    begin_term();
    while (base_ != head_) {
      follower_takes();
      const Seq stands = shared_.progress()->seq;
      overlapped_ += base_ < stands ? 1 : 0;
      const Status done = shared_.flush(*pending_->changes, {base_, stands}, pending_->to);
      ASSERT_TRUE(done) << done.error().message;
      follower_hears();
    }
    EXPECT_EQ(follower_.digest(), leader_.digest());
  }
  int overlapped() const { return overlapped_; }

 private:
  struct Pending {
    std::unique_ptr<const core::Changes> changes;
    Progress to;
  };
  struct Found final : core::Prefetched {
    const core::Job* find(const JobId& id) const override {
      const auto found = jobs.find(id);
      return found == jobs.end() ? nullptr : &found->second;
    }
    std::map<JobId, core::Job> jobs;
  };

  std::uint64_t below(std::uint64_t limit) { return random_.next() % limit; }
  SharedBytes any_queue() { return SharedBytes("q" + std::to_string(below(3))); }
  SharedBytes any_schedule() { return SharedBytes("s" + std::to_string(below(3))); }
  std::string any_job() { return "j" + std::to_string(below(10)); }
  Duration some_time() { return Duration{static_cast<std::int64_t>(1 + below(4'000))}; }

  Progress progress(const core::ShardFacts& facts) const {
    return {head_, {to_number(head_), 77}, facts};
  }
  template <typename Step>
  void row(Step step) {
    std::vector<core::Event> events;
    step(events);
    leader_.end_step();
    for (const core::Event& event : events) follower_.apply(event, now_);
    follower_.end_step();
    head_ = next(head_);
  }
  void begin_term() {
    epoch_ = Epoch{to_number(epoch_) + 1};
    row([&](std::vector<core::Event>& events) { leader_.start_epoch(epoch_, now_, events); });
  }
  core::Reply decide(const core::Command& command) {
    pass(Duration{1});
    std::vector<JobId> wanted;
    leader_.needed(command, wanted);
    Found found;
    if (!wanted.empty()) {
      const std::vector<core::Job> stored = exact_.fetch(wanted).value();
      for (const core::Job& job : stored) found.jobs[job.id] = job;
    }
    core::Reply reply;
    row([&](std::vector<core::Event>& events) {
      reply = leader_.decide(command, now_, found, core::Admission::kOpen, events);
    });
    return reply;
  }

  void follower_takes() {
    if (pending_ || base_ == head_) return;
    pending_.emplace();
    pending_->changes = follower_.take_changes();
    pending_->to = progress(pending_->changes->facts);
  }
  // The follower learns the tables' progress.
  void follower_hears() {
    if (!pending_ || shared_.progress()->seq < pending_->to.seq) return;
    follower_.changes_stored();
    base_ = pending_->to.seq;
    pending_.reset();
  }

  void act() {
    switch (below(20)) {
      case 16:
      case 17:
        return change_schedule();
      case 18:
      case 19:
        return fire();
      case 0:
      case 1:
      case 2:
      case 3:
        return enqueue();
      case 4:
      case 5:
      case 6:
        return claim();
      case 7:
      case 8:
      case 9:
        return ack();
      case 10:
        return log();
      case 11:
        decide(core::Cancel{{Scenario::id(any_job())}, SharedBytes("why not")});
        return;
      case 12:
        decide(core::Retry{{Scenario::id(any_job())}, {}, below(2) == 0});
        return;
      case 13:
        decide(core::Delete{{Scenario::id(any_job())}, core::DeleteCause::kOperator});
        return;
      case 14:
        return edit();
      default:
        return wait();
    }
  }
  void enqueue() {
    core::JobSpec spec = Scenario::spec(any_job());
    spec.queue = any_queue();
    spec.id_origin = core::IdOrigin::kClient;
    spec.payload = SharedBytes("{\"row\": " + std::to_string(to_number(head_)) + "}");
    spec.max_attempts = 1 + static_cast<std::uint32_t>(below(3));
    if (below(4) == 0) spec.delay = some_time();
    if (below(6) == 0) spec.expires_in = some_time();
    if (below(3) == 0) {
      core::JobExtras extras;
      extras.unique = core::UniqueRule{SharedBytes("u" + std::to_string(below(3))), some_time(),
                                       core::OnConflict::kReplace};
      spec.extras = std::make_shared<const core::JobExtras>(extras);
    }
    core::Enqueue command;
    command.jobs = {spec};
    if (below(2) == 0) {
      command.key = core::IdempotencyKey{fingerprint("k" + std::to_string(below(50))), {}, {}};
      command.key_window = some_time();
    }
    decide(command);
  }
  void claim() {
    core::Claim command;
    command.queues = {any_queue(), any_queue()};
    command.limit = 1 + static_cast<std::uint32_t>(below(3));
    command.worker = SharedBytes("w" + std::to_string(below(2)));
    if (below(4) == 0) command.lease = Duration{1'000};
    const core::Reply reply = decide(command);
    for (const auto& item : std::get<core::ClaimReply>(reply).jobs) {
      tokens_[item.job.id] = item.job.token;
    }
  }
  void ack() {
    if (tokens_.empty()) return;
    auto chosen = tokens_.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(below(tokens_.size())));
    core::AckItem item;
    item.id = chosen->first;
    item.token = chosen->second;
    tokens_.erase(chosen);
    item.outcome = below(3) == 0 ? core::AckOutcome::kSucceeded : core::AckOutcome::kFailed;
    if (item.outcome == core::AckOutcome::kSucceeded) {
      item.result = SharedBytes("\"done\"");
    } else {
      item.error = std::make_shared<core::JobError>();
      item.error->type = SharedBytes("Boom");
      item.delay = some_time();
    }
    if (below(2) == 0) item.logs.push_back({std::nullopt, 1, SharedBytes("so it went")});
    core::Ack command;
    command.items = {item};
    decide(command);
  }
  // Long lines: the oldest ones of an attempt go.
  void log() {
    if (tokens_.empty()) return;
    core::AppendLogs command;
    for (std::size_t line = 0; line < 24; ++line) {
      const auto& [id, token] = *tokens_.begin();
      command.items.push_back(
          {id, token, {std::nullopt, 1, SharedBytes(std::string(core::kMaxLogLineBytes, 'x'))}});
    }
    decide(command);
  }
  void edit() {
    core::Edit command;
    command.ids = {Scenario::id(any_job())};
    command.priority = static_cast<std::int16_t>(below(5));
    if (below(2) == 0) command.payload = SharedBytes("\"edited\"");
    decide(command);
  }
  void change_schedule() {
    const SharedBytes name = any_schedule();
    switch (below(4)) {
      case 0:
        decide(core::DeleteSchedule{name, {}});
        return;
      case 1:
        decide(core::PauseSchedule{name, SharedBytes("why not")});
        return;
      default:
        core::SetSchedule set;
        set.name = name;
        set.spec.cron = SharedBytes("* * * * *");
        set.spec.timezone = SharedBytes("UTC");
        set.spec.queue = any_queue();
        set.spec.overlap = static_cast<core::OverlapPolicy>(below(4));
        set.paused = false;
        set.incarnation = random_.next();
        set.wall = now_;
        decide(set);
        return;
    }
  }
  // Several instants at once, so that more than the last hundred runs are written together.
  void fire() {
    pass(Duration{1});
    const SharedBytes name = any_schedule();
    const core::Schedule* const schedule = leader_.schedule(name.view());
    if (schedule == nullptr) return;
    core::Firing firing;
    firing.name = name;
    firing.version = schedule->version;
    firing.wall = now_;
    const std::uint64_t instants = below(3) == 0 ? 60 : 1 + below(3);
    for (std::uint64_t i = 0; i < instants; ++i) {
      core::Firing::Instant& instant = firing.instants.emplace_back();
      instant.at = now_ - Duration{static_cast<std::int64_t>(instants - 1 - i)};
      instant.job = Scenario::id("s" + std::to_string(below(1'000'000)));
      instant.spec = Scenario::spec("s");
      instant.spec.id = instant.job;
      instant.spec.queue = schedule->spec.queue;
    }
    row([&](std::vector<core::Event>& events) {
      leader_.fire(firing, now_, core::Admission::kOpen, events);
    });
  }
  // Leases end, jobs become due, keys and uniques expire; a queue drops succeeded jobs.
  void wait() {
    if (below(4) == 0) {
      core::QueuePatch patch;
      patch.succeeded = Duration{below(2) == 0 ? 0 : 3'600'000};
      decide(core::SetQueue{any_queue(), true, patch, {}});
    }
    // One that comes and goes.
    if (below(3) == 0) decide(core::PauseQueue{SharedBytes("spare"), {}, true});
    if (below(3) == 0) decide(core::DeleteQueue{SharedBytes("spare")});
    pass(below(4) == 0 ? 30 * some_time() : some_time());
  }
  void pass(Duration time) {
    now_ += time;
    while (leader_.next_timer() && *leader_.next_timer() <= now_) {
      row([&](std::vector<core::Event>& events) { leader_.tick(now_, events); });
    }
  }

  Random random_;
  Tables& exact_;
  Tables& shared_;
  // Neither keeps a payload that the tables hold.
  static core::MachineOptions options() {
    core::MachineOptions options;
    options.keep_bytes = 0;
    return options;
  }
  core::Machine leader_{options()};
  core::Machine follower_{options()};
  Time now_ = time_from_ms(1'700'000'000'000);
  Epoch epoch_{};
  Seq head_{};
  Seq projected_{};
  std::map<JobId, LeaseToken> tokens_;

  bool taken_over_ = false;
  Seq base_{};  // the follower's changes begin after it
  std::optional<Pending> pending_;
  int overlapped_ = 0;
};

class OverlappingFlush : public ::testing::TestWithParam<StoreKind> {};
INSTANTIATE_TEST_SUITE_P(SharedStores, OverlappingFlush,
                         ::testing::Values(StoreKind::kMemory, StoreKind::kPostgres), kind_name);

TEST_P(OverlappingFlush, LeavesTheTablesAsExactFlushesDo) {
  const std::uint64_t lives = GetParam() == StoreKind::kMemory ? 200 : 6;
  int overlapped = 0;
  for (std::uint64_t seed = 1; seed <= lives; ++seed) {
    Place exact(GetParam());
    Place shared(GetParam());
    Life life(seed, exact.tables(), shared.tables());
    const int moments = 100 + static_cast<int>(seed * 7 % 300);
    for (int i = 0; i < moments; ++i) life.moment();
    life.take_over();
    life.flush();
    ASSERT_EQ(shared.content(), exact.content()) << "seed " << seed;
    // The new leader goes on.
    for (int i = 0; i < 30; ++i) life.moment();
    life.take_over();
    life.flush();
    ASSERT_EQ(shared.content(), exact.content()) << "seed " << seed << ", later";
    overlapped += life.overlapped();
  }
  EXPECT_GT(overlapped, static_cast<int>(lives / 2));
}

core::EndedLease ended(std::uint64_t token) {
  return {LeaseToken{token}, id_of(1), core::AttemptOutcome::kFailed, core::State::kRetrying};
}
core::Changes marked_and_ended(std::initializer_list<std::uint64_t> rows) {
  core::Changes changes;
  for (const std::uint64_t row : rows) {
    const Time at = time_from_ms(static_cast<std::int64_t>(row));
    changes.marks.push_back({1, {core::MarkKind::kEdited, at, 1, {}}});
    changes.ended_leases.push_back(ended(row));
  }
  return changes;
}

// The follower's changes begin in the middle of a flush of its predecessor: that flush's earlier
// rows stay, and repeated rows exist once.
TEST_P(OverlappingFlush, MayBeginInTheMiddleOfAFormerOne) {
  Place place(GetParam());
  const auto to = [](std::uint64_t row) { return Progress{Seq{row}, {row, 77}, {}}; };
  core::Changes first = marked_and_ended({8});
  first.jobs = {make_job(1)};
  ASSERT_TRUE(place.tables().flush(first, Seq{0}, to(10)));
  ASSERT_TRUE(place.tables().flush(marked_and_ended({12, 18}), Seq{10}, to(20)));
  ASSERT_TRUE(place.tables().flush(marked_and_ended({22}), Seq{20}, to(24)));
  ASSERT_TRUE(place.tables().flush(marked_and_ended({18, 22, 30}), {Seq{15}, Seq{24}}, to(30)));
  std::vector<std::int64_t> marks;
  const JobHistory history = place.tables().history(id_of(1), {}).value();
  for (const core::Mark& mark : history.marks) marks.push_back(to_ms(mark.at));
  EXPECT_THAT(marks, ElementsAre(8, 12, 18, 22, 30));
  LoadedState state;
  ASSERT_TRUE(place.tables().load(state));
  std::vector<std::uint64_t> tokens;
  for (const core::EndedLease& lease : state.leases) tokens.push_back(to_number(lease.token));
  EXPECT_THAT(tokens, ElementsAre(8, 12, 18, 22, 30));
}

// Several marks may have the same instant.
TEST_P(OverlappingFlush, TakesNoOtherMarkOfTheSameInstantForItsOwn) {
  Place place(GetParam());
  const auto to = [](std::uint64_t row) { return Progress{Seq{row}, {row, 77}, {}}; };
  const auto marked = [](std::initializer_list<core::Mark> marks) {
    core::Changes changes;
    for (const core::Mark& mark : marks) changes.marks.push_back({1, mark});
    return changes;
  };
  const Time at = time_from_ms(15);
  const core::Mark one{core::MarkKind::kEdited, at, 1, SharedBytes("one")};
  const core::Mark another{core::MarkKind::kEdited, at, 1, SharedBytes("another")};
  const core::Mark later{core::MarkKind::kEdited, at, 2, SharedBytes("one")};
  core::Changes first = marked({});
  first.jobs = {make_job(1)};
  ASSERT_TRUE(place.tables().flush(first, Seq{0}, to(10)));
  ASSERT_TRUE(place.tables().flush(marked({one, another, later}), Seq{10}, to(20)));
  ASSERT_TRUE(place.tables().flush(marked({one}), {Seq{15}, Seq{20}}, to(30)));
  EXPECT_EQ(place.tables().history(id_of(1), {}).value().marks.size(), 3U);
}

TEST_P(OverlappingFlush, WritesNothingWhereTheTablesStandElsewhere) {
  Place place(GetParam());
  const auto to = [](std::uint64_t row) { return Progress{Seq{row}, {row, 77}, {}}; };
  ASSERT_TRUE(place.tables().flush({}, Seq{0}, to(10)));
  core::Changes changes;
  changes.jobs = {make_job(1)};
  EXPECT_FALSE(place.tables().flush(changes, {Seq{5}, Seq{9}}, to(20)));
  EXPECT_TRUE(place.tables().fetch({id_of(1)})->empty());
  EXPECT_TRUE(place.tables().flush(changes, {Seq{5}, Seq{10}}, to(20)));
}

}  // namespace
}  // namespace millrace::store
