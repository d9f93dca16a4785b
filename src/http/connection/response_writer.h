// Serialises an answer.
#pragma once

#include <string>
#include <string_view>

#include "http/call.h"

namespace millrace::http {

struct ResponseFraming {
  std::string_view date;
  std::string_view request_id;
  bool http_1_0 = false;
  bool close = false;
  bool head_only = false;    // HEAD: the length, not the body
  bool until_close = false;  // the body has no length: it follows, and the connection's end ends it
  bool body_apart = false;   // the body is too large to be copied, and is sent from its own buffer
};

void append_response(std::string& out, const Response& response, const ResponseFraming& framing);

}  // namespace millrace::http
