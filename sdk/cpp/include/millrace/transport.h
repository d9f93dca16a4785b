// The way to the server: one request, one answer. Worth knowing only to those who replace it, as
// tests do.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/error.h"

namespace millrace::sdk {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method = "GET";
  std::string path{};  // from the root, query included: "/v1/jobs?limit=5"
  std::string body{};  // JSON; sent with its Content-Type unless empty
  Headers headers{};
  std::chrono::milliseconds timeout{30'000};  // for all of it
  std::stop_token stop{};                     // breaks the request off
  // Sending it twice does what sending it once does, so it may be repeated when an answer is lost.
  bool repeatable = false;
};

struct Response {
  int status = 0;
  std::string body{};
  Headers headers{};  // names in lower case

  // Empty where it is missing.
  std::string_view header(std::string_view name) const;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Any answer is a Response, whatever its status. From any thread; concurrent calls use
  // connections of their own.
  virtual Result<Response> send(const Request& request) = 0;
};

struct HttpOptions {
  std::string
      url;  // "http://127.0.0.1:7600", https too; a path in it is put before every request's
  std::string token{};
  std::string user_agent{};
  std::chrono::milliseconds connect_timeout{5'000};
};

// Keeps connections alive and reuses them. Follows no redirects, so that the token goes nowhere
// else.
std::unique_ptr<Transport> make_http_transport(HttpOptions options);

}  // namespace millrace::sdk
