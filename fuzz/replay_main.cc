// Runs a fuzz target over the files of its corpus, without libFuzzer, so that every build checks
// the inputs that fuzzers once found.
//
//   fuzz_<name> FILE-OR-DIRECTORY...
//
// Prints each file's name before running it: if a target stops, the last name is the culprit.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

// A failed CHECK gives an exit code instead of a signal, so that a test can expect it.
extern "C" void on_abort(int) { ::_exit(1); }

std::vector<std::filesystem::path> files_of(int count, char** arguments) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < count; ++i) {
    if (!std::filesystem::is_directory(arguments[i])) {
      files.emplace_back(arguments[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(arguments[i])) {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::filesystem::path> files = files_of(count, arguments);
  if (files.empty()) {
    std::fprintf(stderr, "usage: %s FILE-OR-DIRECTORY...   (nothing to run)\n", arguments[0]);
    return 2;
  }
  std::signal(SIGABRT, &on_abort);
  for (const auto& file : files) {
    std::puts(file.c_str());
    std::fflush(stdout);
    std::ifstream stream(file, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
    if (!stream) {
      std::fputs("it can't be read\n", stderr);
      return 2;
    }
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%zu inputs\n", files.size());
  return 0;
}
