// Errors of the file system are reported, with the file's name.
#include "store/sqlite/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/vfs.h>

#include <filesystem>
#include <fstream>

#include "store/testing/store_under_test.h"
#include "store/testing/temporary_directory.h"

namespace millrace::store {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Files : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return directory_.file(name); }
  // A name that can't be opened, even by root.
  std::string loop() const {
    std::error_code error;
    fs::create_symlink("loop", file("loop"), error);
    return file("loop");
  }
  std::string folder(const std::string& name) const {
    fs::create_directories(file(name) + "/inside");
    return file(name);
  }
  static std::string why(const Status& status) {
    return status ? "nothing wrong" : status.error().message;
  }
  template <typename T>
  static std::string why(const Result<T>& result) {
    return result ? "nothing wrong" : result.error().message;
  }

  const TemporaryDirectory directory_;
};

TEST_F(Files, AreReadAndWrittenWhole) {
  ASSERT_TRUE(write_small_file(file("a"), "one"));
  ASSERT_TRUE(write_small_file(file("a"), "two"));
  EXPECT_EQ(read_small_file(file("a")).value(), "two");
  EXPECT_FALSE(file_exists(file("a.tmp")));
  EXPECT_EQ(read_small_file(file("none")).value(), std::nullopt);
  EXPECT_TRUE(remove_file(file("a")));
  EXPECT_TRUE(remove_file(file("a"))) << "it is gone already";
}

TEST_F(Files, ThatCantBeReadAreNamed) {
  EXPECT_THAT(why(read_small_file(loop())), AllOf(HasSubstr("read"), HasSubstr(loop())));
  EXPECT_THAT(why(read_small_file(folder("d"))), AllOf(HasSubstr("read"), HasSubstr("/d")));
}

TEST_F(Files, ThatCantBeWrittenAreNamed) {
  EXPECT_THAT(why(make_private_file(loop())), HasSubstr("create"));
  folder("a.tmp");
  EXPECT_THAT(why(write_small_file(file("a"), "x")), AllOf(HasSubstr("write"), HasSubstr("a.tmp")));
  EXPECT_FALSE(file_exists(file("a")));
  folder("b");
  EXPECT_THAT(why(write_small_file(file("b"), "x")),
              AllOf(HasSubstr("put in place"), HasSubstr("b")));
  EXPECT_THAT(why(remove_file(file("b"))), HasSubstr("remove"));
  EXPECT_THAT(why(sync_file(file("none"))), HasSubstr("sync"));
  EXPECT_THAT(why(sync_file("/proc/self/stat")), HasSubstr("sync")) << "opens, and has no disk";
  if (fs::exists("/dev/full")) {
    fs::create_symlink("/dev/full", file("full.tmp"));
    EXPECT_THAT(why(write_small_file(file("full"), "x")), HasSubstr("it is not a regular file"));
  }
}

TEST_F(Files, ADirectoryIsLockedAndTellsWhoHasIt) {
  const auto first = Directory::lock(file("data"));
  ASSERT_TRUE(first.has_value());
  const std::string pid = "process " + std::to_string(getpid());
  EXPECT_THAT(why(Directory::lock(file("data"))), HasSubstr(pid));
  const std::string lock = (*first)->file(kLockFile);
  std::ofstream(lock, std::ios::trunc).close();
  EXPECT_THAT(why(Directory::lock(file("data"))), HasSubstr("another process"));
}

TEST_F(Files, ADirectoryThatCantBeMadeOrLockedIsNamed) {
  std::ofstream(file("plain")) << "x";
  EXPECT_THAT(why(Directory::lock(file("plain"))), HasSubstr("plain is not a directory"));
  EXPECT_THAT(why(Directory::lock(file("plain/below/data"))), HasSubstr("can't create"));
  EXPECT_THAT(why(Directory::lock(file(std::string(300, 'x')))), HasSubstr("can't create"));
  folder("data");
  fs::create_directory(file("data") + "/" + std::string(kLockFile));
  EXPECT_THAT(why(Directory::lock(file("data"))), HasSubstr("can't write in the data directory"));
}

TEST_F(Files, ADirectoryMayBeNamedFromWhereTheProcessStands) {
  const fs::path before = fs::current_path();
  fs::current_path(directory_.path());
  const auto locked = Directory::lock("data");
  fs::current_path(before);
  EXPECT_TRUE(locked.has_value()) << why(locked);
  EXPECT_TRUE(fs::is_directory(file("data")));
}

TEST_F(Files, OfADirectoryInMemoryMustNotBeTrusted) {
  struct statfs info{};
  constexpr long kTmpfs = 0x01021994;
  if (statfs("/dev/shm", &info) != 0 || info.f_type != kTmpfs) GTEST_SKIP() << "none is mounted";
  std::string path = "/dev/shm/millrace-XXXXXX";
  ASSERT_NE(mkdtemp(path.data()), nullptr);
  {
    const auto locked = Directory::lock(path);
    ASSERT_TRUE(locked.has_value()) << why(locked);
    EXPECT_THAT((*locked)->doubtful_file_system().value_or("a sound one"), HasSubstr("tmpfs"));
    fs::remove_all(path);
    EXPECT_EQ((*locked)->doubtful_file_system(), std::nullopt) << "gone: nothing to be said of it";
  }
}

// --- Invalid files of a store

TEST_F(Files, OfAStoreThatCantBeHadAreNamed) {
  const std::string marker(kMarkerFile);
  const auto of_new = [&](const std::string& name) {
    const auto opened = open_sqlite_store(sqlite_options(file(name)));
    return opened ? "opened" : opened.error().message;
  };
  folder("one/journal.db");
  EXPECT_THAT(of_new("one"), HasSubstr("one/journal.db")) << "a directory";
  fs::create_directory(file("two"));
  fs::create_symlink("journal.db", file("two/journal.db"));
  EXPECT_THAT(of_new("two"), AllOf(HasSubstr("create"), HasSubstr("two/journal.db")));
  const auto refusal = [&] {
    const auto opened = open_sqlite_store(sqlite_options(directory_.path()));
    return opened ? "opened" : opened.error().message;
  };
  fs::create_directory(file(marker + ".tmp"));
  EXPECT_THAT(refusal(), HasSubstr(marker + ".tmp")) << "it can't be finished";
  fs::remove(file(marker + ".tmp"));
  EXPECT_EQ(refusal(), "opened");
  std::ofstream(file("journal.db.suspect")) << "x";
  folder("journal.db.copy-wal");
  EXPECT_THAT(refusal(), HasSubstr("journal.db.copy-wal"));
  fs::remove_all(file("journal.db.copy-wal"));
  EXPECT_EQ(refusal(), "opened");
  fs::remove(file(marker));
  fs::create_symlink(marker, file(marker));
  EXPECT_THAT(refusal(), HasSubstr(marker));
}

TEST_F(Files, ABackupNeedsAMarkerToCopyAndAPlace) {
  const Store store = open_sqlite(file("data"));
  std::ofstream(file("plain")) << "x";
  EXPECT_THAT(why(store.backup->backup_to(file("plain/backup"))), HasSubstr("can't create"));
  const std::string marker = file("data/") + std::string(kMarkerFile);
  fs::remove(marker);
  EXPECT_THAT(why(store.backup->backup_to(file("backup"))), HasSubstr("is missing"));
  fs::create_symlink("loop", file("data/loop"));
  fs::create_symlink("loop", marker);
  EXPECT_THAT(why(store.backup->backup_to(file("backup"))), HasSubstr(marker));
  EXPECT_FALSE(fs::exists(file("backup")));
}

}  // namespace
}  // namespace millrace::store
