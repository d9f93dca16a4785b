// The load generator's own way to the server: one blocking socket, requests as prepared bytes,
// nothing copied that need not be. A library's share of a core would be taken from the server under
// test.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace::cli {

struct ServerAddress {
  std::string host;
  std::string port;
  std::string path;  // before every request's, mostly empty
};

// "http://host:port/path"; https is refused: the cost of TLS is not what is measured.
Result<ServerAddress> parse_address(std::string_view url);

// The bytes of a request's head up to the length of its body, which comes next.
std::string request_head(const ServerAddress& address, std::string_view token,
                         std::string_view path);

// Not thread-safe, but for abort().
class BenchConnection {
 public:
  // At least so much is received at a time; what an answer needs beyond is made room for.
  explicit BenchConnection(std::size_t receive_bytes = std::size_t{128} << 10)
      : receive_bytes_(receive_bytes) {}
  ~BenchConnection();
  BenchConnection(const BenchConnection&) = delete;
  BenchConnection& operator=(const BenchConnection&) = delete;

  Status open(const ServerAddress& address);

  struct Answer {
    int status = 0;
    std::string_view body;  // until the next answer is received
  };
  // `head` from request_head(). One request is under way at a time.
  Status send(std::string_view head, std::string_view body);
  Result<Answer> receive();
  Result<Answer> exchange(std::string_view head, std::string_view body);

  int descriptor() const { return socket_; }

  // Makes the exchange under way, and all after it, fail at once. From any thread.
  void abort();

 private:
  Status receive_more();

  std::size_t receive_bytes_;
  std::atomic<int> socket_ = -1;
  std::string received_;
  std::size_t filled_ = 0;
};

}  // namespace millrace::cli
