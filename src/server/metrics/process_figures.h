// The system's figures about this process.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace millrace::server {

struct ProcessFigures {
  double cpu_seconds = 0;  // user and system
  std::uint64_t resident_bytes = 0;
  std::uint64_t open_files = 0;
  std::uint64_t max_open_files = 0;
  std::uint64_t threads = 0;
};

// Figures that can't be read are zero.
ProcessFigures read_process_figures();

}  // namespace millrace::server
