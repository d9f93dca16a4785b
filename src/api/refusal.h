// What the client reads about a refusal.
#pragma once

#include <string_view>

#include "terms/refusal.h"

namespace millrace::api {

// Says what is wrong and what to do next. Empty: kNone.
std::string_view sentence_of(terms::RefusalDetail detail);

}  // namespace millrace::api
