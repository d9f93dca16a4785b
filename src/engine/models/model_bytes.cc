#include "engine/models/model_bytes.h"

#include <algorithm>

#include "digest/fingerprint.h"

namespace millrace::engine {
namespace {

constexpr std::size_t kSumBytes = sizeof(Fingerprint::bytes);

std::string_view as_text(const Fingerprint& sum) {
  return {reinterpret_cast<const char*>(sum.bytes.data()), sum.bytes.size()};
}

}  // namespace

void append_number(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void append_text(std::string& out, std::string_view text) {
  append_number(out, text.size());
  out += text;
}

void append_id(std::string& out, const JobId& id) {
  out.append(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size());
}

std::string sealed(std::string blob) {
  const Fingerprint sum = fingerprint(blob);
  blob += as_text(sum);
  return blob;
}

std::optional<std::string_view> unsealed(std::string_view blob, std::string_view magic) {
  if (blob.size() < magic.size() + kSumBytes || !blob.starts_with(magic)) return std::nullopt;
  const std::string_view content = blob.substr(0, blob.size() - kSumBytes);
  if (as_text(fingerprint(content)) != blob.substr(content.size())) return std::nullopt;
  return content.substr(magic.size());
}

std::uint64_t ModelReader::number() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty() && ok_; shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  ok_ = false;
  return 0;
}

std::uint64_t ModelReader::number(std::uint64_t limit) {
  const std::uint64_t value = number();
  if (value <= limit) return value;
  ok_ = false;
  return 0;
}

std::string ModelReader::text() {
  const std::uint64_t size = number(rest_.size());
  if (!ok_ || size > rest_.size()) {
    ok_ = false;
    return {};
  }
  std::string value(rest_.substr(0, size));
  rest_.remove_prefix(size);
  return value;
}

JobId ModelReader::id() {
  JobId id;
  if (rest_.size() < id.bytes.size()) ok_ = false;
  if (!ok_) return id;
  std::copy_n(reinterpret_cast<const std::uint8_t*>(rest_.data()), id.bytes.size(),
              id.bytes.begin());
  rest_.remove_prefix(id.bytes.size());
  return id;
}

}  // namespace millrace::engine
