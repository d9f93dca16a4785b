// The list of checks before every handler.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/call.h"

namespace millrace::http {

// Runs the checks on a call whose head has been read. Its body may still be on its way, so a client
// need not send 16 MiB to be refused. True: a handler must answer. False: the call has been
// answered.
bool admit(Call& call);

// Authenticates a token: "Bearer mlr_...". Sets the caller's access, or returns the reason for a
// refusal. Repeated failures from one address are slowed down.
std::optional<api::Problem> log_in(Call& call, std::string_view credentials);

// A request id for the answer to a request that never became a call.
std::string make_request_id(service::IdMaker& ids);

}  // namespace millrace::http
