// A way to a PostgreSQL server that is cut at a chosen message: after so many transactions have
// been let through, the connection of the next one ends before that one reaches the server, or
// right after, before anything of the answer comes back. Ends with the object.
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

  // The way through it to what `direct` names.
  std::string url(const std::string& direct) const;

  // From now on so many messages (what is sent until the server is to answer) pass; each further
  // one ends its connection.
  void let_through(std::uint64_t messages, Cut cut = Cut::kBefore) {
    cut_ = cut;
    left_ = messages;
  }
  // Ends the connections there are; waits until they are gone.
  void drop_all();

 private:
  // One connection: what the client sends is read message by message.
  struct Pair {
    int server = -1;
    std::string pending;   // of the client, not a whole message yet
    bool started = false;  // its first message, which has no type, has passed
    bool cut = false;      // at the server's next word
  };
  void run();
  void close_all();
  bool pass_up(int client, Pair& pair);
  bool pass_down(int client, Pair& pair);
  // The messages at the front of `pending`, each with all that belongs to it.
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
