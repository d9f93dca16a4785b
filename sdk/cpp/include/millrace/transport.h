// The transport to the server: one request, one answer. Only relevant to code that replaces it,
// such as tests.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/error.h"

namespace millrace::sdk {

using Headers = std::vector<std::pair<std::string, std::string>>;

// When a call may be sent again after it failed.
enum class Repeat {
  kNever,
  kIfUnbegun,  // only if the server cannot have begun it: no connection, or 429 or 503
  kAlways,     // sending it twice has the same effect as once
};

struct Request {
  std::string method = "GET";
  std::string path{};  // from the root, query included: "/v1/jobs?limit=5"
  std::string body{};  // JSON; sent with its Content-Type unless empty
  Headers headers{};
  // Transport::send: for this one request. Client::call: for all tries and pauses together.
  std::chrono::milliseconds timeout{30'000};
  std::stop_token stop{};  // cancels the request
  // Client::call sends GET, PUT and DELETE again whatever this says.
  Repeat repeat = Repeat::kNever;
  // Takes the body of an answer of success piece by piece, as it comes; Response::body stays empty.
  // `timeout` then bounds the silence before a piece, not the whole. False ends the call, as `stop`
  // does.
  std::function<bool(std::string_view)> on_part{};
};

struct Response {
  int status = 0;
  std::string body{};
  Headers headers{};  // names in lower case

  // Empty: there is no such header.
  std::string_view header(std::string_view name) const;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Any answer is a Response, whatever its status. Thread-safe; concurrent calls use separate
  // connections.
  virtual Result<Response> send(const Request& request) = 0;
};

struct HttpOptions {
  // "http://127.0.0.1:7600" or https, and a path in it precedes each request's; or the path of a
  // socket on this machine: "unix:/run/millrace.sock".
  std::string url;
  std::string token{};
  std::string user_agent{};
  std::string ca_file{};           // certificates to trust, in PEM; empty: the system's
  std::string certificate_file{};  // what the client shows of itself; empty: nothing
  std::string key_file{};          // the key of that certificate
  std::chrono::milliseconds connect_timeout{5'000};
};

// Keeps connections alive and reuses them. Does not follow redirects, so that the token is sent
// nowhere else.
std::unique_ptr<Transport> make_http_transport(HttpOptions options);

}  // namespace millrace::sdk
