// Calls out: POSTs under way, many at a time, on one thread. Nothing waits for a name, a connection
// or an answer.
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
  CallNumber number = 0;  // of the caller's choice; no two under way have the same
  Url url{};
  std::vector<std::pair<std::string, std::string>> headers{};
  SharedBytes body{};
  Duration timeout{};                // for all of it
  std::size_t max_answer_bytes = 0;  // of the body; what is longer is not read
};

struct CallEnd {
  enum class How : std::uint8_t {
    kAnswered,
    kForbidden,    // the host's address is none that may be called; nothing was sent
    kUnreachable,  // no connection: nothing was sent
    kTimedOut,
    kBroken,  // the connection ended, or what came is no answer
  };
  CallNumber number = 0;
  How how{};
  std::string reason{};  // of all but kAnswered: a sentence without a full stop
  int status = 0;
  std::string retry_after{};
  std::string body{};
  bool is_cut = false;
  std::chrono::microseconds took{};
};

// One thread's, but for wake().
class Caller {
 public:
  virtual ~Caller() = default;
  virtual void start(Call call) = 0;
  // Ends it without a CallEnd. Unknown numbers are of calls that are over.
  virtual void cancel(CallNumber number) = 0;
  // Waits until calls end, somebody wakes it, or for `most`; gives the calls that have ended.
  virtual std::vector<CallEnd> wait(Duration most) = 0;
  // Thread-safe. Ends a wait, or the next one.
  virtual void wake() = 0;
};

// By libcurl: HTTP/1.1, connections kept and used again; no redirects, no proxies, no credentials
// from files, nothing decompressed. Each address is held against the policy at the moment of
// connecting: a name that leads to one that is forbidden is not called at any other either.
std::unique_ptr<Caller> make_curl_caller(AddressPolicy policy, std::string user_agent);

}  // namespace millrace::push
