// Sockets of the file system: "unix:/run/millrace.sock". Only processes of this machine that may
// open the file reach them.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace millrace::net {

// Opens a socket there, with the permissions `mode`, and listens. What a dead server left is
// replaced; where one listens, or something else lies there, it is refused.
Result<int> listen_at(const std::string& path, mode_t mode, int backlog);
// Whether that could be done now; nothing is left behind.
Status can_listen_at(const std::string& path);
// Removes the file if it is the listener's still.
void remove_listener(const std::string& path, int descriptor);
// "unix:" and the number of the other side's user.
std::string user_of(int descriptor);

}  // namespace millrace::net
