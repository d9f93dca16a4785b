// The instant at which the server was last known to live, in a small file: the next one gives live
// leases as much more time as nobody could be reached. Not synced: after a power failure an older
// stamp means more grace, never less.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace millrace::server {

class LivenessFile {
 public:
  // Opened at the first write.
  explicit LivenessFile(std::string path) : path_(std::move(path)) {}
  ~LivenessFile();
  LivenessFile(const LivenessFile&) = delete;
  LivenessFile& operator=(const LivenessFile&) = delete;

  // None: there is no file, or nothing that this class wrote.
  std::optional<Time> read() const;
  // One caller at a time.
  Status write(Time alive_at);

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace millrace::server
