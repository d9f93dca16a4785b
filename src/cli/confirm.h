// Confirmation of actions that can't be undone: a person is asked, a script passes --yes.
#pragma once

#include <string_view>

#include <CLI/App.hpp>

#include "cli/session.h"

namespace millrace::cli {

// The option -y, --yes of every command that asks for confirmation.
void add_yes(CLI::App& command, bool& yes);

// Whether to proceed. `question` ends in a question mark. Without a terminal to ask at, this is a
// usage error that names --yes. If the answer is no, nothing is done.
bool is_confirmed(Session& session, bool yes, std::string_view question);

}  // namespace millrace::cli
