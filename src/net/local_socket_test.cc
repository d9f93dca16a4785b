#include "net/local_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace millrace::net {
namespace {

namespace fs = std::filesystem;

class LocalSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "millrace-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    path_ = directory_ / "socket";
  }
  void TearDown() override { fs::remove_all(directory_); }

  static std::string reason(const Result<int>& result) {
    return result ? "none" : result.error().message;
  }
  fs::path directory_;
  std::string path_;
};

TEST_F(LocalSocketTest, IsMadeWithItsPermissions) {
  for (const mode_t mode : {0600u, 0660u, 0666u}) {
    const auto listener = listen_at(path_, mode, 8);
    ASSERT_TRUE(listener) << reason(listener);
    struct stat made{};
    ASSERT_EQ(::stat(path_.c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 0777, mode);
    remove_listener(path_, *listener);
    ::close(*listener);
    EXPECT_FALSE(fs::exists(path_));
  }
}

TEST_F(LocalSocketTest, WhatADeadServerLeftIsReplaced) {
  const auto dead = listen_at(path_, 0600, 8);
  ASSERT_TRUE(dead);
  ::close(*dead);  // as by a kill: the file stays
  ASSERT_TRUE(fs::exists(path_));
  EXPECT_TRUE(can_listen_at(path_));
  const auto next = listen_at(path_, 0600, 8);
  ASSERT_TRUE(next) << reason(next);
  ::close(*next);
}

TEST_F(LocalSocketTest, ALiveServerIsLeftAlone) {
  const auto live = listen_at(path_, 0600, 8);
  ASSERT_TRUE(live);
  const auto second = listen_at(path_, 0600, 8);
  EXPECT_FALSE(second);
  EXPECT_NE(reason(second).find("another process"), std::string::npos) << reason(second);
  EXPECT_FALSE(can_listen_at(path_));
  ::close(*live);
}

TEST_F(LocalSocketTest, AnotherFileIsLeftAlone) {
  std::ofstream(path_) << "precious";
  const auto refused = listen_at(path_, 0600, 8);
  EXPECT_FALSE(refused);
  EXPECT_NE(reason(refused).find("no socket"), std::string::npos) << reason(refused);
  EXPECT_EQ(fs::file_size(path_), 8u);
}

TEST_F(LocalSocketTest, ThePathHasABound) {
  const std::size_t most = sizeof(sockaddr_un::sun_path) - 1;
  const std::string stem = (directory_ / "").string();
  const std::string longest = stem + std::string(most - stem.size(), 'x');
  const auto fits = listen_at(longest, 0600, 8);
  EXPECT_TRUE(fits) << reason(fits);
  if (fits) ::close(*fits);
  EXPECT_FALSE(listen_at(longest + "x", 0600, 8));
  EXPECT_FALSE(listen_at("", 0600, 8));
  const auto nowhere = listen_at(stem + "none/socket", 0600, 8);
  EXPECT_NE(reason(nowhere).find("directory"), std::string::npos) << reason(nowhere);
}

TEST_F(LocalSocketTest, KnowsWhoCalls) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  EXPECT_EQ(user_of(ends[0]), "unix:" + std::to_string(::getuid()));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace millrace::net
