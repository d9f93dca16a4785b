#include "api/list.h"

#include "api/parameters.h"

namespace millrace::api {
namespace {

constexpr Parameter<Page> kPageParameters[] = {
    {"limit", [](const Argument& a, Page& page) { take_integer(a, 1, kMaxListLimit, page.limit); }},
    {"cursor", [](const Argument& a, Page& page) { take_cursor(a, page.cursor); }},
    {"fresh", [](const Argument& a, Page& page) { take_boolean(a, page.fresh); }},
};

constexpr Parameter<bool> kVerboseParameters[] = {
    {"verbose",
     [](const Argument& a, bool& verbose) {
       verbose = true;
       if (!a.value.empty() && a.value != "1") take_boolean(a, verbose);
     }},
};

}  // namespace

Decoded<Page> decode_page_query(std::string_view query_string) {
  return decode_parameters<Page>(query_string, kPageParameters);
}

Decoded<std::monostate> decode_no_query(std::string_view query_string) {
  return decode_parameters<std::monostate>(query_string, {});
}

Decoded<bool> decode_verbose_query(std::string_view query_string) {
  return decode_parameters<bool>(query_string, kVerboseParameters);
}

}  // namespace millrace::api
