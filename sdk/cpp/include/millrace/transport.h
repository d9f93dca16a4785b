// The transport to the server: one request, one answer. Only needed by code that replaces it, such
// as tests.
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

// Whether a failed call may be sent again.
enum class Repeat {
  kNever,
  kIfUnbegun,  // only if the server can't have started it: no connection, 429 or 503
  kAlways,     // idempotent: sending it twice has the same effect as once
};

struct Request {
  std::string method = "GET";
  std::string path{};  // from the root, query included: "/v1/jobs?limit=5"
  std::string body{};  // JSON; sent with its Content-Type unless empty
  Headers headers{};
  // For Transport::send: limits this request. For Client::call: limits all retries and pauses
  // together.
  std::chrono::milliseconds timeout{30'000};
  std::stop_token stop{};  // cancels the request
  // Client::call always retries GET, PUT and DELETE.
  Repeat repeat = Repeat::kNever;
  // Client::call sets it where a second try means something else than the first: then the transport
  // must not send the request again by itself.
  bool counts_tries = false;
  // Receives the body of a successful answer in pieces, as they arrive; Response::body stays empty.
  // `timeout` then limits the silence before each piece, not the whole answer. Returning false ends
  // the call, as `stop` does.
  std::function<bool(std::string_view)> on_part{};
};

struct Response {
  int status = 0;
  std::string body{};
  Headers headers{};  // names in lower case

  // Empty if there is no such header.
  std::string_view header(std::string_view name) const;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Any answer is a Response, whatever its status. Thread-safe; concurrent calls use separate
  // connections.
  [[nodiscard]] virtual Result<Response> send(const Request& request) = 0;
};

struct HttpOptions {
  // "http://127.0.0.1:7600" or https, optionally with a path that precedes each request's; or the
  // path of a Unix socket: "unix:/run/millrace.sock".
  std::string url;
  std::string token{};
  std::string user_agent{};
  std::string ca_file{};           // certificates to trust, in PEM; empty: the system's
  std::string certificate_file{};  // the client's certificate; empty: none
  std::string key_file{};          // the certificate's key
  std::chrono::milliseconds connect_timeout{5'000};
};

// Keeps connections alive and reuses them. Does not follow redirects, so the token is never sent
// elsewhere.
std::unique_ptr<Transport> make_http_transport(HttpOptions options);

}  // namespace millrace::sdk
