// Unix sockets: "unix:/run/millrace.sock". Only processes of this machine that may open the file
// can connect.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace millrace::net {

// Creates a socket at `path` with the permissions `mode` and listens. A dead server's socket is
// replaced. Fails if a server listens there or another kind of file exists.
Result<int> listen_at(const std::string& path, mode_t mode, int backlog);
// Checks whether listen_at() would succeed now; leaves nothing behind.
Status can_listen_at(const std::string& path);
// Removes the file if it is still the listener's.
void remove_listener(const std::string& path, int descriptor);
// "unix:" and the peer's numeric user id.
std::string user_of(int descriptor);

}  // namespace millrace::net
