// Sends POST requests, many at a time, on one thread. Name resolution, connecting and waiting for
// answers never block it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "push/address_policy.h"
#include "push/url.h"

namespace millrace::push {

inline constexpr std::size_t kMaxAnswerHeadBytes = 32 * 1024;

using CallNumber = std::uint64_t;

struct Call {
  CallNumber number = 0;  // chosen by the user of Caller; unique among pending calls
  Url url{};
  std::vector<std::pair<std::string, std::string>> headers{};
  SharedBytes body{};
  Duration timeout{};                // for the whole call
  std::size_t max_answer_bytes = 0;  // limit on the body; the excess is not read
};

struct CallEnd {
  enum class How : std::uint8_t {
    kAnswered,
    kForbidden,    // the host's address must not be called; nothing was sent
    kUnreachable,  // no connection: nothing was sent
    kTimedOut,
    kBroken,  // the connection ended, or the received bytes are not a valid answer
  };
  CallNumber number = 0;
  How how{};
  std::string reason{};  // except for kAnswered: a sentence without a full stop
  int status = 0;
  std::string retry_after{};
  std::string body{};
  bool is_cut = false;
  std::chrono::microseconds took{};
};

// Used by one thread, except for wake().
class Caller {
 public:
  virtual ~Caller() = default;
  virtual void start(Call call) = 0;
  // Ends the call without a CallEnd. An unknown number is ignored: that call is over.
  virtual void cancel(CallNumber number) = 0;
  // Waits until calls end, wake() is called, or `most` has passed. Returns the calls that have
  // ended.
  virtual std::vector<CallEnd> wait(Duration most) = 0;
  // Thread-safe. Ends the current wait, or the next one.
  virtual void wake() = 0;
};

// Uses libcurl: HTTP/1.1 over reused connections, without redirects, proxies, credentials from
// files, or decompression. Each address is checked against the policy when it is connected to. If
// one of a name's addresses is forbidden, the others are not called either.
std::unique_ptr<Caller> make_curl_caller(AddressPolicy policy, std::string user_agent);

}  // namespace millrace::push
