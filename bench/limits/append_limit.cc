// Measures how many lifecycles a second a file accepts if each step is appended and synced by the
// batch, and nothing else is done.
//
//     append_limit FILE JOBS BATCH PAYLOAD
#include <fcntl.h>
#include <unistd.h>

#include "limit_program.h"

namespace millrace::bench {
namespace {

void append(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written <= 0) fail("the file takes no more");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fdatasync(file) != 0) fail("fdatasync failed");
}

void run(const char* path, std::uint64_t jobs, std::size_t batch, std::size_t payload) {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) fail(fmt::format("cannot make {}", path));
  const auto steps = lifecycle_batches(batch, payload);
  std::uint64_t done = 0;
  const Stopwatch watch;
  while (done < jobs) {
    for (const std::string& step : steps) append(file, step);
    done += batch;
  }
  report("lifecycles_per_s", done, watch.seconds());
  ::close(file);
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  using namespace millrace::bench;
  if (argc != 5) fail("usage: append_limit FILE JOBS BATCH PAYLOAD");
  run(argv[1], number(argv[2]), number(argv[3]), number(argv[4]));
}
