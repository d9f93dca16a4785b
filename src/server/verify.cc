#include "server/verify.h"

#include <fmt/format.h>

#include <cstdio>

#include "store/sqlite/maintenance.h"

namespace millrace::server {

bool verify_directory(const std::string& directory) {
  const auto report = store::verify_store(directory);
  if (!report) {
    fmt::print(stderr, "millrace: {}\n", report.error().message);
    return false;
  }
  if (!report->problems.empty()) {
    for (const std::string& problem : report->problems) {
      fmt::print(stderr, "millrace: {}\n", problem);
    }
    fmt::print(stderr, "millrace: {} is damaged: keep it as it is, and start from a backup\n",
               directory);
    return false;
  }
  fmt::print(
      "{}: sound\nstore    {}\njournal  {} rows ({} to {}), {} events\ntables   {} jobs, up to row "
      "{}\n",
      directory, report->store_id, report->rows, to_number(report->oldest),
      to_number(report->newest), report->events, report->jobs, to_number(report->projected));
  return true;
}

}  // namespace millrace::server
