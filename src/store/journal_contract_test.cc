// The contract of every journal: store/journal.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JournalContract : public StoreContract {
 protected:
  AppendOutcome append(const JournalRow& row) { return journal().append(row).outcome; }
  std::uint64_t newest() { return to_number(journal().extent()->newest); }
  std::uint64_t oldest() { return to_number(journal().extent()->oldest); }
  // Trims until nothing is left to do.
  void trim_all(std::uint64_t below) {
    while (journal().trim(Seq{below}).value() > 0) {
    }
  }
};
MILLRACE_EVERY_STORE(JournalContract);

TEST_P(JournalContract, IsEmptyAtFirst) {
  EXPECT_EQ(newest(), 0u);
  EXPECT_EQ(oldest(), 0u);
  EXPECT_THAT(bodies(journal(), 1), IsEmpty());
  EXPECT_EQ(journal().trim(Seq{10}).value(), 0u);
}

TEST_P(JournalContract, KeepsRowsInOrder) {
  fill(journal(), 3);
  reopen();
  EXPECT_THAT(bodies(journal(), 1), ElementsAre("row 1", "row 2", "row 3"));
  EXPECT_THAT(bodies(journal(), 3), ElementsAre("row 3"));
  EXPECT_THAT(bodies(journal(), 4), IsEmpty());
  EXPECT_EQ(oldest(), 1u);
  EXPECT_EQ(newest(), 3u);
  EXPECT_EQ(journal().extent()->bytes, 15u);
}

TEST_P(JournalContract, GivesBackTheWholeRow) {
  const std::string body("\0with\xff bytes\0", 12);
  const JournalRow first = make_row(1, {}, body, 7);
  ASSERT_EQ(append(first), AppendOutcome::kDurable);
  ASSERT_EQ(append(make_row(2, first.checksum, "", ~std::uint64_t{0})), AppendOutcome::kDurable);
  reopen();
  std::vector<JournalRow> rows;
  ASSERT_TRUE(journal().read(Seq{1}, [&](const JournalRow& row) {
    rows.push_back(row);
    return true;
  }));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].epoch, Epoch{7});
  EXPECT_EQ(rows[0].predecessor, Checksum{});
  EXPECT_EQ(rows[0].checksum, first.checksum);
  EXPECT_EQ(rows[0].body, body);
  EXPECT_EQ(rows[1].epoch, Epoch{~std::uint64_t{0}});
  EXPECT_EQ(rows[1].predecessor, first.checksum);
  EXPECT_EQ(rows[1].body, "");
}

TEST_P(JournalContract, ReadingStopsWhenTheVisitorSaysSo) {
  fill(journal(), 5);
  std::vector<std::string> read;
  ASSERT_TRUE(journal().read(Seq{2}, [&](const JournalRow& row) {
    read.push_back(row.body);
    return read.size() < 2;
  }));
  EXPECT_THAT(read, ElementsAre("row 2", "row 3"));
}

TEST_P(JournalContract, ReadsOnBehindWhatIsAppendedMeanwhile) {
  auto rows = fill(journal(), 1);
  std::vector<std::string> read;
  ASSERT_TRUE(journal().read(Seq{1}, [&](const JournalRow& row) {
    read.push_back(row.body);
    if (read.size() == 1) append(make_row(2, rows.back().checksum, "row 2"));
    return true;
  }));
  EXPECT_THAT(read, ElementsAre("row 1", "row 2"));
}

TEST_P(JournalContract, TheSameRowAgainIsDurable) {
  const auto rows = fill(journal(), 3);
  EXPECT_EQ(append(rows[2]), AppendOutcome::kDurable);
  EXPECT_EQ(append(rows[0]), AppendOutcome::kDurable);
  EXPECT_EQ(newest(), 3u);
  EXPECT_EQ(journal().extent()->bytes, 15u);
}

TEST_P(JournalContract, AnotherRowAtATakenPlaceIsFenced) {
  const auto rows = fill(journal(), 3);
  EXPECT_EQ(append(make_row(3, rows[1].checksum, "another")), AppendOutcome::kFenced);
  EXPECT_EQ(append(make_row(3, rows[1].checksum, "row 3", 2)), AppendOutcome::kFenced);
  EXPECT_EQ(append(make_row(1, {}, "another")), AppendOutcome::kFenced);
  EXPECT_THAT(bodies(journal(), 1), ElementsAre("row 1", "row 2", "row 3"));
}

TEST_P(JournalContract, AnotherPredecessorIsFenced) {
  const auto rows = fill(journal(), 3);
  EXPECT_EQ(append(make_row(4, rows[1].checksum, "row 4")), AppendOutcome::kFenced);
  EXPECT_EQ(append(make_row(5, rows[2].checksum, "row 5")), AppendOutcome::kFenced);
  EXPECT_EQ(append(make_row(4, rows[2].checksum, "row 4")), AppendOutcome::kDurable);
}

TEST_P(JournalContract, AFirstRowBelongsInAnEmptyJournalOnly) {
  EXPECT_EQ(append(make_row(2, {}, "row 2")), AppendOutcome::kFenced);
  fill(journal(), 3);
  trim_all(3);
  EXPECT_EQ(append(make_row(1, {}, "row 1")), AppendOutcome::kFenced);
}

TEST_P(JournalContract, ALeaderWhosePredecessorWasTrimmedIsFenced) {
  const auto rows = fill(journal(), 5);
  trim_all(5);
  EXPECT_EQ(append(make_row(4, rows[2].checksum, "late")), AppendOutcome::kFenced);
}

TEST_P(JournalContract, TrimsWhatIsOlder) {
  fill(journal(), 5);
  trim_all(4);
  EXPECT_EQ(oldest(), 4u);
  EXPECT_EQ(journal().extent()->bytes, 10u);
  reopen();
  EXPECT_THAT(bodies(journal(), 4), ElementsAre("row 4", "row 5"));
  EXPECT_EQ(journal().extent()->bytes, 10u);
}

TEST_P(JournalContract, NeverTrimsTheNewestRow) {
  const auto rows = fill(journal(), 3);
  trim_all(100);
  EXPECT_EQ(oldest(), 3u);
  EXPECT_EQ(newest(), 3u);
  reopen();
  EXPECT_EQ(append(make_row(4, rows[2].checksum, "row 4")), AppendOutcome::kDurable);
}

TEST_P(JournalContract, TrimsABoundedNumberACall) {
  fill(journal(), 700);
  const auto trimmed = journal().trim(Seq{700}).value();
  EXPECT_GT(trimmed, 0u);
  EXPECT_LT(trimmed, 699u);
  EXPECT_EQ(oldest(), trimmed + 1);
  EXPECT_THAT(bodies(journal(), 700), ElementsAre("row 700"));
}

TEST_P(JournalContract, ReadingWhatIsGoneOrNeverWasIsAnError) {
  fill(journal(), 5);
  trim_all(4);
  EXPECT_THAT(bodies(journal(), 3),
              ElementsAre(HasSubstr("row 3 was trimmed; the oldest row is 4")));
  EXPECT_THAT(bodies(journal(), 7),
              ElementsAre(HasSubstr("row 7 does not exist; the newest row is 5")));
}

TEST_P(JournalContract, TakesLargeBodies) {
  const std::string large(5'000'000, 'x');
  Checksum predecessor;
  for (std::uint64_t seq = 1; seq <= 4; ++seq) {
    const JournalRow row = make_row(seq, predecessor, large);
    ASSERT_EQ(append(row), AppendOutcome::kDurable);
    predecessor = row.checksum;
  }
  trim_all(3);
  reopen();
  EXPECT_EQ(bodies(journal(), 3), (std::vector<std::string>{large, large}));
}

TEST(RowChecksum, CoversEveryPartOfTheRow) {
  const Checksum checksum = row_checksum(0, Seq{5}, Epoch{6}, {7, 8}, "body");
  EXPECT_NE(row_checksum(1, Seq{5}, Epoch{6}, {7, 8}, "body"), checksum);
  EXPECT_NE(row_checksum(0, Seq{6}, Epoch{6}, {7, 8}, "body"), checksum);
  EXPECT_NE(row_checksum(0, Seq{5}, Epoch{5}, {7, 8}, "body"), checksum);
  EXPECT_NE(row_checksum(0, Seq{5}, Epoch{6}, {8, 8}, "body"), checksum);
  EXPECT_NE(row_checksum(0, Seq{5}, Epoch{6}, {7, 7}, "body"), checksum);
  EXPECT_NE(row_checksum(0, Seq{5}, Epoch{6}, {7, 8}, "bodz"), checksum);
  EXPECT_EQ(row_checksum(0, Seq{5}, Epoch{6}, {7, 8}, "body"), checksum);
}

}  // namespace
}  // namespace millrace::store
