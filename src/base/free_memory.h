// Releases the memory of a string or a vector.
#pragma once

namespace millrace {

// Afterwards it is empty and holds no memory of its own. Assigning {} is not enough: it empties a
// vector and keeps its buffer, and libstdc++ copies short strings into the existing one.
template <typename Container>
void free_memory(Container& all) {
  Container().swap(all);
}

}  // namespace millrace
