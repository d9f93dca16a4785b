// The checks before every handler, as one list; and the table of handlers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/call.h"

namespace millrace::http {

// Runs the list on a call whose head has been read and whose body may still be on its way, so that
// a client need not send 16 MiB to be refused. True: a handler must answer. False: the call has its
// answer.
bool admit(Call& call);

// Looks at a token: "Bearer mlr_...". Sets the caller's access, or says why not; failures of one
// address are slowed down.
std::optional<api::Problem> log_in(Call& call, std::string_view credentials);

// The request id of an answer to a request that never became a call.
std::string make_request_id(service::IdMaker& ids);

// The handler of the call's route, not yet started.
Task<void> handle(Call& call);

}  // namespace millrace::http
