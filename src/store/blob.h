// Ids and checksums as the bytes that columns hold.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "digest/sha256.h"
#include "store/journal.h"

namespace millrace::store {

std::string_view to_blob(const JobId& id);
std::string_view to_blob(const Fingerprint& fingerprint);
// False: the blob is not 16 bytes long.
bool read_blob(std::string_view blob, JobId& id);
bool read_blob(std::string_view blob, Fingerprint& fingerprint);
std::string_view to_blob(const Sha256& hash);
bool read_blob(std::string_view blob, Sha256& hash);  // 32 bytes

std::string to_blob(const Checksum& checksum);
Result<Checksum> checksum_from(std::string_view blob);

}  // namespace millrace::store
