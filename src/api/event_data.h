// The data of an event besides its type: a JSON object.
#pragma once

#include <string>
#include <string_view>

namespace millrace::api {

// Removes the texts of an error, and adds `redacted` if it had any. Precondition: valid JSON.
std::string without_error_texts(std::string_view data);

}  // namespace millrace::api
