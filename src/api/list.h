// Pages of lists: `limit` and an opaque `cursor` in, `items` and `next_cursor` out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "api/bounds.h"
#include "api/problem.h"
#include "base/json_writer.h"

namespace millrace::api {

struct Page {
  std::int64_t limit = kDefaultListLimit;  // 1 to kMaxListLimit
  std::string cursor;  // empty: the first page; otherwise URL-safe characters, opaque to this room
  bool fresh = false;  // wait until the tables have everything acknowledged before
};

// The query string of a list without filters (queues, workers, a job's attempts, logs and events,
// tokens).
Decoded<Page> decode_page_query(std::string_view query_string);

// The query string of a call that takes no parameters.
Decoded<std::monostate> decode_no_query(std::string_view query_string);

// GET /readyz: `verbose`, with or without a value.
Decoded<bool> decode_verbose_query(std::string_view query_string);

// {"items": [...], "next_cursor": "..." or null}; an empty cursor is null.
template <typename Range>
void encode_list(JsonWriter& json, const Range& items, std::string_view next_cursor) {
  json.begin_object();
  json.key("items");
  json.begin_array();
  for (const auto& item : items) encode(json, item);
  json.end_array();
  json.key("next_cursor");
  if (next_cursor.empty()) {
    json.null();
  } else {
    json.string(next_cursor);
  }
  json.end_object();
}

}  // namespace millrace::api
