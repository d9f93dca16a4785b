// The load generator's own connection to the server: one blocking socket, requests as prepared
// bytes, no unnecessary copies. An HTTP library would take CPU time from the server under test.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace::cli {

struct ServerAddress {
  std::string host;
  std::string port;
  std::string path;  // precedes every request's path; usually empty
};

// "http://host:port/path". https is refused, since the benches do not measure the cost of TLS.
Result<ServerAddress> parse_address(std::string_view url);

// The head of a request up to the length of its body, which follows.
std::string request_head(const ServerAddress& address, std::string_view token,
                         std::string_view path);

// Not thread-safe, except abort().
class BenchConnection {
 public:
  // `receive_bytes`: the initial size of the receive buffer, which grows if an answer needs more.
  explicit BenchConnection(std::size_t receive_bytes = std::size_t{128} << 10)
      : receive_bytes_(receive_bytes) {}
  ~BenchConnection();
  BenchConnection(const BenchConnection&) = delete;
  BenchConnection& operator=(const BenchConnection&) = delete;

  Status open(const ServerAddress& address);

  struct Answer {
    int status = 0;
    std::string_view body;  // valid until the next answer is received
  };
  // `head` is from request_head(). Only one request may be pending.
  Status send(std::string_view head, std::string_view body);
  Result<Answer> receive();
  Result<Answer> exchange(std::string_view head, std::string_view body);

  int descriptor() const { return socket_; }

  // Makes the current exchange and all later ones fail at once. Thread-safe.
  void abort();

 private:
  Status receive_more();

  std::size_t receive_bytes_;
  std::atomic<int> socket_ = -1;
  std::string received_;
  std::size_t filled_ = 0;
};

}  // namespace millrace::cli
