// Answers of the client as JSON.
#pragma once

#include <string>

#include "program.h"

namespace millrace::conformance {

// The text as sent by the server.
template <typename Value>
sdk::Result<std::string> json_of(const sdk::Result<Value>& value) {
  if (!value) return std::unexpected(value.error());
  return value->json;
}

inline sdk::Result<std::string> json_of(const sdk::Result<void>& value) {
  if (!value) return std::unexpected(value.error());
  return "{}";
}

template <typename Item>
sdk::Result<std::string> json_of(const sdk::Result<sdk::Page<Item>>& page) {
  if (!page) return std::unexpected(page.error());
  sdk::JsonWriter json;
  json.begin_object().key("items").begin_array();
  for (const Item& item : page->items) json.raw(item.json);
  json.end_array().key("next_cursor");
  page->next_cursor.empty() ? json.null() : json.string(page->next_cursor);
  return json.end_object().take();
}

}  // namespace millrace::conformance
