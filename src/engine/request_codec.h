// Requests and answers as bytes: what nodes send each other, at the level that both know. Nothing
// of it is kept anywhere; what the outbox keeps is store/submission_codec.h's.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/peer_level.h"
#include "engine/request.h"

namespace millrace::engine {

// The oldest level at which the request means what it should. At an older one it is not to be sent.
PeerLevel level_of(const Request& request);

// Replace `out`, whose capacity is kept. Every member survives that the level knows. Thread-safe.
void encode_request(const Request& request, std::string& out, PeerLevel level = kNewestPeerLevel);
void encode_answer(const Answer& answer, std::string& out, PeerLevel level = kNewestPeerLevel);

// All or nothing: an unknown kind, field or enum value fails with a message that says where, and so
// does a field that is missing, repeated or out of order. Bounds are whoever sent it's to check, as
// for every request. Thread-safe.
Result<Request> decode_request(std::string_view body);
Result<Answer> decode_answer(std::string_view body);

}  // namespace millrace::engine
