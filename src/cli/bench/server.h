// The bench's own server, used if the user names none: this binary's `serve` with its defaults, on
// a free port, with a store that is deleted at the end.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace millrace::cli {

class OwnServer {
 public:
  // `parent`: the folder in which the store's folder is created; empty: TMPDIR, else /tmp.
  // `memory`: the server's --memory; empty: its default. Returns when the server is ready.
  static Result<std::unique_ptr<OwnServer>> start(const std::string& parent,
                                                  const std::string& memory);
  // Stops the server and removes its folder.
  ~OwnServer();
  OwnServer(const OwnServer&) = delete;
  OwnServer& operator=(const OwnServer&) = delete;

  const std::string& url() const { return url_; }
  const std::string& folder() const { return folder_; }
  // Whether its files are on an in-memory file system, where a sync is free and makes nothing
  // durable.
  bool is_in_memory() const;

 private:
  explicit OwnServer(std::string folder) : folder_(std::move(folder)) {}

  Status spawn(const std::string& memory);
  Status wait_until_it_listens();
  std::string log() const;

  std::string folder_;
  std::string url_;
  pid_t pid_ = -1;
};

// The address that `serve` logs when it listens; empty if it has not logged it yet.
std::string listening_url(const std::string& log);

}  // namespace millrace::cli
