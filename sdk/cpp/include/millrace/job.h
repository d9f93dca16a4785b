// Jobs: a producer's submissions, and the server's reports about them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/error.h"
#include "millrace/shapes.h"

namespace millrace::sdk {

// RFC 3339 in UTC with milliseconds: 2026-03-01T09:30:00.000Z.
std::string write_time(Timestamp time);
// Accepts any offset; none if `text` is not RFC 3339.
std::optional<Timestamp> read_time(std::string_view text);

struct Submitted {
  Job job{};
  bool is_new = true;  // false: it already existed, by id, idempotency key or unique key
};

// The result of one job of a batch. `error` is set if the job was refused.
struct BatchItem {
  int status = 0;
  std::string id{};
  std::string state{};
  std::optional<Error> error{};
};

struct Batch {
  std::vector<BatchItem> items{};  // in the order of the request
  std::string json{};
};

// The jobs to list. Empty members do not filter.
struct JobFilter {
  std::vector<std::string> states{};
  std::string queue{};
  std::string type{};
  std::string tag{};
  std::optional<Timestamp> created_after{};
  std::optional<Timestamp> created_before{};
  std::string query{};                 // a search expression: "state:dead error~timeout"
  std::vector<std::string> include{};  // "payload", "result"
  bool fresh = false;                  // wait until the list includes all acknowledged changes
  int limit = 50;                      // of a page, 1 to 1,000
  std::string cursor{};                // `next_cursor` of the previous page
};

// One page of a list. An empty `next_cursor` means that this is the last one.
template <typename Item>
struct Page {
  std::vector<Item> items{};
  std::string next_cursor{};
};

}  // namespace millrace::sdk
