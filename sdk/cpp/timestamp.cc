#include "base/time.h"
#include "millrace/job.h"

namespace millrace::sdk {

std::string write_time(Timestamp time) { return format_rfc3339(time); }
std::optional<Timestamp> read_time(std::string_view text) { return parse_rfc3339(text); }

}  // namespace millrace::sdk
