#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace millrace {
namespace {

class File : public ::testing::Test {
 protected:
  File() { EXPECT_NE(::mkdtemp(directory_.data()), nullptr); }
  ~File() override { std::filesystem::remove_all(directory_.data()); }

  std::string path(const char* name) const { return std::string(directory_.data()) + "/" + name; }
  std::string with(const char* name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  static std::string refusal(const Result<std::string>& read) {
    return read ? "it was read" : read.error().message;
  }

  std::array<char, 32> directory_{"/tmp/millrace-file-XXXXXX"};
};

TEST_F(File, IsReadAsAWhole) {
  EXPECT_EQ(read_file(with("text", "a\nb\0c")), std::string("a\nb"));
  EXPECT_EQ(read_file(with("empty", "")), std::string());
  const std::string large(200'000, 'x');
  EXPECT_EQ(read_file(with("large", large)), large);
  EXPECT_TRUE(check_file(path("text")));
}

TEST_F(File, HasABound) {
  EXPECT_TRUE(read_file(with("text", "12345"), 5));
  EXPECT_EQ(refusal(read_file(path("text"), 4)),
            "can't read " + path("text") + ": it has more than 4 bytes");
  std::filesystem::resize_file(path("text"), kMaxFileBytes);
  EXPECT_TRUE(read_file(path("text")));
  std::filesystem::resize_file(path("text"), kMaxFileBytes + 1);
  EXPECT_FALSE(read_file(path("text")));
}

TEST_F(File, ThatIsMissingOrADirectoryIsNamed) {
  EXPECT_EQ(refusal(read_file(path("none"))),
            "can't read " + path("none") + ": No such file or directory");
  EXPECT_EQ(refusal(read_file(directory_.data())),
            std::string("can't read ") + directory_.data() + ": Is a directory");
  EXPECT_EQ(open_file(path("none"), O_RDONLY).error().code, ENOENT);
}

// Without O_NONBLOCK these would wait for ever.
TEST_F(File, AFifoOrADeviceIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  for (const std::string& name : {path("fifo"), std::string("/dev/zero")}) {
    const std::string expected = "can't read " + name + ": it is not a regular file";
    EXPECT_EQ(refusal(read_file(name)), expected);
    EXPECT_EQ(check_file(name).error().message, expected);
  }
  for (const int flags : {O_RDONLY, O_WRONLY | O_CREAT | O_TRUNC, O_RDWR}) {
    const auto opened = open_file(path("fifo"), flags, 0600);
    ASSERT_FALSE(opened.has_value()) << flags;
    EXPECT_EQ(opened.error().reason, "it is not a regular file");
    EXPECT_EQ(opened.error().code, 0);
  }
}

TEST_F(File, ASocketIsRefused) {
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path("socket").copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
  EXPECT_EQ(refusal(read_file(path("socket"))),
            "can't read " + path("socket") + ": it is not a regular file");
}

TEST_F(File, AStreamThatTheCallerHandedOverIsRead) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Descriptor from(ends[0]);
  {
    const Descriptor into(ends[1]);
    ASSERT_EQ(::write(into.number(), "words", 5), 5);
  }
  const std::string name = "/dev/fd/" + std::to_string(from.number());
  EXPECT_TRUE(check_file(name));
  EXPECT_EQ(read_file(name), std::string("words"));
  EXPECT_EQ(read_file("/dev/null"), std::string());
  EXPECT_FALSE(is_stream(path("fifo")));
}

TEST_F(File, IsWrittenToo) {
  {
    const auto file = open_file(path("new"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ASSERT_TRUE(file.has_value());
    ASSERT_EQ(::write(file->number(), "x", 1), 1);
  }
  EXPECT_EQ(read_file(path("new")), std::string("x"));
}

}  // namespace
}  // namespace millrace
