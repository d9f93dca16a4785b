// Archives: rows are read back as written; foreign ones are refused.
#include "store/sqlite/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "store/event_codec.h"
#include "store/sqlite/restore.h"
#include "store/sqlite/sqlite_store.h"
#include "store/testing/temporary_directory.h"

namespace millrace::store {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Archive : public ::testing::Test {
 protected:
  Archive() {
    auto opened = open_sqlite_store({.directory = directory_.file("data"), .clock = [] {
                                       return std::chrono::steady_clock::time_point{};
                                     }});
    EXPECT_TRUE(opened.has_value());
    store_ = std::move(*opened);
  }

  // An event batch of this time, in the row after the newest.
  void append(std::int64_t ms) {
    core::EventBatch batch;
    batch.at = time_from_ms(ms);
    batch.events.emplace_back(core::KeysExpired{time_from_ms(ms)});
    JournalRow row;
    row.seq = next(newest_);
    row.epoch = Epoch{1};
    row.predecessor = checksum_;
    encode_events(batch, row.body);
    row.checksum = row_checksum(0, row.seq, row.epoch, row.predecessor, row.body);
    EXPECT_EQ(store_.journal->append(row).outcome, AppendOutcome::kDurable);
    newest_ = row.seq;
    checksum_ = row.checksum;
  }
  std::string path() { return directory_.file("archive"); }
  std::unique_ptr<ArchiveWriter> writer() {
    auto made = ArchiveWriter::open(path(), store_.id, *store_.journal);
    EXPECT_TRUE(made.has_value()) << made.error().message;
    return std::move(*made);
  }
  std::vector<std::uint64_t> rows(Seq from) {
    std::vector<std::uint64_t> seqs;
    const auto reader = ArchiveReader::open(path());
    EXPECT_TRUE(reader.has_value());
    const Status read = reader->read(from, [&](const JournalRow& row) {
      seqs.push_back(to_number(row.seq));
      return true;
    });
    if (!read) problem_ = read.error().message;
    return seqs;
  }
  std::vector<std::string> files() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path())) {
      if (entry.path().extension() == kArchiveSuffix) names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }

  TemporaryDirectory directory_;
  Store store_;
  Seq newest_{};
  Checksum checksum_;
  std::string problem_;
};

TEST_F(Archive, KeepsRowsInFilesThatAreWhole) {
  for (const std::int64_t ms : {10, 20, 30}) append(ms);
  {
    const auto archive = writer();
    EXPECT_EQ(archive->archived(), Seq{0});
    EXPECT_TRUE(archive->add_some(Seq{2}));
    EXPECT_TRUE(archive->add_some(Seq{2}));  // nothing is left
    EXPECT_TRUE(archive->add_some(Seq{3}));
    EXPECT_TRUE(archive->cover(time_from_ms(40)));
  }
  EXPECT_THAT(files(), ElementsAre("00000000000000000001-00000000000000000002.rows",
                                   "00000000000000000003-00000000000000000003.rows"));
  EXPECT_THAT(rows(Seq{1}), ElementsAre(1, 2, 3));
  EXPECT_THAT(rows(Seq{2}), ElementsAre(2, 3));
  EXPECT_THAT(rows(Seq{4}), ElementsAre());
  const auto head = read_archive_head(path() + "/" + files().front());
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->first_at, time_from_ms(10));
  EXPECT_EQ(head->last_at, time_from_ms(20));
  EXPECT_EQ(ArchiveReader::open(path())->coverage()->until, time_from_ms(40));
}

TEST_F(Archive, GoesOnWhereItEnded) {
  append(10);
  EXPECT_TRUE(writer()->add_some(Seq{1}));
  append(20);
  std::ofstream(path() + "/" + std::string(kArchiveDraft)) << "half";  // of a crash
  const auto archive = writer();
  EXPECT_EQ(archive->archived(), Seq{1});
  EXPECT_FALSE(archive->gap());
  EXPECT_TRUE(archive->add_some(Seq{2}));
  EXPECT_THAT(rows(Seq{1}), ElementsAre(1, 2));
  EXPECT_FALSE(fs::exists(path() + "/" + std::string(kArchiveDraft)));
}

TEST_F(Archive, TellsOfAGap) {
  append(10);
  EXPECT_TRUE(writer()->add_some(Seq{1}));
  for (const std::int64_t ms : {20, 30, 40}) append(ms);
  ASSERT_EQ(store_.journal->trim(Seq{4}), 3u);
  const auto archive = writer();
  EXPECT_EQ(archive->gap(), std::pair(Seq{2}, Seq{3}));
  EXPECT_TRUE(archive->add_some(Seq{4}));
  EXPECT_THAT(rows(Seq{1}), ElementsAre(1));
  EXPECT_THAT(problem_, HasSubstr("rows 2 to 3 are missing"));
  EXPECT_THAT(rows(Seq{4}), ElementsAre(4));
}

TEST_F(Archive, ContinuesAcrossATrimThatItHasSeen) {
  for (const std::int64_t ms : {10, 20}) append(ms);
  EXPECT_TRUE(writer()->add_some(Seq{2}));
  append(30);
  ASSERT_EQ(store_.journal->trim(Seq{3}), 2u);
  const auto archive = writer();
  EXPECT_FALSE(archive->gap());
  EXPECT_EQ(archive->archived(), Seq{2});
}

TEST_F(Archive, RefusesAnotherHistory) {
  append(10);
  EXPECT_TRUE(writer()->add_some(Seq{1}));
  Store other = std::move(store_);
  auto opened = open_sqlite_store({.directory = directory_.file("other"), .clock = [] {
                                     return std::chrono::steady_clock::time_point{};
                                   }});
  store_ = std::move(*opened);
  const auto stranger = ArchiveWriter::open(path(), store_.id, *store_.journal);
  ASSERT_FALSE(stranger.has_value());
  EXPECT_THAT(stranger.error().message, HasSubstr("name another directory"));
  // The same store, restored to a point before that row, and continued.
  newest_ = Seq{};
  checksum_ = {};
  const auto behind = ArchiveWriter::open(path(), other.id, *store_.journal);
  ASSERT_FALSE(behind.has_value());
  EXPECT_THAT(behind.error().message, HasSubstr("another history"));
  append(11);
  const auto differs = ArchiveWriter::open(path(), other.id, *store_.journal);
  ASSERT_FALSE(differs.has_value());
  EXPECT_THAT(differs.error().message, HasSubstr("another history"));
}

TEST_F(Archive, IsOneServersAlone) {
  const auto first = writer();
  const auto second = ArchiveWriter::open(path(), store_.id, *store_.journal);
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message, HasSubstr("in use"));
}

TEST_F(Archive, LeavesNothingOfAFileThatCouldNotBeWritten) {
  append(10);
  const auto archive = writer();
  fs::rename(path(), path() + "-away");
  EXPECT_FALSE(archive->add_some(Seq{1}));
  EXPECT_EQ(archive->archived(), Seq{0});
  fs::rename(path() + "-away", path());
  EXPECT_THAT(files(), ElementsAre());
  EXPECT_TRUE(archive->add_some(Seq{1}));
  EXPECT_THAT(rows(Seq{1}), ElementsAre(1));
}

TEST_F(Archive, NoAlteredByteIsRead) {
  for (const std::int64_t ms : {10, 20}) append(ms);
  EXPECT_TRUE(writer()->add_some(Seq{2}));
  const std::string file = path() + "/" + files().front();
  std::string content;
  {
    std::ifstream in(file, std::ios::binary);
    content.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (std::size_t at = 0; at < content.size(); ++at) {
    std::string altered = content;
    altered[at] = static_cast<char>(altered[at] ^ 0x10);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << altered;
    const auto reader = ArchiveReader::open(path());
    const bool refused = !reader || !reader->read(Seq{1}, [](const JournalRow&) { return true; });
    EXPECT_TRUE(refused) << "byte " << at;
  }
}

TEST_F(Archive, NothingIsAppendedToAFile) {
  for (const std::int64_t ms : {10, 20}) append(ms);
  EXPECT_TRUE(writer()->add_some(Seq{2}));
  std::ofstream(path() + "/" + files().front(), std::ios::binary | std::ios::app) << '\0';
  EXPECT_THAT(rows(Seq{1}), ElementsAre(1, 2));
  EXPECT_THAT(problem_, HasSubstr("it goes on after row 2, its last"));
}

TEST_F(Archive, NoAlteredByteOfItsCoverageIsRead) {
  append(10);
  {
    const auto archive = writer();
    EXPECT_TRUE(archive->add_some(Seq{1}));
    EXPECT_TRUE(archive->cover(time_from_ms(40)));
  }
  const std::string file = path() + "/" + std::string(kArchiveCoverage);
  const std::string content = *read_small_file(file).value();
  const auto refused = [&](const std::string& altered) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << altered;
    const auto reader = ArchiveReader::open(path());
    return !reader && reader.error().message.contains("is damaged");
  };
  for (std::size_t at = 0; at < content.size(); ++at) {
    for (const int bit : {0x01, 0x10}) {
      std::string altered = content;
      altered[at] = static_cast<char>(altered[at] ^ bit);
      EXPECT_TRUE(refused(altered)) << "byte " << at;
    }
    EXPECT_TRUE(refused(content.substr(0, at))) << "cut at " << at;
  }
  EXPECT_TRUE(refused(content + "\n"));
  EXPECT_TRUE(refused(content + std::string(8192, '\n')));
  EXPECT_FALSE(refused(content));
}

TEST_F(Archive, MissesTheFilesAtItsEnd) {
  for (const std::int64_t ms : {10, 20, 30}) append(ms);
  {
    const auto archive = writer();
    EXPECT_TRUE(archive->add_some(Seq{1}));
    EXPECT_TRUE(archive->add_some(Seq{3}));
    EXPECT_TRUE(archive->cover(time_from_ms(40)));
  }
  fs::remove(path() + "/" + files().back());
  EXPECT_THAT(rows(Seq{1}), ElementsAre(1));
  EXPECT_THAT(problem_, HasSubstr("rows 2 to 3 are missing at the end"));
  // A reader that stops before them, or has them, does not need them.
  problem_.clear();
  EXPECT_THAT(rows(Seq{4}), ElementsAre());
  EXPECT_EQ(problem_, "");
  const auto reader = ArchiveReader::open(path());
  EXPECT_TRUE(reader->read(Seq{1}, [](const JournalRow&) { return false; }));
}

TEST_F(Archive, RowsGoBackIntoAJournalInOneCommit) {
  for (const std::int64_t ms : {10, 20, 30}) append(ms);
  EXPECT_TRUE(writer()->add_some(Seq{3}));
  auto opened = open_sqlite_store({.directory = directory_.file("other"), .clock = [] {
                                     return std::chrono::steady_clock::time_point{};
                                   }});
  ASSERT_TRUE(opened.has_value());
  std::vector<JournalRow> kept;
  const auto reader = ArchiveReader::open(path());
  ASSERT_TRUE(reader->read(Seq{1}, [&](const JournalRow& row) {
    kept.push_back(row);
    return true;
  }));
  std::vector<JournalRow> wrong = kept;
  wrong[2].predecessor.low ^= 1;
  EXPECT_FALSE(append_archived(*opened, wrong));
  EXPECT_EQ(opened->journal->extent()->newest, Seq{0});
  EXPECT_TRUE(append_archived(*opened, kept));
  EXPECT_EQ(opened->journal->extent()->newest, Seq{3});
}

}  // namespace
}  // namespace millrace::store
