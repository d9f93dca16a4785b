#include "cli/bench/producer.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "base/check.h"

namespace millrace::cli {
namespace {

// Answers the requests of one connection with the given answers, one after the other.
class ScriptedServer {
 public:
  explicit ScriptedServer(std::vector<std::string> answers) : answers_(std::move(answers)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    MILLRACE_CHECK(::bind(listener_, any, size) == 0 && ::listen(listener_, 1) == 0);
    MILLRACE_CHECK(::getsockname(listener_, any, &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }
  ~ScriptedServer() { ::close(listener_); }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  ServerAddress address() const { return {"127.0.0.1", std::to_string(port_), ""}; }
  // The received bodies, once all have been answered.
  const std::vector<std::string>& bodies() {
    thread_.join();
    return bodies_;
  }

 private:
  void serve() {
    const int client = ::accept(listener_, nullptr, nullptr);
    std::string received;
    for (const std::string& answer : answers_) {
      bodies_.push_back(receive(client, received));
      const std::string text =
          fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", answer.size(), answer);
      MILLRACE_CHECK(::send(client, text.data(), text.size(), 0) ==
                     static_cast<ssize_t>(text.size()));
    }
    ::close(client);
  }

  static std::string receive(int client, std::string& received) {
    for (;;) {
      const std::size_t head = received.find("\r\n\r\n");
      const auto length = number_after(received, "Content-Length: ");
      if (head != std::string::npos && length && received.size() >= head + 4 + *length) {
        std::string body = received.substr(head + 4, *length);
        received.erase(0, head + 4 + *length);
        return body;
      }
      char buffer[4'096];
      const ssize_t size = ::recv(client, buffer, sizeof buffer, 0);
      if (size <= 0) return {};
      received.append(buffer, static_cast<std::size_t>(size));
    }
  }

  const std::vector<std::string> answers_;
  std::vector<std::string> bodies_;
  int listener_ = -1;
  int port_ = 0;
  std::jthread thread_;
};

TEST(BenchProducer, SendsAgainWhatWasRefusedForNowAndNothingElse) {
  ScriptedServer server({R"({"results":[{"status":201},{"status":503,"error":{}},{"status":201},)"
                         R"({"status":503,"error":{}}]})",
                         R"({"results":[{"status":201},{"status":201}]})"});
  LoadPlan plan{.address = server.address(),
                .token = {},
                .queues = {"q"},
                .jobs = 4,
                .producers = 1,
                .batch = 4};
  plan.delays = Delays{.first = time_from_ms(1'000), .span = Duration{100'000}, .seed = 7};
  LoadShared shared(plan);
  BenchProducer producer(shared, 0);
  ASSERT_TRUE(producer.open());
  producer.run();
  EXPECT_FALSE(shared.error());
  EXPECT_EQ(shared.submitted, 4u);
  EXPECT_EQ(shared.refused, 1u);
  const auto& bodies = server.bodies();
  ASSERT_EQ(bodies.size(), 2u);
  for (std::uint64_t job = 0; job < plan.jobs; ++job) {
    const std::string run_at = "\"run_at\":\"" + format_rfc3339(plan.delays->due(job));
    EXPECT_EQ(count(bodies[0], run_at), 1u);
    EXPECT_EQ(count(bodies[1], run_at), job % 2);
  }
}

TEST(BenchProducer, GivesUpAtAnyOtherAnswer) {
  ScriptedServer server({R"({"results":[{"status":503,"error":{}},{"status":422,"error":{}}]})"});
  const LoadPlan plan{.address = server.address(),
                      .token = {},
                      .queues = {"q"},
                      .jobs = 2,
                      .producers = 1,
                      .batch = 2};
  LoadShared shared(plan);
  BenchProducer producer(shared, 0);
  ASSERT_TRUE(producer.open());
  producer.run();
  ASSERT_TRUE(shared.error());
  EXPECT_NE(shared.error()->message.find("422"), std::string::npos);
}

}  // namespace
}  // namespace millrace::cli
