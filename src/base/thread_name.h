// Thread names, as shown by `top -H`, `perf` and debuggers.
#pragma once

namespace millrace {

// Names the calling thread; at most 15 bytes are kept.
void name_this_thread(const char* name);

}  // namespace millrace
