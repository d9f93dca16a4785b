#include "sim/child.h"

#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include "base/check.h"
#include "sim/cluster/cluster.h"
#include "sim/violation.h"

namespace millrace::sim {
namespace {

constexpr ::itimerval kPatience{{}, {.tv_sec = 120, .tv_usec = 0}};  // of CPU time

// The child's report, written however the child ends.
struct Report {
  Outcome outcome;
  Marks marks;
  std::uint64_t actions;
  bool found;
  std::array<char, 16> id;
  std::array<char, 4096> text;
};

// Used by the child's abort handler.
Report* dying_report = nullptr;
const Simulation* dying_world = nullptr;

template <std::size_t N>
void put(std::array<char, N>& to, std::string_view text) {
  const std::size_t size = std::min(text.size(), N - 1);
  std::memcpy(to.data(), text.data(), size);
  to[size] = '\0';
}

void note_position(int) {
  if (dying_world != nullptr) dying_report->actions = dying_world->actions_begun();
}

std::unique_ptr<Simulation> make_world(const Plan& plan, Marks& marks, Story& story) {
  if (plan.nodes > 1) return std::make_unique<Cluster>(plan, marks, story);
  return std::make_unique<World>(plan, marks, story);
}

void run_child(const Plan& plan, Telling telling, Report& report) {
  ::setitimer(ITIMER_PROF, &kPatience, nullptr);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // an abort must not lose buffered story lines
  Marks marks;
  Story story(telling == Telling::kStory ? stdout : nullptr);
  const std::unique_ptr<Simulation> world = make_world(plan, marks, story);
  dying_report = &report;
  dying_world = world.get();
  struct sigaction action{};
  action.sa_handler = &note_position;
  ::sigaction(SIGABRT, &action, nullptr);
  try {
    report.outcome = world->run();
  } catch (const Violation& violation) {
    report.found = true;
    put(report.id, violation.id);
    put(report.text, violation.text);
  }
  report.actions = world->actions_begun();
  report.marks = marks;
  std::fflush(stdout);
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> chunk{};
  ::lseek(fd, 0, SEEK_SET);
  for (ssize_t size = 0; (size = ::read(fd, chunk.data(), chunk.size())) > 0;) {
    text.append(chunk.data(), static_cast<std::size_t>(size));
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

Finding finding_of(const Report& report, int status, int complaints) {
  if (report.found) return {report.id.data(), report.text.data(), report.actions};
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) {
    return {"HANG", "the life does not end", report.actions};
  }
  return {"CHECK", read_all(complaints), report.actions};
}

}  // namespace

Life live(const Plan& plan, Telling telling) {
  void* shared =
      ::mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  MILLRACE_CHECK(shared != MAP_FAILED);
  auto* report = new (shared) Report{};
  const int complaints = ::memfd_create("complaints", MFD_CLOEXEC);
  MILLRACE_CHECK(complaints >= 0);
  std::fflush(stdout);
  const pid_t child = ::fork();
  MILLRACE_CHECK(child >= 0);
  if (child == 0) {
    ::dup2(complaints, STDERR_FILENO);
    run_child(plan, telling, *report);
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  Life life{report->outcome, report->marks, {}};
  if (report->found || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    life.finding = finding_of(*report, status, complaints);
  }
  ::close(complaints);
  ::munmap(shared, sizeof(Report));
  return life;
}

}  // namespace millrace::sim
