// Reading pages of lists: {"items": [...], "next_cursor": ...}.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "json_fields.h"
#include "millrace/error.h"
#include "millrace/job.h"

namespace millrace::sdk {

inline Error bad_answer(std::string_view what) {
  Error error;
  error.kind = ErrorKind::kBadAnswer;
  error.code = "bad_answer";
  error.message = fmt::format(
      "the server's answer is not {}; check that the address is a Millrace server", what);
  return error;
}

// `read_item(value, item)` reads one item. Each item keeps its own text, so that it can be passed
// on unchanged.
template <typename Item, typename ReadItem>
Result<Page<Item>> read_page(std::string_view json, std::string_view what, ReadItem read_item) {
  Page<Item> page;
  bool has_items = false;
  bool items_read = true;
  const bool read_all = with_document(json, [&](JsonValue root) {
    return each_member(root, [&](std::string_view name, JsonValue content) {
      if (name == "next_cursor") read(content, page.next_cursor);
      if (name != "items") return;
      has_items = each_element(content, [&](JsonValue element) {
        Item item;
        item.json = raw_text(element);
        items_read = read_item(element, item) && items_read;
        page.items.push_back(std::move(item));
      });
    });
  });
  if (!read_all || !has_items || !items_read) return std::unexpected(bad_answer(what));
  return page;
}

// The same of items that have a read_members().
template <Structure Item>
Result<Page<Item>> read_list(std::string_view json, std::string_view what) {
  return read_page<Item>(json, what,
                         [](JsonValue value, Item& item) { return read_members(value, item); });
}

}  // namespace millrace::sdk
