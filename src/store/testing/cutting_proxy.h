// A proxy to a PostgreSQL server that cuts a connection at a chosen message. After a number of
// transactions has passed, the next one's connection ends before the transaction reaches the
// server, or right after, before any of the answer comes back. The proxy ends with the object.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace millrace::store {

class CuttingProxy {
 public:
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  enum class Cut : std::uint8_t { kBefore, kAfter };

  explicit CuttingProxy(int server_port);
  ~CuttingProxy();
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  // The URL that leads through the proxy to the server of `direct`.
  std::string url(const std::string& direct) const;

  // Lets this many further messages pass (a message is everything that a client sends until the
  // server must answer). Each later one ends its connection.
  void let_through(std::uint64_t messages, Cut cut = Cut::kBefore) {
    cut_ = cut;
    left_ = messages;
  }
  // Ends all current connections; waits until they are gone.
  void drop_all();

 private:
  // One connection; the client's data is split into messages.
  struct Pair {
    int server = -1;
    std::string pending;   // an incomplete message of the client
    bool started = false;  // its first message, which has no type, has passed
    bool cut = false;      // to be cut when the server next answers
  };
  void run();
  void close_all();
  bool pass_up(int client, Pair& pair);
  bool pass_down(int client, Pair& pair);
  // Takes the complete messages from the front of `pending`.
  std::string take_messages(Pair& pair, bool& ends);

  const int server_port_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<std::uint64_t> left_ = kAll;
  std::atomic<Cut> cut_ = Cut::kBefore;
  std::atomic<bool> over_ = false;
  std::atomic<bool> drops_ = false;
  std::map<int, Pair> pairs_;  // by the client's socket
  std::thread thread_;
};

}  // namespace millrace::store
