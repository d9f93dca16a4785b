// Reports of the HTTP server: one record per request, for the request log and the metrics.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "http/routes.h"
#include "net/io_thread.h"

namespace millrace::http {

// The views are valid only during the call. The text may be hostile: escape it before writing.
struct RequestRecord {
  std::string_view request_id;
  std::string_view method;
  std::string_view path;         // without the query, which may hold data
  const Route* route = nullptr;  // null: none fits
  int status = 0;
  std::chrono::nanoseconds duration{};  // from the complete head to the written answer
  std::size_t received_bytes = 0;       // of the body
  std::size_t sent_bytes = 0;           // of the body
  std::string_view peer;                // address
  std::string_view token_name;          // empty: none
  std::string_view problem;             // the code of the problem answered; empty: none
  std::string_view note;                // a detail that the client did not see; empty: none
};

// Called on any I/O thread; must return quickly.
class Observer : public net::ConnectionObserver {
 public:
  // An answer in pieces. kCutOff: its reader took nothing for too long.
  enum class Streamed : std::uint8_t { kOpened, kEnded, kCutOff };
  virtual void streamed(Streamed what) = 0;
  virtual void answered(const RequestRecord& record) = 0;
};

}  // namespace millrace::http
