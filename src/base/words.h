// Small pieces of text for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

// "1 ready job waits", "12 ready jobs wait".
std::string count_of(std::int64_t count, std::string_view one, std::string_view many);
// Quotes `text` for a command line if a shell would split or expand it.
std::string shell_word(std::string_view text);

}  // namespace millrace
