#include "store/wire_reader.h"

#include "store/record_wire.h"

namespace millrace::store {

void WireReader::durations(int field, std::vector<Duration>& values) {
  values.clear();
  if (!take(field, WireType::kLengthDelimited)) return;
  finish_packed(
      [&](std::uint64_t value) { values.emplace_back(static_cast<std::int64_t>(value)); });
}

void WireReader::numbers(int field, std::vector<std::uint32_t>& values) {
  values.clear();
  if (!take(field, WireType::kLengthDelimited)) return;
  finish_packed([&](std::uint64_t value) { values.push_back(narrow<std::uint32_t>(value)); });
}

void WireReader::bytes_list(int field, std::optional<std::vector<SharedBytes>>& values) {
  values.reset();
  std::string_view body;
  if (!take_raw(field, body)) return;
  WireReader list(body, base_);
  list.bytes(1, values.emplace());
  list.expect_end();
  if (!list.ok()) fail_at(field, "damaged list in field");
}

void WireReader::name(int field, SharedBytes& value) {
  std::uint32_t reference = 0;
  number(field, reference);
  value = SharedBytes();
  if (reference == 0) return;
  if (shared_ == nullptr || reference > shared_->names.size()) {
    fail_at(field, "unknown name in field");
    return;
  }
  value = shared_->names[reference - 1];
}

void WireReader::policy(int field, std::shared_ptr<const core::RetryPolicy>& value) {
  std::uint32_t reference = 0;
  number(field, reference);
  if (!ok()) return;
  if (shared_ == nullptr || reference == 0 || reference > shared_->policies.size()) {
    fail_at(field, "unknown retry policy in field");
    return;
  }
  value = shared_->policies[reference - 1];
}

void WireReader::own_policy(int field, std::shared_ptr<const core::RetryPolicy>& value) {
  std::optional<core::RetryPolicy> read;
  message(field, read);
  value = read ? share(std::move(*read)) : nullptr;
}

void WireReader::message(int field, std::shared_ptr<const core::RetryPolicy>& value) {
  core::RetryPolicy policy;
  message(field, policy);
  value = share(std::move(policy));
}

}  // namespace millrace::store
