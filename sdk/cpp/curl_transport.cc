// The transport over libcurl. Every pending call owns a Connection: a multi handle (for its socket
// cache, and because another thread can wake its wait) with one easy handle. Idle ones are kept in
// a pool.
#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <mutex>

#include "base/ascii.h"
#include "base/check.h"
#include "millrace/transport.h"

namespace millrace::sdk {
namespace {

constexpr std::size_t kMaxAnswerBytes = std::size_t{256} << 20;
constexpr int kMaxWaitMs = 10'000;  // per round of waiting; only a bound, never needed

struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

void add_header(HeaderList& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  MILLRACE_CHECK(longer != nullptr);
  (void)list.release();
  list.reset(longer);
}

struct Connection {
  // The easy handle is detached from the multi handle while no call is pending.
  std::unique_ptr<CURLM, FreeMulti> multi{curl_multi_init()};
  std::unique_ptr<CURL, FreeEasy> easy{curl_easy_init()};
};

// An answer being received.
struct Answer {
  Response response;
  CURL* easy = nullptr;
  const std::function<bool(std::string_view)>* on_part = nullptr;  // null: the body is gathered
  bool is_left = false;                                            // the receiver wants no more
};

std::size_t on_body(char* data, std::size_t, std::size_t size, void* context) {
  auto& answer = *static_cast<Answer*>(context);
  Response& response = answer.response;
  long status = 0;
  curl_easy_getinfo(answer.easy, CURLINFO_RESPONSE_CODE, &status);
  if (answer.on_part != nullptr && status >= 200 && status < 300) {
    answer.is_left = !(*answer.on_part)(std::string_view(data, size));
    return answer.is_left ? 0 : size;
  }
  if (response.body.size() + size > kMaxAnswerBytes) return 0;
  response.body.append(data, size);
  return size;
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::size_t on_header(char* data, std::size_t, std::size_t size, void* context) {
  Response& response = static_cast<Answer*>(context)->response;
  const std::string_view line(data, size);
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    if (line.starts_with("HTTP/")) response.headers.clear();  // of an interim answer
    return size;
  }
  response.headers.emplace_back(lowered(line.substr(0, colon)), trim(line.substr(colon + 1)));
  return size;
}

// Programs started by a worker must not inherit its connections.
curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* address) {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// The path in "unix:/run/millrace.sock"; empty for other addresses.
std::string_view socket_path(std::string_view url) {
  constexpr std::string_view kLocal = "unix:";
  return url.starts_with(kLocal) ? url.substr(kLocal.size()) : std::string_view();
}

bool is_loopback(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  return url.starts_with("127.") || url.starts_with("localhost") || url.starts_with("[::1]");
}

// The name of the first header with a control character, which could begin another header; empty if
// there is none.
std::string unsendable(const Request& request) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  for (const auto& [name, value] : request.headers) {
    if (std::ranges::any_of(value, is_control)) return name;
  }
  return {};
}

std::string in_words(std::chrono::milliseconds time) {
  const auto count = time.count();
  return count % 1'000 == 0 ? fmt::format("{} s", count / 1'000) : fmt::format("{} ms", count);
}

class CurlTransport : public Transport {
 public:
  explicit CurlTransport(HttpOptions options) : options_(std::move(options)) {
    static const CURLcode kStarted = curl_global_init(CURL_GLOBAL_DEFAULT);
    MILLRACE_CHECK(kStarted == CURLE_OK);
    while (options_.url.ends_with('/')) options_.url.pop_back();
    socket_path_ = socket_path(options_.url);
    root_ = socket_path_.empty() ? options_.url : "http://localhost";
  }

  Result<Response> send(const Request& request) override {
    Connection connection = take();
    auto response = send_on(connection, request);
    // After a failure, the connection may be in the middle of an answer, so it is not reused.
    if (response) put_back(std::move(connection));
    return response;
  }

 private:
  Connection take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return {};
    Connection connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
  }

  void put_back(Connection connection) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(connection));
  }

  Result<Response> send_on(Connection& connection, const Request& request) {
    if (const std::string name = unsendable(request); !name.empty()) {
      return std::unexpected(Error{
          .kind = ErrorKind::kBadArgument,
          .code = "bad_argument",
          .message = fmt::format("the header {} has a character that no header can carry", name)});
    }
    MILLRACE_CHECK(connection.multi != nullptr && connection.easy != nullptr);
    CURL* easy = connection.easy.get();
    Answer answer{.response = {}, .easy = easy};
    if (request.on_part) answer.on_part = &request.on_part;
    const HeaderList headers = prepare(easy, request, answer);
    MILLRACE_CHECK(curl_multi_add_handle(connection.multi.get(), easy) == CURLM_OK);
    const CURLcode code = drive(connection.multi.get(), request.stop);
    curl_multi_remove_handle(connection.multi.get(), easy);
    if (code != CURLE_OK) {
      return std::unexpected(failed(answer.is_left ? CURLE_ABORTED_BY_CALLBACK : code, request));
    }
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    answer.response.status = static_cast<int>(status);
    return std::move(answer.response);
  }

  // The options point into `request`, `answer` and the returned list, which must outlive the call.
  HeaderList prepare(CURL* easy, const Request& request, Answer& answer) {
    curl_easy_reset(easy);
    HeaderList headers;
    const bool names_accept = std::ranges::any_of(
        request.headers, [](const auto& header) { return header.first == "Accept"; });
    if (!names_accept) add_header(headers, "Accept: application/json");
    add_header(headers, "Expect:");  // no round trip before a large body
    if (!options_.token.empty()) add_header(headers, "Authorization: Bearer " + options_.token);
    for (const auto& [name, value] : request.headers) {
      add_header(headers, fmt::format("{}: {}", name, value));
    }
    curl_easy_setopt(easy, CURLOPT_URL, (root_ + request.path).c_str());
    if (!socket_path_.empty()) {
      curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, socket_path_.c_str());
    }
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    if (!request.body.empty() || request.method == "POST" || request.method == "PUT") {
      add_header(headers, "Content-Type: application/json");
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request.body.size()));
    }
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(easy, CURLOPT_USERAGENT, options_.user_agent.c_str());
    if (!options_.ca_file.empty()) {
      curl_easy_setopt(easy, CURLOPT_CAINFO, options_.ca_file.c_str());
    }
    if (!options_.certificate_file.empty()) {
      curl_easy_setopt(easy, CURLOPT_SSLCERT, options_.certificate_file.c_str());
      curl_easy_setopt(easy, CURLOPT_SSLKEY, options_.key_file.c_str());
    }
    // On a reused connection, libcurl itself resends a request if the server closes it without an
    // answer.
    const bool is_sent_once = request.repeat == Repeat::kIfUnbegun || request.counts_tries;
    if (is_sent_once) curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    if (request.on_part) {
      curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
      curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME,
                       std::chrono::ceil<std::chrono::seconds>(request.timeout).count());
    } else {
      curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
    }
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     static_cast<long>(options_.connect_timeout.count()));
    // An external proxy can't reach this machine's own addresses.
    if (is_loopback(root_)) curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &answer);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &answer);
    return headers;
  }

  // Runs until the answer is complete or `stop` is triggered.
  static CURLcode drive(CURLM* multi, const std::stop_token& stop) {
    const std::stop_callback wake(stop, [multi] { curl_multi_wakeup(multi); });
    for (;;) {
      int running = 0;
      if (curl_multi_perform(multi, &running) != CURLM_OK) return CURLE_RECV_ERROR;
      if (running == 0) break;
      if (stop.stop_requested()) return CURLE_ABORTED_BY_CALLBACK;
      curl_multi_poll(multi, nullptr, 0, kMaxWaitMs, nullptr);
    }
    int left = 0;
    const CURLMsg* message = curl_multi_info_read(multi, &left);
    return message == nullptr ? CURLE_RECV_ERROR : message->data.result;
  }

  Error failed(CURLcode code, const Request& request) const {
    Error error;
    const char* reason = curl_easy_strerror(code);
    switch (code) {
      case CURLE_ABORTED_BY_CALLBACK:
        error.kind = ErrorKind::kInterrupted;
        error.code = "interrupted";
        error.message = "interrupted";
        break;
      case CURLE_UNSUPPORTED_PROTOCOL:
        // libcurl reports unknown schemes and bytes that are not HTTP in the same way.
        if (options_.url.starts_with("http://") || options_.url.starts_with("https://")) {
          error.kind = ErrorKind::kBadAnswer;
          error.code = "bad_answer";
          error.message = fmt::format("the answer of {} is not HTTP", options_.url);
          break;
        }
        [[fallthrough]];
      case CURLE_URL_MALFORMAT:
        error.kind = ErrorKind::kBadArgument;
        error.code = "bad_argument";
        error.message = fmt::format("{} is not an http or https address", options_.url);
        break;
      case CURLE_WRITE_ERROR:
        error.kind = ErrorKind::kBadAnswer;
        error.code = "bad_answer";
        error.message = fmt::format("the answer of {} is larger than {} MiB", options_.url,
                                    kMaxAnswerBytes >> 20);
        break;
      case CURLE_OPERATION_TIMEDOUT:
        error.kind = ErrorKind::kUnreachable;
        error.code = "unreachable";
        error.message =
            fmt::format("{} did not answer within {}", options_.url, in_words(request.timeout));
        break;
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_CACERT_BADFILE:
      case CURLE_SSL_CERTPROBLEM:
      case CURLE_SSL_ISSUER_ERROR:
        error.is_untrusted = true;
        [[fallthrough]];
      default:
        error.kind = ErrorKind::kUnreachable;
        error.code = "unreachable";
        error.is_unsent = code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
                          code == CURLE_COULDNT_RESOLVE_PROXY;
        error.message = fmt::format("cannot reach {}: {}", options_.url, reason);
    }
    return error;
  }

  HttpOptions options_;
  std::string socket_path_;  // empty: the server has a network address
  std::string root_;         // precedes a request's path in its URL
  std::mutex mutex_;
  std::vector<Connection> idle_;
};

}  // namespace

std::string_view Response::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

std::unique_ptr<Transport> make_http_transport(HttpOptions options) {
  return std::make_unique<CurlTransport>(std::move(options));
}

}  // namespace millrace::sdk
