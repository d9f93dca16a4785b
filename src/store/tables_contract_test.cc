// The contract of every store's tables: store/tables.h. Lists and searches:
// search_contract_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/arbitrary.h"
#include "core/bounds.h"
#include "core/same.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

using core::Arbitrary;
using core::same;
using core::State;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TablesContract : public StoreContract {
 protected:
  void flush(const core::Changes& changes) {
    const Status done = flusher_.flush(tables(), changes);
    ASSERT_TRUE(done) << done.error().message;
  }
  void flush(std::vector<core::Job> jobs) {
    const Status done = flusher_.flush(tables(), std::move(jobs));
    ASSERT_TRUE(done) << done.error().message;
  }
  void remove(std::vector<JobId> ids) {
    core::Changes changes;
    changes.deleted = std::move(ids);
    flush(changes);
  }
  std::optional<core::Job> fetch(const JobId& id) {
    const auto jobs = tables().fetch({id}).value();
    return jobs.empty() ? std::nullopt : std::optional(jobs.front());
  }
  LoadedState load() {
    LoadedState state;
    const Status done = tables().load(state);
    EXPECT_TRUE(done) << done.error().message;
    return state;
  }
  std::vector<std::uint64_t> loaded_ords() {
    std::vector<std::uint64_t> ords;
    for (const core::Job& job : load().jobs) ords.push_back(job.ord);
    return ords;
  }

  Flusher flusher_;
};
MILLRACE_EVERY_STORE(TablesContract);

TEST_P(TablesContract, AreAtTheBeginningAtFirst) {
  const LoadedState state = load();
  EXPECT_EQ(state.loaded_progress.seq, Seq{0});
  EXPECT_EQ(state.loaded_progress.checksum, Checksum{});
  EXPECT_EQ(state.loaded_progress.facts.next_token, 1u);
  EXPECT_EQ(state.loaded_progress.facts.next_ord, 1u);
  EXPECT_THAT(state.jobs, IsEmpty());
  EXPECT_EQ(tables().sync().value(), Seq{0});
}

TEST_P(TablesContract, ProgressMovesWithTheFlush) {
  flush(std::vector<core::Job>{});
  flush(std::vector<core::Job>{});
  EXPECT_EQ(tables().sync().value(), Seq{2});
  reopen();
  const Progress progress = tables().progress().value();
  const Progress& expected = flusher_.progress();
  EXPECT_EQ(progress.seq, Seq{2});
  EXPECT_EQ(progress.checksum, expected.checksum);
  EXPECT_EQ(progress.facts.at, expected.facts.at);
  EXPECT_EQ(progress.facts.epoch, expected.facts.epoch);
  EXPECT_EQ(progress.facts.next_token, expected.facts.next_token);
  EXPECT_EQ(progress.facts.next_ord, expected.facts.next_ord);
  EXPECT_EQ(tables().sync().value(), Seq{2});
}

TEST_P(TablesContract, AFlushFromElsewhereWritesNothing) {
  flush({make_job(1)});
  core::Changes changes;
  changes.jobs = {make_job(2)};
  Progress to = flusher_.progress();
  to.seq = Seq{9};
  EXPECT_FALSE(tables().flush(changes, Seq{0}, to));
  EXPECT_FALSE(tables().flush(changes, Seq{2}, to));
  EXPECT_EQ(tables().progress()->seq, Seq{1});
  EXPECT_FALSE(fetch(id_of(2)));
  flush({make_job(3)});
  EXPECT_TRUE(fetch(id_of(3)));
}

TEST_P(TablesContract, GivesBackEveryMemberOfAJob) {
  Arbitrary make(1);
  std::vector<core::Job> jobs;
  for (std::uint64_t ord = 1; ord <= 300; ++ord) {
    core::Job job = make.job();
    job.ord = ord;
    if (job.queue.empty()) job.queue = SharedBytes("q");
    jobs.push_back(job);
  }
  flush(jobs);
  reopen();
  for (const core::Job& job : jobs) {
    const auto found = fetch(job.id);
    ASSERT_TRUE(found);
    ASSERT_TRUE(*found == job) << "ord " << job.ord;
  }
}

TEST_P(TablesContract, AJobFlushedAgainIsReplaced) {
  core::Job job = make_job(1);
  flush({job});
  job.state = State::kDead;
  job.priority = -4;
  job.attempt = 5;
  job.version = 9;
  job.run_at = time_from_ms(5);
  job.finished_at = time_from_ms(6);
  job.payload = SharedBytes("\"edited\"");
  job.result = SharedBytes("12");
  job.latest = {
      5,      5, SharedBytes("w"), time_from_ms(5), time_from_ms(6), core::AttemptOutcome::kDead,
      nullptr};
  flush({job});
  EXPECT_TRUE(fetch(job.id) == job);
  job.result = SharedBytes();
  job.finished_at.reset();
  job.state = State::kReady;
  flush({job});
  EXPECT_TRUE(fetch(job.id) == job);
}

TEST_P(TablesContract, APayloadThatMemoryLetGoOfStays) {
  core::Job job = make_job(1);
  flush({job});
  const SharedBytes payload = std::exchange(job.payload, SharedBytes());
  job.state = State::kSucceeded;
  flush({job});
  EXPECT_EQ(fetch(job.id)->payload, payload);
  EXPECT_EQ(fetch(job.id)->state, State::kSucceeded);
}

TEST_P(TablesContract, FetchesThoseThatAreThere) {
  flush({make_job(1), make_job(2), make_job(3)});
  std::vector<std::uint64_t> ords;
  for (const auto& job : tables().fetch({id_of(3), id_of(9), id_of(1)}).value()) {
    ords.push_back(job.ord);
  }
  EXPECT_THAT(ords, ::testing::UnorderedElementsAre(1, 3));
  EXPECT_THAT(tables().fetch({}).value(), IsEmpty());
}

TEST_P(TablesContract, DeletedJobsGoWithTheirHistory) {
  core::Changes changes;
  changes.jobs = {make_job(1), make_job(2)};
  for (const std::uint64_t ord : {1, 2}) {
    changes.attempts.push_back({ord, {1, 1, {}, {}, {}, core::AttemptOutcome::kFailed, nullptr}});
    changes.logs.push_back({ord, {1, 1, 1, {}, 1, SharedBytes("line")}});
    changes.marks.push_back({ord, {core::MarkKind::kEdited, {}, 1, {}}});
  }
  flush(changes);
  remove({id_of(1), id_of(77)});
  EXPECT_FALSE(fetch(id_of(1)));
  EXPECT_TRUE(fetch(id_of(2)));
  EXPECT_EQ(tables().history(id_of(2), {})->logs.size(), 1u);
  const auto history = tables().history(id_of(1), {}).value();
  EXPECT_TRUE(history.attempts.empty() && history.logs.empty() && history.marks.empty());
}

TEST_P(TablesContract, AnIdMayComeAgainInTheFlushThatDeletesIt) {
  flush({make_job(1)});
  core::Changes changes;
  changes.deleted = {id_of(1)};
  core::Job again = make_job(8, "other");
  again.id = id_of(1);
  changes.jobs = {again};
  flush(changes);
  EXPECT_TRUE(fetch(id_of(1)) == again);
  EXPECT_THAT(loaded_ords(), ElementsAre(8));
}

TEST_P(TablesContract, KeepsTheHistoryInOrder) {
  Arbitrary make(5);
  std::vector<core::Attempt> attempts;
  std::vector<core::LogLine> lines;
  std::vector<core::Mark> marks;
  flush({make_job(1)});
  for (std::uint32_t n = 1; n <= 20; ++n) {
    core::Changes changes;
    attempts.push_back(make.any<core::Attempt>());
    attempts.back().n = n;
    lines.push_back(make.any<core::LogLine>());
    lines.back().seq = n;
    marks.push_back(make.any<core::Mark>());
    changes.attempts.push_back({1, attempts.back()});
    changes.logs.push_back({1, lines.back()});
    changes.marks.push_back({1, marks.back()});
    flush(changes);
  }
  reopen();
  const JobHistory history = tables().history(id_of(1), {}).value();
  EXPECT_EQ(history.attempts, attempts);
  EXPECT_TRUE(same(history.logs, lines));
  ASSERT_EQ(history.marks.size(), marks.size());
  for (std::size_t i = 0; i < marks.size(); ++i) {
    EXPECT_EQ(history.marks[i].kind, marks[i].kind);
    EXPECT_EQ(history.marks[i].at, marks[i].at);
    EXPECT_EQ(history.marks[i].attempt, marks[i].attempt);
    EXPECT_EQ(history.marks[i].reason, marks[i].reason);
  }
}

TEST_P(TablesContract, TrimsTheLogOfOneAttempt) {
  core::Changes changes;
  changes.jobs = {make_job(1), make_job(2)};
  for (std::uint32_t seq = 1; seq <= 6; ++seq) {
    const std::uint32_t n = seq <= 2 ? 1 : 2;
    changes.logs.push_back({1, {seq, n, n, {}, 1, SharedBytes("line")}});
    changes.logs.push_back({2, {seq, n, n, {}, 1, SharedBytes("line")}});
  }
  changes.log_trims = {{1, 5, 2}};
  flush(changes);
  std::vector<std::uint32_t> seqs;
  const JobHistory history = tables().history(id_of(1), {}).value();
  for (const auto& line : history.logs) seqs.push_back(line.seq);
  EXPECT_THAT(seqs, ElementsAre(1, 2, 5, 6));
  EXPECT_EQ(tables().history(id_of(2), {})->logs.size(), 6u);
}

TEST_P(TablesContract, ReadsALogInPages) {
  flush({make_job(1), make_job(2)});
  core::Changes changes;
  for (std::uint32_t seq = 1; seq <= 5; ++seq) {
    changes.logs.push_back({1, {seq, 1, 1, {}, 1, SharedBytes("line")}});
  }
  changes.marks.push_back({1, {core::MarkKind::kEdited, {}, 1, {}}});
  flush(changes);
  const auto page = [&](int job, std::uint32_t after, std::uint32_t most) {
    const JobHistory history = tables().history(id_of(job), {false, after, most}).value();
    EXPECT_TRUE(history.marks.empty());
    std::vector<std::uint32_t> seqs;
    for (const auto& line : history.logs) seqs.push_back(line.seq);
    return std::pair(seqs, history.more_logs);
  };
  using Seqs = std::vector<std::uint32_t>;
  EXPECT_EQ(page(1, 0, 2), std::pair(Seqs({1, 2}), true));
  EXPECT_EQ(page(1, 2, 2), std::pair(Seqs({3, 4}), true));
  EXPECT_EQ(page(1, 4, 2), std::pair(Seqs({5}), false));
  EXPECT_EQ(page(1, 3, 2), std::pair(Seqs({4, 5}), false));
  EXPECT_EQ(page(1, 5, 2), std::pair(Seqs(), false));
  EXPECT_EQ(page(1, 0, 0), std::pair(Seqs(), false));
  EXPECT_EQ(page(2, 0, 2), std::pair(Seqs(), false));
  EXPECT_EQ(tables().history(id_of(1), {true, 0, 0})->marks.size(), 1u);
}

TEST_P(TablesContract, APageOfALogIsBoundedInBytes) {
  flush({make_job(1)});
  constexpr std::size_t kLine = kMaxPageBytes / 4;
  core::Changes changes;
  for (std::uint32_t seq = 1; seq <= 6; ++seq) {
    changes.logs.push_back({1, {seq, 1, 1, {}, 1, SharedBytes(std::string(kLine, 'x'))}});
  }
  changes.logs.push_back({1, {7, 1, 1, {}, 1, SharedBytes(std::string(kMaxPageBytes, 'x'))}});
  changes.logs.push_back({1, {8, 1, 1, {}, 1, SharedBytes("line")}});
  flush(changes);
  const JobHistory first = tables().history(id_of(1), {}).value();
  EXPECT_EQ(first.logs.size(), 4u);
  EXPECT_TRUE(first.more_logs);
  const JobHistory large = tables().history(id_of(1), {false, 6, 10}).value();
  EXPECT_EQ(large.logs.size(), 1u);
  EXPECT_TRUE(large.more_logs);
}

// --- Restart

TEST_P(TablesContract, LoadsLiveJobsByOrdWithTheirPayload) {
  std::vector<core::Job> jobs;
  for (std::uint64_t ord = 1; ord <= 30; ++ord) {
    jobs.push_back(make_job(ord, ord % 2 == 0 ? "a" : "b", static_cast<State>(ord % 9)));
  }
  std::ranges::reverse(jobs);
  flush(jobs);
  reopen();
  const LoadedState state = load();
  std::vector<core::Job> expected;
  std::ranges::reverse(jobs);
  std::ranges::copy_if(jobs, std::back_inserter(expected),
                       [](const core::Job& job) { return !core::is_terminal(job.state); });
  EXPECT_EQ(state.jobs, expected);
}

TEST_P(TablesContract, LoadsLiveJobsFromAmongFinishedOnes) {
  std::vector<core::Job> jobs;
  std::vector<std::uint64_t> live;
  const auto add = [&](std::uint64_t ord, bool finished) {
    jobs.push_back(make_job(ord));
    if (finished) {
      jobs.back().state = State::kSucceeded;
      jobs.back().finished_at = time_from_ms(1);
    } else {
      live.push_back(ord);
    }
  };
  // Every other one; hardly any; all; one far away.
  for (std::uint64_t ord = 1; ord <= 100; ++ord) add(ord, ord % 2 == 0);
  for (std::uint64_t ord = 101; ord <= 300; ++ord) add(ord, ord % 50 != 0);
  for (std::uint64_t ord = 301; ord <= 400; ++ord) add(ord, false);
  add(1'000'000, false);
  flush(jobs);
  EXPECT_EQ(loaded_ords(), live);
}

TEST_P(TablesContract, LoadsQueuesByName) {
  Arbitrary make(3);
  core::Changes changes;
  for (const char* name : {"zeta", "alpha"}) {
    core::Queue queue = make_queue(name);
    queue.settings = make.any<core::QueueSettings>();
    queue.paused = true;
    queue.pause_reason = SharedBytes("why");
    queue.version = 7;
    queue.counts = {1, 2, 3, 4, 5, 6, 7, 8, ~std::uint64_t{0}};
    queue.created = 11;
    queue.pruned = 12;
    changes.queues.push_back(queue);
  }
  flush(changes);
  changes.queues[0].paused = false;
  changes.queues[0].pause_reason = SharedBytes();
  changes.queues[0].oldest_ready_at = time_from_ms(9);
  core::Changes resumed;
  resumed.queues = {changes.queues[0]};
  flush(resumed);
  reopen();
  const LoadedState state = load();
  ASSERT_EQ(state.queues.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const core::Queue& found = state.queues[i];
    const core::Queue& expected = changes.queues[1 - i];
    EXPECT_EQ(found.name, expected.name);
    EXPECT_EQ(found.settings, expected.settings);
    EXPECT_EQ(found.paused, expected.paused);
    EXPECT_EQ(found.pause_reason, expected.pause_reason);
    EXPECT_EQ(found.version, expected.version);
    EXPECT_EQ(found.counts, expected.counts);
    EXPECT_EQ(found.created, expected.created);
    EXPECT_EQ(found.pruned, expected.pruned);
    EXPECT_FALSE(found.oldest_ready_at);
  }
}

core::KeyRow key_row(std::uint8_t number, std::int64_t expires_at) {
  core::KeyRow row;
  row.key.key.bytes.fill(number);
  row.key.body.bytes.fill(static_cast<std::uint8_t>(number + 1));
  row.key.expires_at = time_from_ms(expires_at);
  row.job = id_of(number);
  return row;
}

TEST_P(TablesContract, ADeletedQueueIsGoneAndItsNameMayComeAgain) {
  const auto queue = [](const std::string& name) {
    core::Queue made;
    made.name = SharedBytes(name);
    return made;
  };
  const auto names = [&] {
    std::string joined;
    for (const core::Queue& loaded : load().queues) joined += std::string(loaded.name.view()) + " ";
    return joined;
  };
  core::Job job = make_job(1);
  job.queue = SharedBytes("first");
  core::Changes made;
  made.queues = {queue("first"), queue("second")};
  made.jobs = {job};
  flush(made);
  core::Changes deleted;
  deleted.deleted = {job.id};
  deleted.deleted_queues = {SharedBytes("first"), SharedBytes("never")};
  flush(deleted);
  EXPECT_EQ(names(), "second ");
  reopen();
  EXPECT_EQ(names(), "second ");
  // One queue is deleted and another created: only the new one's jobs belong to it.
  core::Job again = make_job(2);
  again.queue = SharedBytes("third");
  made.queues = {queue("third")};
  made.jobs = {again};
  flush(made);
  EXPECT_EQ(fetch(again.id)->queue.view(), "third");
  core::Changes both;
  both.deleted_queues = {SharedBytes("second")};
  both.queues = {queue("first")};
  flush(both);
  EXPECT_EQ(names(), "first third ");
  EXPECT_TRUE(
      tables().finished_until(SharedBytes("second"), State::kDead, time_from_ms(1), 5)->empty());
}

TEST_P(TablesContract, KeepsKeysUntilTheyExpire) {
  core::Changes changes;
  changes.keys = {key_row(3, 300), key_row(1, 100), key_row(2, 200)};
  flush(changes);
  reopen();
  EXPECT_EQ(load().keys.size(), 3u);
  core::Changes expiry;
  expiry.keys = {key_row(4, 400)};
  expiry.keys_expired_until = time_from_ms(200);
  flush(expiry);
  flush(std::vector<core::Job>{});
  reopen();
  const LoadedState state = load();
  ASSERT_EQ(state.keys.size(), 2u);
  EXPECT_EQ(state.keys[0].key.key, key_row(3, 300).key.key);
  EXPECT_EQ(state.keys[0].key.body, key_row(3, 300).key.body);
  EXPECT_EQ(state.keys[0].key.expires_at, time_from_ms(300));
  EXPECT_EQ(state.keys[0].job, id_of(3));
  EXPECT_EQ(state.keys[1].job, id_of(4));
}

TEST_P(TablesContract, ManyExpiredKeysAreUnseenAtOnce) {
  core::Changes changes;
  for (std::uint32_t i = 0; i < 50'000; ++i) {
    core::KeyRow row = key_row(1, 100 + i % 3);
    std::memcpy(row.key.key.bytes.data(), &i, sizeof i);
    changes.keys.push_back(row);
  }
  flush(changes);
  EXPECT_EQ(load().keys.size(), 50'000u);
  core::Changes expiry;
  expiry.keys_expired_until = time_from_ms(101);
  flush(expiry);
  EXPECT_EQ(load().keys.size(), 16'666u);
  for (int i = 0; i < 3; ++i) flush(std::vector<core::Job>{});
  EXPECT_EQ(load().keys.size(), 16'666u);
}

core::HeldUnique unique_of(std::string_view queue, std::string_view key, std::uint64_t job,
                           std::optional<std::int64_t> until) {
  core::HeldUnique unique{SharedBytes(queue), SharedBytes(key), id_of(job), std::nullopt};
  if (until) unique.until = time_from_ms(*until);
  return unique;
}

TEST_P(TablesContract, KeepsHeldUniquesUntilTheyAreReleased) {
  core::Changes changes;
  changes.held_uniques = {unique_of("a", "k", 1, 100), unique_of("b", "k", 2, 200),
                          unique_of("c", "k", 3, 300), unique_of("a", "k", 4, 400)};
  flush(changes);
  core::Changes release;
  release.held_uniques = {unique_of("c", "k", 3, std::nullopt)};
  release.uniques_released_until = time_from_ms(200);
  flush(release);
  reopen();
  const LoadedState state = load();
  ASSERT_EQ(state.uniques.size(), 1u);
  EXPECT_EQ(state.uniques[0].queue.view(), "a");
  EXPECT_EQ(state.uniques[0].key.view(), "k");
  EXPECT_EQ(state.uniques[0].job, id_of(4));
  EXPECT_EQ(state.uniques[0].until, time_from_ms(400));
}

TEST_P(TablesContract, KeepsHowTheLastLeasesEnded) {
  constexpr std::uint64_t kFlush = 300'000;
  std::uint64_t token = 0;
  for (int i = 0; i < 4; ++i) {
    core::Changes changes;
    for (std::uint64_t n = 0; n < kFlush; ++n) {
      changes.ended_leases.push_back(
          {LeaseToken{++token}, id_of(token), core::AttemptOutcome::kFailed, State::kRetrying});
    }
    flush(changes);
  }
  reopen();
  const LoadedState state = load();
  ASSERT_EQ(state.leases.size(), core::kEndedLeasesRemembered);
  EXPECT_EQ(to_number(state.leases.front().token), token - core::kEndedLeasesRemembered + 1);
  EXPECT_EQ(to_number(state.leases.back().token), token);
  EXPECT_EQ(state.leases.back().job, id_of(token));
  EXPECT_EQ(state.leases.back().outcome, core::AttemptOutcome::kFailed);
  EXPECT_EQ(state.leases.back().state, State::kRetrying);
}

// --- Retention, blobs

TEST_P(TablesContract, FindsWhatFinishedLongAgo) {
  std::vector<core::Job> jobs;
  for (std::uint64_t ord = 1; ord <= 10; ++ord) {
    jobs.push_back(make_job(ord, ord <= 8 ? "mail" : "other", State::kSucceeded));
    jobs.back().finished_at = time_from_ms(100 - static_cast<std::int64_t>(ord));
  }
  jobs.push_back(make_job(11, "mail", State::kDead));
  jobs.push_back(make_job(12, "mail", State::kReady));
  flush(jobs);
  const SharedBytes mail("mail");
  EXPECT_THAT(tables().finished_until(mail, State::kSucceeded, time_from_ms(95), 3).value(),
              ElementsAre(id_of(8), id_of(7), id_of(6)));
  EXPECT_THAT(tables().finished_until(mail, State::kSucceeded, time_from_ms(93), 9).value(),
              ElementsAre(id_of(8), id_of(7)));
  EXPECT_EQ(tables().oldest_finished(mail, State::kSucceeded).value(), time_from_ms(92));
  EXPECT_EQ(tables().oldest_finished(mail, State::kDead).value(),
            make_job(11).created_at + Duration{500});
  EXPECT_EQ(tables().oldest_finished(mail, State::kExpired).value(), std::nullopt);
  EXPECT_EQ(tables().oldest_finished(SharedBytes("none"), State::kDead).value(), std::nullopt);
  EXPECT_THAT(tables().finished_until(SharedBytes("none"), State::kDead, Time{}, 9).value(),
              IsEmpty());
}

TEST_P(TablesContract, AJobWithoutHistoryHasNone) {
  flush({make_job(1)});
  const JobHistory history = tables().history(id_of(1), {}).value();
  EXPECT_TRUE(history.attempts.empty() && history.logs.empty() && history.marks.empty());
}

TEST_P(TablesContract, APageOfNoneSaysWhereItGoesOn) {
  flush({make_job(1), make_job(2)});
  JobQuery query;
  query.limit = 0;
  const JobPage page = tables().list(query).value();
  EXPECT_TRUE(page.jobs.empty());
  ASSERT_TRUE(page.next_after_ord.has_value());
  query.limit = 5;
  query.after_ord = page.next_after_ord;
  EXPECT_EQ(tables().list(query)->jobs.size(), 2u);
}

TEST_P(TablesContract, KeepsBlobs) {
  EXPECT_EQ(tables().get_blob("statistics").value(), std::nullopt);
  ASSERT_TRUE(tables().put_blob("statistics", std::string("\0one", 4)));
  ASSERT_TRUE(tables().put_blob("empty", ""));
  ASSERT_TRUE(tables().put_blob("statistics", std::string("\0two", 4)));
  reopen();
  EXPECT_EQ(tables().get_blob("statistics").value(), std::string("\0two", 4));
  EXPECT_EQ(tables().get_blob("empty").value(), "");
}

TEST_P(TablesContract, WritesBlobsTogetherAndOnlyWhereTheGuardStands) {
  const auto names = [this](const std::string& first, const std::string& end) {
    std::string list;
    for (const NamedBlob& blob : tables().get_blobs(first, end).value()) {
      list += blob.name + "=" + *blob.content + " ";
    }
    return list;
  };
  EXPECT_TRUE(tables().put_blobs({{"m/a", "1"}, {"m/b", "2"}}, {"m/at", {}}).value());
  EXPECT_FALSE(tables().put_blobs({{"m/a", "x"}}, {"m/at", "5"}).value());
  EXPECT_TRUE(tables().put_blobs({{"m/at", "5"}, {"n", "n"}}, {}).value());
  EXPECT_FALSE(tables().put_blobs({{"m/a", "x"}}, {"m/at", {}}).value());
  EXPECT_FALSE(tables().put_blobs({{"m/a", "x"}}, {"m/at", "4"}).value());
  EXPECT_TRUE(
      tables().put_blobs({{"m/at", "6"}, {"m/b", {}}, {"m/no", {}}}, {"m/at", "5"}).value());
  reopen();
  EXPECT_EQ(names("m/", "m0"), "m/a=1 m/at=6 ");
  EXPECT_EQ(names("m/at", "n"), "m/at=6 ");
}

}  // namespace
}  // namespace millrace::store
