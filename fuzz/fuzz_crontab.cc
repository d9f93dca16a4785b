// Any bytes as a crontab, in both forms. Each line is an entry, a fault or neither. An entry has an
// expression that schedules accept, and a payload that the worker reads as the same command.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "calendar/cron_parser.h"
#include "cli/schedule/crontab.h"
#include "cli/schedule/import.h"
#include "cli/shell_job.h"

namespace {

using namespace millrace;
using namespace millrace::cli;

void check_entry(const CrontabEntry& entry, CrontabForm form) {
  MILLRACE_CHECK(calendar::parse_cron(entry.cron).has_value());
  MILLRACE_CHECK(!entry.command.empty());
  MILLRACE_CHECK(entry.user.empty() == (form == CrontabForm::kUser));
  MILLRACE_CHECK(entry.environment.size() <= kMaxCrontabVariables);
  MILLRACE_CHECK(!entry.input || entry.input->empty() || entry.input->ends_with('\n'));
  MILLRACE_CHECK(!program_of(entry.command).empty());
}

void check_import(const Crontab& crontab) {
  const ImportDefaults defaults{
      .timezone = "UTC", .queue = "crontab", .type = "crontab", .prefix = {}, .schedule = {}};
  const auto imported = import_crontab(crontab.entries, defaults);
  if (!imported) {
    MILLRACE_CHECK(!imported.error().empty());
    return;
  }
  MILLRACE_CHECK(imported->size() == crontab.entries.size());
  for (std::size_t i = 0; i < imported->size(); ++i) {
    const CrontabEntry& entry = crontab.entries[i];
    const auto job = parse_shell_payload((*imported)[i].schedule.job.payload);
    MILLRACE_CHECK(job.has_value());
    MILLRACE_CHECK(job->command == entry.command);
    MILLRACE_CHECK(job->input == entry.input.value_or(""));
    MILLRACE_CHECK(job->environment == entry.environment);
    if (!entry.shell.empty()) MILLRACE_CHECK(job->shell == entry.shell);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> memory(data, data + size);
  const std::string_view text(memory.data(), size);
  for (const CrontabForm form : {CrontabForm::kUser, CrontabForm::kSystem}) {
    const Crontab crontab = parse_crontab(text, form);
    std::size_t line = 0;
    for (const CrontabEntry& entry : crontab.entries) {
      MILLRACE_CHECK(entry.line > line);
      line = entry.line;
      check_entry(entry, form);
    }
    for (const FileFault& fault : crontab.faults) {
      MILLRACE_CHECK(!fault.message.empty());
      for (const CrontabEntry& entry : crontab.entries) MILLRACE_CHECK(entry.line != fault.line);
    }
    check_import(crontab);
  }
  return 0;
}
