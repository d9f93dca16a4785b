// A call: one HTTP request and its answer. Handlers see calls, never sockets.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/bounds.h"
#include "api/problem.h"
#include "http/connection/request_guard.h"
#include "http/peer/peer_access.h"
#include "http/piece_budget.h"
#include "http/routes.h"
#include "net/address_set.h"
#include "service/byte_budget.h"
#include "service/caller.h"
#include "service/login_throttle.h"
#include "service/task.h"

namespace millrace::http {

using service::Task;

// The objects that calls use. One for the server; outlives every call.
struct Services : service::Services {
  api::DecodeLimits limits;
  HeadLimits head_limits;
  service::ByteBudget bodies{std::size_t{1} << 30};   // for request bodies
  PieceBudget pieces{answers, std::size_t{1} << 29};  // for event streams
  PeerAccess* peers = nullptr;                        // null: there are no other nodes
  net::AddressSet proxies{};                          // trusted to name their clients' addresses
  service::LoginThrottle* logins = nullptr;           // outlives this
  std::atomic<std::int64_t> failed_sign_ins = 0;      // counted for the audit: see session.cc
  std::atomic<bool> closing = false;                  // connections of other nodes are refused too
};

enum class MediaType : std::uint8_t { kJson, kProblem, kText };

struct Response {
  int status = 200;
  MediaType media_type = MediaType::kJson;
  std::string body;                      // empty with 204
  std::optional<std::uint64_t> version;  // ETag
  bool replayed = false;                 // Idempotent-Replayed
  std::optional<Duration> retry_after;
  std::string allow;         // with 405
  std::string_view problem;  // its code
  // Overrides the media type; empty: not overridden.
  std::string_view content_type{};
  std::string more_fields{};   // whole lines of the head
  bool must_close = false;     // the connection is closed after the answer
  bool holds_secrets = false;  // it must not be compressed: see connection/compression.h
  // With 101: the connection now links two nodes, and uses this level.
  std::optional<engine::PeerLevel> upgrades;

  void clear();
};

// Sends an answer in pieces; the answer ends with its connection.
class AnswerStream {
 public:
  // The head is sent with the first piece. Takes the piece's content, and waits until the client
  // has read it; a client that takes nothing for too long is cut off. False: nothing more can be
  // sent.
  virtual Task<bool> send(std::string& piece) = 0;
  // Waits for about `time`. False: the client has gone, or the server is stopping.
  virtual Task<bool> rest(Duration time) = 0;
  virtual bool over() const = 0;

 protected:
  ~AnswerStream() = default;
};

class Call {
 public:
  Call(Services& all_services, service::AnswerPort& port, service::IdMaker& ids)
      : services(all_services), caller(all_services, port, ids) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // --- The request. Views of the connection's buffer, stable until the answer is made.
  const RequestHead* head = nullptr;
  std::string_view body;
  RouteMatch route;
  std::string request_id;
  std::string_view peer;       // the client's address; a trusted proxy may have named it
  std::string certified_name;  // see net::ByteStream; known once a head was read

  // For other nodes: see engine::kCertified; or the token from a browser's cookie.
  std::string certified_credentials;
  bool by_cookie = false;          // the token came in a cookie
  AnswerStream* stream = nullptr;  // set by the connection

  Response response;

  Services& services;
  service::Caller caller;

  bool goes_to(Route::Handler handler) const {
    return route.route != nullptr && route.route->handler == handler;
  }
  std::string_view query() const { return head->query(); }
  const std::string& parameter() const { return route.parameter; }  // of the path
  Time now() const { return caller.now(); }

  // Resets the call for the next request, except for members that every request sets.
  void clear();
  // The request is complete: copies the parts that operations need to `caller`.
  void introduce();

  // --- Answering.
  void refuse(const api::Problem& problem);
  void refuse(api::ProblemCode code, std::string detail) {
    refuse(api::make_problem(code, std::move(detail)));
  }
  void no_content() { response.status = 204; }
};

}  // namespace millrace::http
