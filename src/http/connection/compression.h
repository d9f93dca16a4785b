// Compresses answers with gzip, for clients that take it.
//
// The length of a compressed answer tells how much of it repeats. If a secret is beside text that
// an attacker chooses, that reveals the secret, little by little (the attack BREACH). So an answer
// that may hold a secret is never compressed: tokens, sessions, the configuration, and the data of
// jobs (payloads, results, log lines). Neither is an answer to anything but GET and HEAD.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "http/call.h"

namespace millrace::http {

// Smaller answers are left alone: they fit into a packet anyway.
constexpr std::size_t kMinCompressedBytes = 1024;

// Whether the answer's form depends on what codings the client takes.
bool is_compressible(api::Method method, const Route& route, const Response& response);

// Compresses a compressible answer if the client takes that, on a thread of the reader pool. Leaves
// it as it is while too many others of this client wait for that.
Task<void> compress(Call& call);

// None if the library fails, which it does for lack of memory.
std::optional<std::string> gzip(std::string_view plain);

}  // namespace millrace::http
