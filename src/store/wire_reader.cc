#include "store/wire_reader.h"

#include <fmt/format.h>

#include "store/value_fields.h"

namespace millrace::store {

std::string WireReader::problem() const { return fmt::format("{} {}", problem_, problem_field_); }

void WireReader::fail(const char* problem) { fail_at(next_field(), problem); }

void WireReader::fail_at(int field, const char* problem) {
  if (problem_ == nullptr) {
    problem_ = problem;
    problem_field_ = field;
  }
  next_ = 0;
  end_ = position_;
}

std::uint32_t WireReader::read_key() {
  const std::uint64_t key = read_varint();
  if (key >> 3 == 0 || key > std::numeric_limits<std::uint32_t>::max()) {
    fail("not a field's key, after field");
    return 0;
  }
  return static_cast<std::uint32_t>(key);
}

std::uint64_t WireReader::read_long_varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && position_ != end_; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(*position_++);
    // The tenth byte holds one bit.
    if (shift == 63 && byte > 1) break;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail("cut short, or no number: field");
  return 0;
}

std::uint64_t WireReader::finish_fixed() {
  std::uint64_t value = 0;
  if (end_ - position_ < static_cast<std::ptrdiff_t>(sizeof value)) {
    fail("cut short in field");
    return 0;
  }
  for (std::size_t i = 0; i < sizeof value; ++i) {
    value |= std::uint64_t{static_cast<std::uint8_t>(*position_++)} << (8 * i);
  }
  advance();
  return value;
}

void WireReader::durations(int field, std::vector<Duration>& values) {
  values.clear();
  if (!take(field, WireType::kLengthDelimited)) return;
  const std::string_view packed = read_bytes();
  if (!ok()) return;
  const char* const outer_end = std::exchange(end_, position_);
  position_ = packed.data();
  while (ok() && position_ != end_) {
    values.emplace_back(static_cast<std::int64_t>(read_varint()));
  }
  if (!ok()) return;
  end_ = outer_end;
  advance();
}

void WireReader::bytes_list(int field, std::optional<std::vector<SharedBytes>>& values) {
  values.reset();
  std::string_view body;
  if (!take_raw(field, body)) return;
  WireReader list(body, base_);
  list.bytes(1, values.emplace());
  list.expect_end();
  if (!list.ok()) fail_at(field, "damaged list: field");
}

void WireReader::name(int field, SharedBytes& value) {
  std::uint32_t reference = 0;
  number(field, reference);
  value = SharedBytes();
  if (reference == 0) return;
  if (shared_ == nullptr || reference > shared_->names.size()) {
    fail_at(field, "no such name: field");
    return;
  }
  value = shared_->names[reference - 1];
}

void WireReader::policy(int field, std::shared_ptr<const core::RetryPolicy>& value) {
  std::uint32_t reference = 0;
  number(field, reference);
  if (!ok()) return;
  if (shared_ == nullptr || reference == 0 || reference > shared_->policies.size()) {
    fail_at(field, "no such retry policy: field");
    return;
  }
  value = shared_->policies[reference - 1];
}

void WireReader::message(int field, std::shared_ptr<const core::RetryPolicy>& value) {
  core::RetryPolicy policy;
  message(field, policy);
  value = share(std::move(policy));
}

}  // namespace millrace::store
