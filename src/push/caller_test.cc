#include "push/caller.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

#include "base/check.h"

namespace millrace::push {
namespace {

using std::chrono_literals::operator""ms;
using How = CallEnd::How;

// A receiver on loopback that answers each connection's first request with fixed bytes.
class Receiver {
 public:
  explicit Receiver(std::string answer, std::chrono::milliseconds delay = 0ms)
      : answer_(std::move(answer)), delay_(delay) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    MILLRACE_CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    MILLRACE_CHECK(::listen(listener_, 64) == 0);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Receiver() {
    over_ = true;
    thread_.join();
    ::close(listener_);
  }

  std::uint16_t port() const { return port_; }
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    while (!over_) {
      pollfd waits{listener_, POLLIN, 0};
      if (::poll(&waits, 1, 20) <= 0) continue;
      const int client = ::accept(listener_, nullptr, nullptr);
      std::string request;
      std::array<char, 4096> buffer{};
      // These tests' requests end with the last bracket of the body.
      while (!request.ends_with('}')) {
        const ssize_t count = ::recv(client, buffer.data(), buffer.size(), 0);
        if (count <= 0) break;
        request.append(buffer.data(), static_cast<std::size_t>(count));
      }
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      for (auto waited = 0ms; waited < delay_ && !over_; waited += 10ms) {
        std::this_thread::sleep_for(10ms);
      }
      ::send(client, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      ::close(client);
    }
  }

  const std::string answer_;
  const std::chrono::milliseconds delay_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> over_ = false;
  std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

std::string with_body(std::string_view head, std::string_view body) {
  return std::string(head) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

AddressPolicy loopback_permitted() {
  AddressPolicy policy;
  policy.allow_http = true;
  policy.allow = {*parse_network("127.0.0.0/8")};
  return policy;
}

Call call_to(const std::string& url) {
  const auto parsed = parse_url(url);
  EXPECT_TRUE(parsed.has_value());
  return {.number = 7,
          .url = *parsed,
          .headers = {{"content-type", "application/json"}, {"ce-id", "x"}},
          .body = SharedBytes(R"({"a":1})"),
          .timeout = Duration{2'000},
          .max_answer_bytes = 100};
}

std::string url_of(const Receiver& receiver) {
  return "http://127.0.0.1:" + std::to_string(receiver.port()) + "/hook?a=b";
}

CallEnd only_end(Caller& caller) {
  std::vector<CallEnd> ends;
  for (int i = 0; i < 100 && ends.empty(); ++i) ends = caller.wait(Duration{100});
  EXPECT_EQ(ends.size(), 1U);
  return ends.empty() ? CallEnd() : ends.front();
}

CallEnd call(Call call, const AddressPolicy& policy = loopback_permitted()) {
  const auto caller = make_curl_caller(policy, "millrace-test");
  caller->start(std::move(call));
  return only_end(*caller);
}

TEST(Caller, PostsTheBodyAndReadsTheAnswer) {
  Receiver receiver(with_body("HTTP/1.1 503 Busy\r\nRetry-After:  7 \r\n", "later"));
  const CallEnd end = call(call_to(url_of(receiver)));
  EXPECT_EQ(end.number, 7U);
  EXPECT_EQ(end.how, How::kAnswered) << end.reason;
  EXPECT_EQ(end.status, 503);
  EXPECT_EQ(end.retry_after, "7");
  EXPECT_EQ(end.body, "later");
  ASSERT_EQ(receiver.requests().size(), 1U);
  const std::string request = receiver.requests().front();
  EXPECT_TRUE(request.starts_with("POST /hook?a=b HTTP/1.1\r\n")) << request;
  EXPECT_TRUE(request.ends_with("\r\n\r\n{\"a\":1}")) << request;
  EXPECT_NE(request.find("ce-id: x\r\n"), std::string::npos);
  EXPECT_NE(request.find("User-Agent: millrace-test\r\n"), std::string::npos);
  EXPECT_EQ(request.find("Accept-Encoding"), std::string::npos);
  EXPECT_EQ(request.find("Expect"), std::string::npos);
}

TEST(Caller, ForbiddenAddressesAreNotConnectedTo) {
  Receiver receiver(with_body("HTTP/1.1 200 OK\r\n", ""));
  AddressPolicy policy;
  policy.allow_http = true;
  for (const std::string host : {"127.0.0.1", "localhost"}) {
    const CallEnd end =
        call(call_to("http://" + host + ":" + std::to_string(receiver.port()) + "/"), policy);
    EXPECT_EQ(end.how, How::kForbidden) << host << ": " << end.reason;
    EXPECT_NE(end.reason.find("loopback"), std::string::npos) << end.reason;
  }
  EXPECT_TRUE(receiver.requests().empty());
}

TEST(Caller, RedirectsAreNotFollowed) {
  Receiver other(with_body("HTTP/1.1 200 OK\r\n", ""));
  Receiver receiver(with_body("HTTP/1.1 302 Found\r\nLocation: " + url_of(other) + "\r\n", ""));
  EXPECT_EQ(call(call_to(url_of(receiver))).status, 302);
  EXPECT_TRUE(other.requests().empty());
}

TEST(Caller, TheEnvironmentsProxyIsNotUsed) {
  Receiver proxy(with_body("HTTP/1.1 200 OK\r\n", ""));
  ::setenv("http_proxy", url_of(proxy).c_str(), 1);
  ::setenv("ALL_PROXY", url_of(proxy).c_str(), 1);
  Receiver receiver(with_body("HTTP/1.1 204 No\r\n", ""));
  EXPECT_EQ(call(call_to(url_of(receiver))).status, 204);
  ::unsetenv("http_proxy");
  ::unsetenv("ALL_PROXY");
  EXPECT_TRUE(proxy.requests().empty());
}

TEST(Caller, LongBodiesAreCut) {
  Receiver fits(with_body("HTTP/1.1 200 OK\r\n", std::string(100, 'x')));
  CallEnd end = call(call_to(url_of(fits)));
  EXPECT_FALSE(end.is_cut);
  EXPECT_EQ(end.body.size(), 100U);
  Receiver longer(with_body("HTTP/1.1 200 OK\r\n", std::string(101, 'x')));
  end = call(call_to(url_of(longer)));
  EXPECT_EQ(end.how, How::kAnswered) << end.reason;
  EXPECT_EQ(end.status, 200);
  EXPECT_TRUE(end.is_cut);
  EXPECT_EQ(end.body.size(), 100U);
}

TEST(Caller, CompressedBodiesStayAsTheyAre) {
  Receiver receiver(with_body("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n", "\x1f\x8b no"));
  EXPECT_EQ(call(call_to(url_of(receiver))).body, "\x1f\x8b no");
}

TEST(Caller, ALongHeadIsNoAnswer) {
  Receiver receiver(
      with_body("HTTP/1.1 200 OK\r\nX: " + std::string(kMaxAnswerHeadBytes, 'x') + "\r\n", ""));
  const CallEnd end = call(call_to(url_of(receiver)));
  EXPECT_EQ(end.how, How::kBroken);
  EXPECT_NE(end.reason.find("32KiB"), std::string::npos) << end.reason;
}

// A line that libcurl itself finds too long, before anybody sees it.
TEST(Caller, AnEndlessLineOfTheHeadIsNamedAsSuch) {
  Receiver receiver(
      with_body("HTTP/1.1 200 OK\r\nX: " + std::string(1024 * 1024, 'x') + "\r\n", ""));
  const CallEnd end = call(call_to(url_of(receiver)));
  EXPECT_EQ(end.how, How::kBroken);
  EXPECT_EQ(end.reason, "the head of the receiver's answer exceeds 32KiB");
}

TEST(Caller, AnAnswerHasOneLength) {
  const auto answered = [](const std::string& lengths) {
    Receiver receiver("HTTP/1.1 200 OK\r\n" + lengths + "\r\nabcdef");
    return call(call_to(url_of(receiver)));
  };
  for (const char* const lengths :
       {"Content-Length: 3\r\nContent-Length: 6\r\n", "Content-Length: 6\r\ncontent-length: 3\r\n",
        "Content-Length: 3, 6\r\n", "Content-Length: +6\r\n", "Content-Length: 6x\r\n",
        "Content-Length: \r\n"}) {
    EXPECT_EQ(answered(lengths).how, How::kBroken) << lengths;
  }
  for (const char* const lengths :
       {"Content-Length: 6\r\nContent-Length: 6\r\n", "Content-Length:  6 \r\n", ""}) {
    const CallEnd end = answered(lengths);
    EXPECT_EQ(end.how, How::kAnswered) << lengths << end.reason;
    EXPECT_EQ(end.body, "abcdef");
  }
  // An interim answer's length is none of the last one's.
  Receiver receiver("HTTP/1.1 103 Hints\r\nContent-Length: 0\r\n\r\n" +
                    with_body("HTTP/1.1 200 OK\r\n", "abc"));
  EXPECT_EQ(call(call_to(url_of(receiver))).body, "abc");
}

TEST(Caller, WhatIsNoWholeAnswerIsBroken) {
  for (const std::string answer :
       {"", "garbage\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    Receiver receiver(answer);
    const CallEnd end = call(call_to(url_of(receiver)));
    EXPECT_EQ(end.how, How::kBroken) << answer << " " << end.status;
    EXPECT_FALSE(end.reason.empty());
  }
}

TEST(Caller, TimesOut) {
  Receiver receiver(with_body("HTTP/1.1 200 OK\r\n", ""), 5'000ms);
  Call slow = call_to(url_of(receiver));
  slow.timeout = Duration{200};
  const CallEnd end = call(std::move(slow));
  EXPECT_EQ(end.how, How::kTimedOut);
  EXPECT_EQ(end.reason, "the receiver did not answer within 200ms");
}

TEST(Caller, NobodyListens) {
  std::uint16_t port = 0;
  {
    const Receiver receiver("");
    port = receiver.port();
  }
  const CallEnd end = call(call_to("http://127.0.0.1:" + std::to_string(port) + "/"));
  EXPECT_EQ(end.how, How::kUnreachable);
  EXPECT_EQ(call(call_to("http://no.such.host.invalid/")).how, How::kUnreachable);
}

TEST(Caller, ACancelledCallHasNoEndAndAWaitCanBeWoken) {
  Receiver receiver(with_body("HTTP/1.1 200 OK\r\n", ""), 5'000ms);
  const auto caller = make_curl_caller(loopback_permitted(), "t");
  caller->start(call_to(url_of(receiver)));
  EXPECT_TRUE(caller->wait(Duration{50}).empty());
  caller->cancel(7);
  caller->cancel(7);
  const auto begun = std::chrono::steady_clock::now();
  caller->wake();
  EXPECT_TRUE(caller->wait(Duration{10'000}).empty());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5'000ms);
}

}  // namespace
}  // namespace millrace::push
