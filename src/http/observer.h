// What HTTP tells of itself: one record per request, for the request log and the metrics.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "api/routes.h"
#include "net/io_thread.h"

namespace millrace::http {

// Views that live for the call alone. Hostile text: whoever writes it anywhere escapes it.
struct RequestRecord {
  std::string_view request_id;
  std::string_view method;
  std::string_view path;  // without the query, which may hold data
  std::optional<api::RouteId> route;
  int status = 0;
  std::chrono::nanoseconds duration{};  // from the whole head to the written answer
  std::size_t received_bytes = 0;       // of the body
  std::size_t sent_bytes = 0;           // of the body
  std::string_view peer;                // address
  std::string_view token_name;          // empty: none
  std::string_view problem;             // the code of the problem answered; empty: none
  std::string_view note;                // what the client was not told; empty: nothing
};

// Any I/O thread; must be quick.
class Observer : public net::ConnectionObserver {
 public:
  virtual void answered(const RequestRecord& record) = 0;
};

}  // namespace millrace::http
