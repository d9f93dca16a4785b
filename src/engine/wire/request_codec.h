// Requests and answers as the bytes that nodes send each other, at the level that both know. These
// bytes are never stored; for the outbox see store/submission_codec.h.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/request.h"
#include "engine/wire/peer_level.h"

namespace millrace::engine {

// The oldest level at which the request keeps its meaning. It must not be sent at an older one.
PeerLevel level_of(const Request& request);

// Replace the content of `out` and keep its capacity. Every member that the level knows is kept.
// Thread-safe.
void encode_request(const Request& request, std::string& out, PeerLevel level = kNewestPeerLevel);
void encode_answer(const Answer& answer, std::string& out, PeerLevel level = kNewestPeerLevel);

// All or nothing: an unknown kind, field or enum value fails, as does a field that is missing,
// repeated or out of order. The error message names the place. Bounds are not checked here; the
// caller checks them as for every request. Thread-safe.
Result<Request> decode_request(std::string_view body);
Result<Answer> decode_answer(std::string_view body);

}  // namespace millrace::engine
