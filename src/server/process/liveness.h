// A small file with the last time at which the server is known to have lived. The next server
// extends live leases by the time in which no server could be reached. Not synced: after a power
// failure an older time means a longer extension, never a shorter one.
#pragma once

#include <optional>
#include <string>

#include "base/file.h"
#include "base/result.h"
#include "base/time.h"

namespace millrace::server {

class LivenessFile {
 public:
  // The first write opens the file.
  explicit LivenessFile(std::string path) : path_(std::move(path)) {}

  // None: the file does not exist or its content is invalid.
  std::optional<Time> read() const;
  // One caller at a time.
  Status write(Time alive_at);

 private:
  std::string path_;
  std::optional<Descriptor> file_;
};

}  // namespace millrace::server
