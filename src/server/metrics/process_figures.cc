#include "server/metrics/process_figures.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace millrace::server {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::uint64_t entries_of(const char* directory) {
  std::error_code error;
  std::uint64_t entries = 0;
  for (auto at = std::filesystem::directory_iterator(directory, error);
       !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    ++entries;
  }
  return entries;
}

}  // namespace

ProcessFigures read_process_figures() {
  ProcessFigures figures;
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    figures.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) figures.max_open_files = files.rlim_cur;
  std::uint64_t size_pages = 0;
  std::uint64_t resident_pages = 0;
  if (std::ifstream("/proc/self/statm") >> size_pages >> resident_pages) {
    figures.resident_bytes = resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }
  figures.open_files = entries_of("/proc/self/fd");
  figures.threads = entries_of("/proc/self/task");
  return figures;
}

}  // namespace millrace::server
