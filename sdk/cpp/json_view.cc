// Reads JSON for users, with the cursor that also reads the server's answers.
#include "json_fields.h"
#include "millrace/json.h"

namespace millrace::sdk {

JsonView::JsonView(std::string_view text) {
  if (is_json(text)) text_ = JsonValue(text).skip();
}

std::optional<bool> JsonView::boolean() const {
  if (text_ == "true") return true;
  if (text_ == "false") return false;
  return std::nullopt;
}

std::optional<std::int64_t> JsonView::integer() const {
  if (text_.empty()) return std::nullopt;
  return number_of<std::int64_t>(JsonValue(text_));
}

std::optional<std::uint64_t> JsonView::natural() const {
  if (text_.empty()) return std::nullopt;
  return number_of<std::uint64_t>(JsonValue(text_));
}

std::optional<double> JsonView::number() const {
  if (text_.empty()) return std::nullopt;
  return number_of<double>(JsonValue(text_));
}

std::optional<std::string> JsonView::string() const {
  if (!text_.starts_with('"')) return std::nullopt;
  std::string text;
  read(JsonValue(text_), text);
  return text;
}

std::vector<JsonView> JsonView::elements() const {
  std::vector<JsonView> elements;
  if (!is_array()) return elements;
  each_element(JsonValue(text_),
               [&elements](JsonValue element) { elements.emplace_back().text_ = element.skip(); });
  return elements;
}

std::vector<std::pair<std::string, JsonView>> JsonView::members() const {
  std::vector<std::pair<std::string, JsonView>> members;
  if (!is_object()) return members;
  each_member(JsonValue(text_), [&members](std::string_view name, JsonValue content) {
    members.emplace_back(name, JsonView()).second.text_ = content.skip();
  });
  return members;
}

JsonView JsonView::operator[](std::string_view wanted) const {
  JsonView found;
  if (!is_object()) return found;
  each_member(JsonValue(text_), [&](std::string_view name, JsonValue content) {
    if (name == wanted) found.text_ = content.skip();
  });
  return found;
}

}  // namespace millrace::sdk
