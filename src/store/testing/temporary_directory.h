// A directory for one test, deleted after it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "base/check.h"

namespace millrace::store {

class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(
      const std::filesystem::path& where = std::filesystem::temp_directory_path())
      : path_(where / "millrace-XXXXXX") {
    MILLRACE_CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~TemporaryDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace millrace::store
