// What an event says beside its type: a JSON object.
#pragma once

#include <string>
#include <string_view>

namespace millrace::api {

// The same without the texts of an error, which then says `redacted`. Precondition: valid JSON.
std::string without_error_texts(std::string_view data);

}  // namespace millrace::api
