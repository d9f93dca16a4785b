#include "core/audit/audit_chain.h"

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/audit/audit_fields.h"

namespace millrace::core {
namespace {

void add_number(std::string& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(value >> shift));
}
void add_text(std::string& out, std::string_view text) {
  add_number(out, text.size());
  out += text;
}

template <Described Record>
std::string content_of(const Record& record);

// One overload per form of value; each appends nothing for an absent or zero value.
void add(std::string& out, const SharedBytes& value) {
  if (!value.empty()) add_text(out, value.view());
}
void add(std::string& out, Time value) {
  if (to_ms(value) != 0) add_number(out, static_cast<std::uint64_t>(to_ms(value)));
}
void add(std::string& out, Duration value) {
  if (value.count() != 0) add_number(out, static_cast<std::uint64_t>(value.count()));
}
template <typename Number>
  requires std::integral<Number> || std::is_enum_v<Number>
void add(std::string& out, Number value) {
  if (static_cast<std::int64_t>(value) != 0) {
    add_number(out, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
  }
}
template <Described Record>
void add(std::string& out, const Record& value) {
  const std::string content = content_of(value);
  if (!content.empty()) add_text(out, content);
}
template <typename Record>
void add(std::string& out, const std::shared_ptr<const Record>& value) {
  if (value != nullptr) add_text(out, content_of(*value));
}
template <typename Value>
void add(std::string& out, const std::optional<Value>& value) {
  if (!value) return;
  std::string content;
  add(content, *value);
  add_text(out, content);
}
template <typename Value>
void add(std::string& out, const std::vector<Value>& values) {
  if (values.empty()) return;
  add_number(out, values.size());
  for (const Value& value : values) {
    std::string content;
    add(content, value);
    add_text(out, content);
  }
}

template <Described Record>
std::string content_of(const Record& record) {
  std::string content;
  for_each_field<Record>([&](auto constant) {
    constexpr auto kField = constant.value;
    std::string value;
    add(value, record.*kField.member);
    if (value.empty()) return;
    add_number(content, kField.number);
    content += value;
  });
  return content;
}

}  // namespace

Sha256 chained(const Sha256& before, const AuditRow& row) {
  std::string content;
  add_number(content, static_cast<std::uint64_t>(to_ms(row.at)));
  content += content_of(row.entry);
  return sha256({reinterpret_cast<const char*>(before.data()), before.size()}, content);
}

}  // namespace millrace::core
