#include "push/span_post.h"

#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/ascii.h"
#include "base/check.h"

namespace millrace::push {
namespace {

constexpr long kConnectTimeoutMs = 5'000;
constexpr long kTimeoutMs = 10'000;
constexpr std::size_t kMostAnswerBytes = 4'096;
constexpr std::chrono::seconds kLongestRetryAfter{60};

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

std::size_t on_body(char* data, std::size_t, std::size_t size, void* context) {
  auto& end = *static_cast<PostEnd*>(context);
  end.answer.append(data, std::min(size, kMostAnswerBytes - end.answer.size()));
  return size;
}

std::size_t on_header(char* data, std::size_t, std::size_t size, void* context) {
  auto& end = *static_cast<PostEnd*>(context);
  std::string_view line(data, size);
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  if (!equals_ignoring_case(line.substr(0, colon), "retry-after")) return size;
  line.remove_prefix(std::min(line.find_first_not_of(' ', colon + 1), line.size()));
  std::int64_t seconds = 0;
  const auto [last, error] = std::from_chars(line.data(), line.data() + line.size(), seconds);
  if (error == std::errc{} && seconds >= 0) {
    end.retry_after = std::min(std::chrono::seconds{seconds}, kLongestRetryAfter);
  }
  return size;
}

int on_progress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return *static_cast<const std::atomic<bool>*>(context) ? 1 : 0;
}

// Close-on-exec: child processes must not inherit the socket.
curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* address) {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

class CurlSpanPost final : public SpanPost {
 public:
  CurlSpanPost(std::string url, std::string user_agent)
      : url_(std::move(url)), user_agent_(std::move(user_agent)) {
    static const CURLcode kStarted = curl_global_init(CURL_GLOBAL_DEFAULT);
    MILLRACE_CHECK(kStarted == CURLE_OK);
    easy_.reset(curl_easy_init());
    MILLRACE_CHECK(easy_ != nullptr);
    headers_.reset(curl_slist_append(nullptr, "Content-Type: application/json"));
    curl_slist_append(headers_.get(), "Expect:");  // no round trip before a large body
  }

  PostEnd post(const std::string& body, const std::atomic<bool>& stop) override {
    CURL* const easy = easy_.get();
    PostEnd end;
    curl_easy_reset(easy);  // keeps the connection
    curl_easy_setopt(easy, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_.get());
    curl_easy_setopt(easy, CURLOPT_USERAGENT, user_agent_.c_str());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, kTimeoutMs);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &end);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &end);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, const_cast<std::atomic<bool>*>(&stop));
    const CURLcode code = curl_easy_perform(easy);
    if (code != CURLE_OK) {
      end.error = curl_easy_strerror(code);
      return end;
    }
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    end.status = static_cast<int>(status);
    return end;
  }

 private:
  const std::string url_;
  const std::string user_agent_;
  std::unique_ptr<CURL, FreeEasy> easy_;
  std::unique_ptr<curl_slist, FreeList> headers_;
};

}  // namespace

std::string traces_url(std::string endpoint) {
  const std::size_t scheme = endpoint.find("://");
  const std::size_t host = scheme == std::string::npos ? 0 : scheme + 3;
  const std::size_t path = endpoint.find('/', host);
  const bool has_path = path != std::string::npos && path + 1 < endpoint.size();
  if (has_path) return endpoint;
  if (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint + "/v1/traces";
}

std::unique_ptr<SpanPost> make_span_post(const std::string& endpoint,
                                         const std::string& user_agent) {
  return std::make_unique<CurlSpanPost>(traces_url(endpoint), user_agent);
}

}  // namespace millrace::push
