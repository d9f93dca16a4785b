// A copy of a running store.
#pragma once

#include <string>

#include "base/result.h"

namespace millrace::store {

// Thread-safe, one call at a time; may run beside appends and flushes.
class Backup {
 public:
  virtual ~Backup() = default;

  // Copies the store to `directory`, which must be empty or not exist. On return the copy is
  // complete, synced and verified. On an error it removes what it has written. The caller must not
  // call Journal::trim during the copy.
  virtual Status backup_to(const std::string& directory) = 0;
};

}  // namespace millrace::store
