#include "server/process/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using Woken = StopSignals::Woken;

// Runs in a child process, since it changes the process permanently. The exit status is the result.
template <typename Body>
int in_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Process, IsPrepared) {
  EXPECT_EQ(in_child([] {
              prepare_process();
              rlimit files{};
              ::getrlimit(RLIMIT_NOFILE, &files);
              return ::umask(0) == 077 && ::prctl(PR_GET_DUMPABLE) == 0 &&
                     ::signal(SIGPIPE, SIG_DFL) == SIG_IGN &&
                     ::signal(SIGXFSZ, SIG_DFL) == SIG_IGN && files.rlim_cur == files.rlim_max;
            }),
            0);
}

TEST(StopSignals, SignalsBellAndTimeout) {
  EXPECT_EQ(in_child([] {
              StopSignals signals;
              const auto soon = [] { return std::chrono::steady_clock::now() + 10ms; };
              if (signals.wait(soon()) != Woken::kTimeout) return false;
              ::kill(::getpid(), SIGTERM);
              if (signals.wait() != Woken::kSignal) return false;
              ::kill(::getpid(), SIGINT);
              if (signals.wait() != Woken::kSignal) return false;
              ::kill(::getpid(), SIGHUP);
              if (signals.wait() != Woken::kSignal) return false;
              signals.ring();  // before anyone waits
              if (signals.wait() != Woken::kBell) return false;
              std::thread ringer([&] {
                std::this_thread::sleep_for(20ms);
                signals.ring();
              });
              const Woken woken = signals.wait(std::chrono::steady_clock::now() + 10s);
              ringer.join();
              return woken == Woken::kBell && signals.wait(soon()) == Woken::kTimeout;
            }),
            0);
}

TEST(StopSignals, AHangUpMayMeanToReadTheConfigurationAgain) {
  EXPECT_EQ(in_child([] {
              StopSignals signals(Hangup::kReload);
              ::kill(::getpid(), SIGHUP);
              if (signals.wait() != Woken::kReload) return false;
              ::kill(::getpid(), SIGTERM);
              return signals.wait() == Woken::kSignal;
            }),
            0);
}

TEST(StopSignals, AHangUpThatIsIgnoredStaysSo) {
  EXPECT_EQ(in_child([] {
              ::signal(SIGHUP, SIG_IGN);
              StopSignals signals;
              ::kill(::getpid(), SIGHUP);
              return signals.wait(std::chrono::steady_clock::now() + 50ms) == Woken::kTimeout;
            }),
            0);
}

}  // namespace
}  // namespace millrace::server
