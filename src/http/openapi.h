// The description of the API, as JSON: docs/reference/openapi.yaml, converted at build.
#pragma once

#include <string_view>

namespace millrace::http {

std::string_view openapi_json();

}  // namespace millrace::http
