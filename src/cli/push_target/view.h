// Push targets as shown to people.
#pragma once

#include <string>
#include <string_view>

#include "cli/session.h"
#include "millrace/client.h"

namespace millrace::cli {

bool is_object(const sdk::Response& answer);
void fail_on_answer(Session& session);

std::string push_target_path(std::string_view name);
// Prints the push target in the answer, or the error.
void show_push_target(const sdk::Result<sdk::Response>& answer, Session& session);
void list_push_targets(sdk::Client& client, Session& session);

}  // namespace millrace::cli
