// Reads from a failing store, and checks against one that reports wrong data.
#include "store/testing/failing_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/reads.h"
#include "engine/shard/prefetch.h"
#include "engine/shard/shard_fixture.h"
#include "store/event_codec.h"
#include "store/memory/memory_store.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"

namespace millrace::engine {
namespace {

using ::testing::HasSubstr;

struct FailingStore {
  FailingStore() {
    store::Store memory = store::make_memory_store();
    auto failing_journal = std::make_unique<store::FailingJournal>(std::move(memory.journal));
    auto failing_tables = std::make_unique<store::FailingTables>(std::move(memory.tables));
    journal = failing_journal.get();
    tables = failing_tables.get();
    store.journal = std::move(failing_journal);
    store.tables = std::move(failing_tables);
  }
  store::Store store;
  store::FailingJournal* journal;
  store::FailingTables* tables;
};

// --- Reads

class ReadsOfAFailingStore : public ::testing::Test, protected FailingStore {
 protected:
  ReadsOfAFailingStore() {
    core::Changes changes;
    changes.jobs = {store::make_job(1)};
    changes.marks = {{1, {core::MarkKind::kEdited, {}, 0, {}}}};
    MILLRACE_CHECK(store::Flusher().flush(*tables, changes).has_value());
  }
  static core::JobReply in_memory(const core::Job& job) {
    auto view = std::make_shared<core::JobView>();
    view->job = job;
    return {std::move(view), false};
  }
  const Reads reads_{*store.tables};
};

TEST_F(ReadsOfAFailingStore, SayThatTheyFailed) {
  const core::JobReply memory = in_memory(store::make_job(1));
  tables->history_fails = true;
  EXPECT_FALSE(reads_.job(store::id_of(1), {}, History::kWhole).has_value());
  EXPECT_FALSE(reads_.job(store::id_of(1), memory, History::kWhole).has_value());
  EXPECT_TRUE(reads_.job(store::id_of(1), memory, History::kNone).has_value());
  tables->reads_fail = true;
  EXPECT_FALSE(reads_.job(store::id_of(1), {}, History::kNone).has_value());
  EXPECT_TRUE(reads_.job(store::id_of(1), memory, History::kNone).has_value());
}

TEST_F(ReadsOfAFailingStore, FindNothingWhereNothingIs) {
  const auto view = reads_.job(store::id_of(9), {}, History::kWhole);
  ASSERT_TRUE(view.has_value());
  EXPECT_FALSE(view->has_value());
}

TEST_F(ReadsOfAFailingStore, FetchAPayloadThatMemoryHasLetGoOf) {
  core::Job job = store::make_job(1);
  job.payload = {};
  auto view = reads_.job(job.id, in_memory(job), History::kNone);
  ASSERT_TRUE(view.has_value() && view->has_value());
  EXPECT_EQ((*view)->job.payload, store::make_job(1).payload);
  EXPECT_TRUE((*view)->marks.empty());
  tables->reads_fail = true;
  EXPECT_FALSE(reads_.job(job.id, in_memory(job), History::kNone).has_value());
  tables->reads_fail = false;
  job.id = store::id_of(9);  // not in the tables yet
  view = reads_.job(job.id, in_memory(job), History::kNone);
  ASSERT_TRUE(view.has_value() && view->has_value());
  EXPECT_TRUE((*view)->job.payload.empty());
}

TEST_F(ReadsOfAFailingStore, CompleteTheJobsOfAClaim) {
  core::ClaimReply claimed;
  claimed.jobs = {{store::make_job(2)}, {store::make_job(1)}, {store::make_job(9)}};
  tables->reads_fail = true;
  EXPECT_TRUE(reads_.complete(claimed));  // memory has all of them
  claimed.jobs[1].job.payload = {};
  EXPECT_FALSE(reads_.complete(claimed));
  tables->reads_fail = false;
  claimed.jobs[2].job.payload = {};  // deleted meanwhile
  ASSERT_TRUE(reads_.complete(claimed));
  ASSERT_EQ(claimed.jobs.size(), 2U);
  EXPECT_EQ(claimed.jobs[0].job.id, store::id_of(2));
  EXPECT_EQ(claimed.jobs[1].job.payload, store::make_job(1).payload);
}

TEST(MergedMarks, AreTheSameOnlyInAllTheirMembers) {
  const core::Mark mark{core::MarkKind::kRetried, time_from_ms(5), 1, SharedBytes("why")};
  std::vector<core::Mark> others(4, mark);
  others[0].kind = core::MarkKind::kEdited;
  others[1].at = time_from_ms(6);
  others[2].attempt = 2;
  others[3].reason = SharedBytes("another");
  for (const core::Mark& other : others) {
    core::JobView view;
    view.marks = {mark};
    merge_history(view, {{}, {}, {other}});
    EXPECT_EQ(view.marks.size(), 2U);
  }
  core::JobView view;
  view.marks = {mark};
  merge_history(view, {{}, {}, {mark}});
  EXPECT_EQ(view.marks.size(), 1U);
}

// --- Prefetch

class PrefetchFromTables : public ::testing::Test, protected FailingStore {
 protected:
  // From then on they are prefetched for retries.
  void flush(std::uint64_t jobs, std::size_t payload) {
    core::Changes changes;
    for (std::uint64_t ord = 1; ord <= jobs; ++ord) {
      changes.jobs.push_back(store::make_job(ord));
      changes.jobs.back().payload = SharedBytes(std::string(payload, 'x'));
      changes.jobs.back().result = SharedBytes(std::string(payload, 'y'));
      ids_.push_back(changes.jobs.back().id);
    }
    MILLRACE_CHECK(store::Flusher().flush(*tables, changes).has_value());
    prefetch_.want(machine_, core::Retry{ids_, {}, true});
  }
  core::Machine machine_{core::MachineOptions{}};
  std::vector<JobId> ids_;
  Prefetch prefetch_;
};

TEST_F(PrefetchFromTables, StopsWithEnoughBytesAndSaysHowFarItCame) {
  flush(3 * kPrefetchChunk, kPrefetchBytes / kPrefetchChunk);
  EXPECT_EQ(prefetch_.load(*tables).value(), kPrefetchChunk);
  EXPECT_NE(prefetch_.find(ids_[kPrefetchChunk - 1]), nullptr);
  EXPECT_EQ(prefetch_.find(ids_[kPrefetchChunk]), nullptr);
  EXPECT_EQ(prefetch_.load(*tables, kPrefetchChunk + 1).value(), 2 * kPrefetchChunk);
}

TEST_F(PrefetchFromTables, LeavesOutWhatNoDecisionNeeds) {
  flush(1, 100);
  ASSERT_EQ(prefetch_.load(*tables).value(), 1U);
  EXPECT_EQ(prefetch_.find(ids_[0])->payload.size(), 100U);
  EXPECT_TRUE(prefetch_.find(ids_[0])->result.empty());
  Prefetch only_there;
  only_there.want(machine_, core::Delete{ids_, core::DeleteCause::kOperator});
  ASSERT_EQ(only_there.load(*tables).value(), 1U);
  EXPECT_TRUE(only_there.find(ids_[0])->payload.empty());
}

TEST_F(PrefetchFromTables, GoesChunkByChunkAndFails) {
  flush(kPrefetchChunk + 1, 1);
  EXPECT_EQ(prefetch_.load(*tables).value(), ids_.size());
  EXPECT_EQ(tables->fetches, 2);
  EXPECT_EQ(prefetch_.find(store::id_of(9'999)), nullptr);
  tables->reads_fail = true;
  EXPECT_FALSE(prefetch_.load(*tables).has_value());
}

// --- The event log

class FeedOfAFailingJournal : public ::testing::Test, protected FailingStore {
 protected:
  // Rows of one queue event each.
  void append(std::uint64_t rows, const std::string& reason = "r") {
    std::string body;
    const core::QueueChanged event{
        SharedBytes("mail"), core::QueueChange::kPaused, {}, SharedBytes(reason)};
    store::encode_events({time_from_ms(1), {event}}, body);
    for (std::uint64_t i = 0; i < rows; ++i) append_body(body);
  }
  void append_body(const std::string& body) {
    rows_.push_back(store::make_row(
        rows_.size() + 1, rows_.empty() ? store::Checksum{} : rows_.back().checksum, body));
    MILLRACE_CHECK(journal->append(rows_.back()).outcome == store::AppendOutcome::kDurable);
    feed_.observer(0).durable(rows_.back().seq, {});
  }
  FeedPage read(const std::string& after = {}, std::uint32_t limit = 100'000,
                std::size_t bytes = std::size_t{1} << 30) {
    FeedQuery query;
    query.after = after;
    query.limit = limit;
    query.bytes = bytes;
    return feed_.read(query);
  }
  std::vector<store::JournalRow> rows_;
  EventFeed feed_{*store.journal, Seq{0}};
};

TEST_F(FeedOfAFailingJournal, SaysWhatFailed) {
  append(3);
  journal->read_fails = true;
  EXPECT_EQ(read().fault, FeedFault::kStorage);
  EXPECT_THAT(read().message, HasSubstr("does not read"));
  journal->extent_fails = true;
  EXPECT_EQ(read().fault, FeedFault::kStorage);
  EXPECT_THAT(read().message, HasSubstr("does not tell"));
}

TEST_F(FeedOfAFailingJournal, ARowThatIsNoBatchIsNamed) {
  append(1);
  append_body("not a batch");
  const FeedPage page = read();
  EXPECT_EQ(page.fault, FeedFault::kStorage);
  EXPECT_THAT(page.message, HasSubstr("row 2: "));
}

TEST_F(FeedOfAFailingJournal, RowsThatGoWhileTheyAreLookedForAreGone) {
  append(3);
  journal->before_read = [&] { ASSERT_TRUE(journal->trim(Seq{3}).has_value()); };
  EXPECT_EQ(read("1-1").fault, FeedFault::kGone);
  journal->before_read = [&] { journal->extent_fails = journal->read_fails = true; };
  journal->extent_fails = false;
  EXPECT_EQ(read("3-0").fault, FeedFault::kStorage) << "nobody can say whether it is gone";
}

TEST_F(FeedOfAFailingJournal, APageEndsAfterABoundedNumberOfRows) {
  append(6'000);
  FeedPage page = read();
  EXPECT_EQ(page.events.size(), 5'000U);
  EXPECT_FALSE(page.at_end);
  page = read(page.next);
  EXPECT_EQ(page.events.size(), 1'000U);
  EXPECT_TRUE(page.at_end);
}

TEST_F(FeedOfAFailingJournal, APageEndsAfterABoundedNumberOfBytes) {
  append(10, std::string(8 * 1024 * 1024, 'x'));
  const FeedPage page = read();
  EXPECT_EQ(page.events.size(), 4U);
  EXPECT_EQ(page.next, "5-0");
  EXPECT_EQ(read("2x1").fault, FeedFault::kBadPosition);
}

TEST_F(FeedOfAFailingJournal, APageHoldsABoundedNumberOfBytesOrOneEvent) {
  append(10, std::string(1'000, 'x'));
  const FeedPage page = read({}, 100, 3 * 1'700);  // an event counts as its data and half a KiB
  EXPECT_EQ(page.events.size(), 3U);
  EXPECT_FALSE(page.at_end);
  EXPECT_EQ(read(page.next, 100).events.size(), 7U);
  EXPECT_EQ(read({}, 100, 1).events.size(), 1U);
}

TEST_F(FeedOfAFailingJournal, APageThatNobodyWaitsForEndsAtOnce) {
  append(3);
  std::stop_source gone;
  gone.request_stop();
  FeedQuery query;
  query.gone = gone.get_token();
  const FeedPage page = feed_.read(query);
  EXPECT_TRUE(page.events.empty());
  EXPECT_FALSE(page.at_end);
}

// --- Recovery

class RecoveryOfALiar : public ::testing::Test, protected FailingStore {
 protected:
  void append(Seq seq, const store::Checksum& predecessor, const std::string& body) {
    rows_.push_back(store::make_row(to_number(seq), predecessor, body));
    MILLRACE_CHECK(journal->append(rows_.back()).outcome == store::AppendOutcome::kDurable);
  }
  std::string refusal() {
    const auto recovered = recover_state(0, {}, store);
    return recovered ? "recovered" : recovered.error().message;
  }
  static std::string batch() {
    std::string body;
    store::encode_events({time_from_ms(1), {core::KeysExpired{}}}, body);
    return body;
  }
  std::vector<store::JournalRow> rows_;
};

TEST_F(RecoveryOfALiar, NeedsAStoreThatAnswers) {
  append(Seq{1}, {}, batch());
  EXPECT_EQ(refusal(), "recovered");
  journal->read_fails = true;
  EXPECT_THAT(refusal(), HasSubstr("does not read"));
  journal->extent_fails = true;
  EXPECT_THAT(refusal(), HasSubstr("does not tell"));
  tables->reads_fail = true;
  EXPECT_THAT(refusal(), HasSubstr("tables do not answer"));
}

TEST_F(RecoveryOfALiar, MissesARowThatIsNotShown) {
  append(Seq{1}, {}, batch());
  append(Seq{2}, rows_[0].checksum, batch());
  journal->skipped = Seq{1};
  EXPECT_THAT(refusal(), HasSubstr("row 2 does not continue row 0"));
  journal->skipped = Seq{2};
  EXPECT_THAT(refusal(), HasSubstr("can't read row 2 of the journal"));
  journal->skipped = {};
  journal->claimed = 1;
  EXPECT_THAT(refusal(), HasSubstr("can't read row 3 of the journal"));
}

TEST_F(RecoveryOfALiar, NamesTheRowThatIsNoBatch) {
  append(Seq{1}, {}, batch());
  append(Seq{2}, rows_[0].checksum, "not a batch");
  EXPECT_THAT(refusal(), HasSubstr("row 2: "));
}

TEST_F(RecoveryOfALiar, TakesNoRowAfterTablesThatWereMadeFromAnother) {
  append(Seq{1}, {}, batch());
  append(Seq{2}, rows_[0].checksum, batch());
  store::Progress to;
  to.seq = Seq{1};
  to.checksum = {1, 2};
  ASSERT_TRUE(tables->flush({}, Seq{0}, to));
  EXPECT_THAT(refusal(), HasSubstr("row 1: the tables come from another version"));
  ASSERT_TRUE(journal->trim(Seq{2}).has_value());  // the gap is now visible only at the next row
  EXPECT_THAT(refusal(), HasSubstr("row 2 does not continue row 1"));
}

}  // namespace
}  // namespace millrace::engine
