// Releases a string's memory.
#pragma once

#include <string>

namespace millrace {

// Afterwards the string is empty and holds no memory of its own. Assigning an empty string is not
// enough: libstdc++ copies short strings into the existing buffer and keeps it.
inline void free_memory(std::string& text) { std::string().swap(text); }

}  // namespace millrace
