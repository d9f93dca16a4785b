#include "store/blob.h"

#include <cstdint>
#include <cstring>

namespace millrace::store {
namespace {

template <typename Bytes>
std::string_view view_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
template <typename Bytes>
bool copy_from(std::string_view blob, Bytes& bytes) {
  if (blob.size() != bytes.size()) return false;
  std::memcpy(bytes.data(), blob.data(), blob.size());
  return true;
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = (value << 8) | static_cast<std::uint8_t>(byte);
  return value;
}

}  // namespace

std::string_view to_blob(const JobId& id) { return view_of(id.bytes); }
std::string_view to_blob(const Fingerprint& fingerprint) { return view_of(fingerprint.bytes); }
std::string_view to_blob(const Sha256& hash) { return view_of(hash); }
bool read_blob(std::string_view blob, Sha256& hash) { return copy_from(blob, hash); }
bool read_blob(std::string_view blob, JobId& id) { return copy_from(blob, id.bytes); }
bool read_blob(std::string_view blob, Fingerprint& fingerprint) {
  return copy_from(blob, fingerprint.bytes);
}

std::string to_blob(const Checksum& checksum) {
  std::string blob(16, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    blob[i] = static_cast<char>(checksum.high >> (56 - 8 * i));
    blob[8 + i] = static_cast<char>(checksum.low >> (56 - 8 * i));
  }
  return blob;
}

Result<Checksum> checksum_from(std::string_view blob) {
  if (blob.size() != 16) return failure("the value is not a checksum");
  return Checksum{big_endian(blob.substr(0, 8)), big_endian(blob.substr(8))};
}

}  // namespace millrace::store
