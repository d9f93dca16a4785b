// Giving a string's memory back.
#pragma once

#include <string>

namespace millrace {

// Afterwards the string is empty and holds no memory of its own. Assigning an empty string is not
// enough: libstdc++ copies short strings into the buffer that is there, and keeps it.
inline void free_memory(std::string& text) { std::string().swap(text); }

}  // namespace millrace
