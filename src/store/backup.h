// A copy of a running store.
#pragma once

#include <string>

#include "base/result.h"

namespace millrace::store {

// Any thread, one call at a time, beside appends and flushes.
class Backup {
 public:
  virtual ~Backup() = default;

  // Copies the store as it stands to `directory`, which must be empty or not there: whole, synced
  // and verified on return. On an error what was written so far is removed. Journal::trim must not
  // be called meanwhile.
  virtual Status backup_to(const std::string& directory) = 0;
};

}  // namespace millrace::store
