#include "service/names_cursor.h"

#include "base/hex.h"

namespace millrace::service {

std::string name_cursor(std::string_view name) { return to_hex(name); }

std::optional<std::string> parse_name_cursor(std::string_view cursor) { return from_hex(cursor); }

api::Problem bad_cursor() {
  return api::make_fault(api::FieldError::Place::kParameter, "cursor",
                         "is not a cursor of this list; start again without a cursor");
}

}  // namespace millrace::service
