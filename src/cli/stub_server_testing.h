// A server for tests of commands, which answers as the test says.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace millrace::cli {

// Answers each request with the next answer, on a separate connection.
class StubServer {
 public:
  StubServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, any, size), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    EXPECT_EQ(::getsockname(listener_, any, &size), 0);
    url = fmt::format("http://127.0.0.1:{}", ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~StubServer() {
    ::shutdown(listener_, SHUT_RDWR);  // accept() ends
    thread_.join();
    ::close(listener_);
  }

  void answer(int status, std::string body) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(
        fmt::format("HTTP/1.1 {} x\r\nContent-Length: {}\r\nConnection: close\r\n"
                    "Content-Type: application/json\r\n\r\n{}",
                    status, body.size(), body));
  }
  // "METHOD path body" of the requests since the last call.
  std::vector<std::string> take_requests() {
    const std::lock_guard lock(mutex_);
    return std::exchange(requests_, {});
  }

  std::string url;

 private:
  void serve() {
    for (int client = 0; (client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      const std::string request = read_request(client);
      std::string answer;
      {
        const std::lock_guard lock(mutex_);
        const std::size_t line = request.find(" HTTP/1.1");
        const std::string body = request.substr(request.find("\r\n\r\n") + 4);
        requests_.push_back(request.substr(0, line) + (body.empty() ? "" : " " + body));
        if (!answers_.empty()) {
          answer = answers_.front();
          answers_.pop_front();
        }
      }
      ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::close(client);
    }
  }

  // Reads until the headers and the announced number of bytes have arrived.
  static std::string read_request(int client) {
    std::string request;
    char buffer[4'096];
    for (ssize_t got = 0; (got = ::recv(client, buffer, sizeof buffer, 0)) > 0;) {
      request.append(buffer, static_cast<std::size_t>(got));
      const std::size_t head = request.find("\r\n\r\n");
      if (head == std::string::npos) continue;
      constexpr std::string_view kLength = "Content-Length: ";
      const std::size_t at = request.find(kLength);
      const std::size_t body =
          at < head ? std::stoul(request.substr(at + kLength.size())) : std::size_t{0};
      if (request.size() >= head + 4 + body) break;
    }
    return request;
  }

  int listener_;
  std::mutex mutex_;
  std::deque<std::string> answers_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace millrace::cli
