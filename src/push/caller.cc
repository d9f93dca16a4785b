#include "push/caller.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <unordered_map>

#include "base/ascii.h"
#include "base/check.h"

namespace millrace::push {
namespace {

constexpr long kConnectTimeoutMs = 10'000;
// Receivers close idle connections, many of them after 5 s. A call on a connection that is just
// closing would be sent again.
constexpr long kMaxIdleSeconds = 4;
constexpr std::size_t kIdleHandles = 512;
constexpr int kTooLarge = 100;  // CURLE_TOO_LARGE, which libcurl has from 8.6 on
constexpr std::size_t kEventsAtOnce = 256;

using SteadyClock = std::chrono::steady_clock;

struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, FreeEasy>;

std::optional<IpAddress> address_of(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return IpAddress::v4(ntohl(v4.sin_addr.s_addr));
  }
  if (address.sa_family != AF_INET6) return std::nullopt;
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  IpAddress read;
  std::memcpy(read.bytes.data(), v6.sin6_addr.s6_addr, read.bytes.size());
  return read;
}

// A call in flight. It is not moved, because libcurl points into it.
struct UnderWay {
  Call call;
  const AddressPolicy* policy = nullptr;
  Easy easy;
  std::unique_ptr<curl_slist, FreeList> headers;
  std::string url;
  CallEnd end;
  std::string forbidden;  // the kind of the forbidden address
  std::size_t head_bytes = 0;
  bool head_is_too_long = false;
  std::string length;        // of the answer's body, as its head says; empty: it does not
  bool two_lengths = false;  // the head has a second length, or one that is not a number

  void add_header(const std::string& line) {
    curl_slist* const longer = curl_slist_append(headers.get(), line.c_str());
    MILLRACE_CHECK(longer != nullptr);
    (void)headers.release();
    headers.reset(longer);
  }
};

curl_socket_t open_socket(void* context, curlsocktype, curl_sockaddr* to) {
  auto& call = *static_cast<UnderWay*>(context);
  if (!call.forbidden.empty()) return CURL_SOCKET_BAD;
  const auto address = address_of(to->addr);
  const std::string_view refusal =
      address ? call.policy->refusal(*address) : "an address of another family than IP";
  if (!refusal.empty()) {
    call.forbidden = refusal;
    return CURL_SOCKET_BAD;
  }
  return ::socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

// Why libcurl gave up on an answer.
std::string fault_of(const UnderWay& call, CURLcode code) {
  // libcurl collects a line of the head before it shows it, and has this word for one that is too
  // long: memory itself does not run out, the process ends first.
  if (call.head_is_too_long || code == CURLE_OUT_OF_MEMORY || code == kTooLarge) {
    return fmt::format("the head of the receiver's answer exceeds {}",
                       format_size(kMaxAnswerHeadBytes));
  }
  if (call.two_lengths) {
    return "the receiver's answer has no single Content-Length, so its end is not certain";
  }
  return fmt::format("the receiver gave no whole answer: {}", lowered(curl_easy_strerror(code)));
}

std::size_t on_body(char* data, std::size_t, std::size_t size, void* context) {
  auto& call = *static_cast<UnderWay*>(context);
  const std::size_t room = call.call.max_answer_bytes - call.end.body.size();
  call.end.body.append(data, std::min(size, room));
  if (size <= room) return size;
  call.end.is_cut = true;
  return 0;
}

std::size_t on_header(char* data, std::size_t, std::size_t size, void* context) {
  auto& call = *static_cast<UnderWay*>(context);
  call.head_bytes += size;
  if (call.head_bytes > kMaxAnswerHeadBytes) {
    call.head_is_too_long = true;
    return 0;
  }
  const std::string_view line(data, size);
  if (line.starts_with("HTTP/")) {  // discard an interim answer's values
    call.end.retry_after.clear();
    call.length.clear();
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (equals_ignoring_case(name, "retry-after")) call.end.retry_after = value;
  if (!equals_ignoring_case(name, "content-length")) return size;
  // Who reads the answer with another length sees another answer (RFC 9112, section 6.3).
  call.two_lengths = !is_number(value) || (!call.length.empty() && call.length != value);
  call.length = value;
  return call.two_lengths ? 0 : size;
}

class CurlCaller final : public Caller {
 public:
  CurlCaller(AddressPolicy policy, std::string user_agent)
      : policy_(std::move(policy)), user_agent_(std::move(user_agent)) {
    static const CURLcode kStarted = curl_global_init(CURL_GLOBAL_DEFAULT);
    MILLRACE_CHECK(kStarted == CURLE_OK);
    multi_.reset(curl_multi_init());
    MILLRACE_CHECK(multi_ != nullptr);
    curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
    MILLRACE_CHECK(epoll_ >= 0 && bell_ >= 0);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = bell_;
    MILLRACE_CHECK(::epoll_ctl(epoll_, EPOLL_CTL_ADD, bell_, &event) == 0);
  }
  ~CurlCaller() override {
    for (auto& [number, call] : calls_) {
      curl_multi_remove_handle(multi_.get(), call->easy.get());
    }
    calls_.clear();
    idle_.clear();
    multi_.reset();
    ::close(bell_);
    ::close(epoll_);
  }

  void start(Call call) override {
    const CallNumber number = call.number;
    auto made = std::make_unique<UnderWay>();
    made->call = std::move(call);
    made->policy = &policy_;
    made->end.number = number;
    if (idle_.empty()) {
      made->easy.reset(curl_easy_init());
    } else {
      made->easy = std::move(idle_.back());
      idle_.pop_back();
    }
    MILLRACE_CHECK(made->easy != nullptr);
    prepare(*made);
    MILLRACE_CHECK(curl_multi_add_handle(multi_.get(), made->easy.get()) == CURLM_OK);
    MILLRACE_CHECK(calls_.emplace(number, std::move(made)).second);
  }

  void cancel(CallNumber number) override {
    const auto found = calls_.find(number);
    if (found == calls_.end()) return;
    curl_multi_remove_handle(multi_.get(), found->second->easy.get());
    calls_.erase(found);  // frees the handle too, since its connection is in mid-transfer
  }

  std::vector<CallEnd> wait(Duration most) override {
    run_timer();
    std::vector<CallEnd> ends = take_ends();
    if (!ends.empty()) most = Duration{0};
    if (timer_) {
      const auto left = std::chrono::ceil<Duration>(*timer_ - SteadyClock::now());
      most = std::clamp(left, Duration{0}, most);
    }
    std::array<epoll_event, kEventsAtOnce> events{};
    const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
                                   static_cast<int>(most.count()));
    for (const epoll_event& event : std::span(events).first(std::max(count, 0))) {
      if (event.data.fd == bell_) {
        std::uint64_t rung = 0;
        (void)!::read(bell_, &rung, sizeof rung);
      } else {
        act_on(event.data.fd, event.events);
      }
    }
    run_timer();
    for (CallEnd& end : take_ends()) ends.push_back(std::move(end));
    return ends;
  }

  void wake() override {
    const std::uint64_t one = 1;
    (void)!::write(bell_, &one, sizeof one);
  }

 private:
  // --- What libcurl waits for. Ready sockets are reported to it one by one; it looks at no others.
  static int on_socket(CURL*, curl_socket_t socket, int what, void* context, void*) {
    const auto& self = *static_cast<CurlCaller*>(context);
    epoll_event event{};
    event.data.fd = socket;
    if ((what & CURL_POLL_IN) != 0) event.events |= EPOLLIN;
    if ((what & CURL_POLL_OUT) != 0) event.events |= EPOLLOUT;
    if (what == CURL_POLL_REMOVE) {
      ::epoll_ctl(self.epoll_, EPOLL_CTL_DEL, socket, nullptr);
    } else if (::epoll_ctl(self.epoll_, EPOLL_CTL_MOD, socket, &event) != 0) {
      MILLRACE_CHECK(::epoll_ctl(self.epoll_, EPOLL_CTL_ADD, socket, &event) == 0);
    }
    return 0;
  }
  static int on_timer(CURLM*, long ms, void* context) {
    auto& timer = static_cast<CurlCaller*>(context)->timer_;
    timer.reset();
    if (ms >= 0) timer = SteadyClock::now() + std::chrono::milliseconds(ms);
    return 0;
  }
  void act_on(curl_socket_t socket, std::uint32_t events) {
    int ready = 0;
    if ((events & (EPOLLIN | EPOLLHUP)) != 0) ready |= CURL_CSELECT_IN;
    if ((events & EPOLLOUT) != 0) ready |= CURL_CSELECT_OUT;
    if ((events & EPOLLERR) != 0) ready |= CURL_CSELECT_ERR;
    int running = 0;
    curl_multi_socket_action(multi_.get(), socket, ready, &running);
  }
  void run_timer() {
    if (!timer_ || SteadyClock::now() < *timer_) return;
    timer_.reset();
    int running = 0;
    curl_multi_socket_action(multi_.get(), CURL_SOCKET_TIMEOUT, 0, &running);
  }

  void prepare(UnderWay& call) {
    CURL* const easy = call.easy.get();
    curl_easy_reset(easy);
    for (const auto& [name, value] : call.call.headers) {
      call.add_header(fmt::format("{}: {}", name, value));
    }
    call.add_header("Accept: application/json");
    call.add_header("Expect:");  // no round trip before a large body
    call.url = call.call.url.text();
    curl_easy_setopt(easy, CURLOPT_URL, call.url.c_str());
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(call.call.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
                     call.call.body.empty() ? "" : call.call.body.view().data());
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call.headers.get());
    curl_easy_setopt(easy, CURLOPT_USERAGENT, user_agent_.c_str());
    curl_easy_setopt(easy, CURLOPT_PROXY, "");  // ignore the environment's proxy settings
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, kMaxIdleSeconds);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(call.call.timeout.count()));
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, &call);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &call);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &call);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &call);
  }

  std::vector<CallEnd> take_ends() {
    std::vector<CallEnd> ends;
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      void* context = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &context);
      auto& call = *static_cast<UnderWay*>(context);
      finish(call, code);
      curl_multi_remove_handle(multi_.get(), call.easy.get());
      if (idle_.size() < kIdleHandles) idle_.push_back(std::move(call.easy));
      ends.push_back(std::move(call.end));
      calls_.erase(ends.back().number);
    }
    return ends;
  }

  static void finish(UnderWay& call, CURLcode code) {
    CURL* const easy = call.easy.get();
    CallEnd& end = call.end;
    long status = 0;
    curl_off_t took_us = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy, CURLINFO_TOTAL_TIME_T, &took_us);
    end.took = std::chrono::microseconds{took_us};
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && end.is_cut)) {
      end.how = CallEnd::How::kAnswered;
      end.status = static_cast<int>(status);
      return;
    }
    if (!call.forbidden.empty()) {
      end.how = CallEnd::How::kForbidden;
      end.reason =
          fmt::format("the URL's host leads to {}, which the server must not call", call.forbidden);
      return;
    }
    switch (code) {
      case CURLE_OPERATION_TIMEDOUT:
        end.how = CallEnd::How::kTimedOut;
        end.reason = fmt::format("the receiver did not answer within {}",
                                 format_duration(call.call.timeout));
        break;
      case CURLE_COULDNT_RESOLVE_HOST:
      case CURLE_COULDNT_CONNECT:
      case CURLE_SSL_CONNECT_ERROR:
      case CURLE_PEER_FAILED_VERIFICATION:
        end.how = CallEnd::How::kUnreachable;
        end.reason = fmt::format("the server can't reach the receiver: {}",
                                 lowered(curl_easy_strerror(code)));
        break;
      default:
        end.how = CallEnd::How::kBroken;
        end.reason = fault_of(call, code);
    }
  }

  const AddressPolicy policy_;
  const std::string user_agent_;
  const int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  const int bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::optional<SteadyClock::time_point> timer_;
  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::unordered_map<CallNumber, std::unique_ptr<UnderWay>> calls_;
  std::vector<Easy> idle_;
};

}  // namespace

std::unique_ptr<Caller> make_curl_caller(AddressPolicy policy, std::string user_agent) {
  return std::make_unique<CurlCaller>(std::move(policy), std::move(user_agent));
}

}  // namespace millrace::push
