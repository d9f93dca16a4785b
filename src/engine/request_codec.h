// Requests and answers as bytes: what nodes send each other. Both sides speak the same format,
// which is agreed on before (http/peer_frames.h); nothing of it is kept anywhere, so it may change
// with a new name for it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/request.h"

namespace millrace::engine {

// Replace `out`, whose capacity is kept. Every member survives. Thread-safe.
void encode_request(const Request& request, std::string& out);
void encode_answer(const Answer& answer, std::string& out);

// All or nothing: an unknown kind, field or enum value fails with a message that says where, and so
// does a field that is missing, repeated or out of order. Bounds are whoever sent it's to check, as
// for every request. Thread-safe.
Result<Request> decode_request(std::string_view body);
Result<Answer> decode_answer(std::string_view body);

}  // namespace millrace::engine
