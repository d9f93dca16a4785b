#include "http/connection/response_writer.h"

#include <charconv>

namespace millrace::http {
namespace {

std::string_view reason(int status) {
  switch (status) {
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

std::string_view name_of(MediaType type) {
  switch (type) {
    case MediaType::kJson:
      return "application/json";
    case MediaType::kProblem:
      return "application/problem+json";
    case MediaType::kText:
      return "text/plain; version=0.0.4; charset=utf-8";
  }
  return "application/octet-stream";
}

void append_number(std::string& out, std::uint64_t number) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

std::uint64_t whole_seconds(Duration duration) {
  return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(duration).count());
}

}  // namespace

void append_response(std::string& out, const Response& response, const ResponseFraming& framing) {
  out.append("HTTP/1.1 ");
  append_number(out, static_cast<std::uint64_t>(response.status));
  out.append(" ").append(reason(response.status)).append("\r\n");
  append_field(out, "Date", framing.date);
  append_field(out, "X-Request-Id", framing.request_id);
  const bool has_body = response.status != 204 && response.status != 304 && !response.upgrades;
  if (has_body) {
    append_field(
        out, "Content-Type",
        response.content_type.empty() ? name_of(response.media_type) : response.content_type);
  }
  if (has_body && !framing.until_close) {
    out.append("Content-Length: ");
    append_number(out, response.body.size());
    out.append("\r\n");
  }
  if (response.version) {
    out.append("ETag: \"");
    append_number(out, *response.version);
    out.append("\"\r\n");
  }
  if (response.replayed) append_field(out, "Idempotent-Replayed", "true");
  if (response.retry_after) {
    out.append("Retry-After: ");
    append_number(out, whole_seconds(*response.retry_after));
    out.append("\r\n");
  }
  out.append(response.more_fields);
  if (!response.allow.empty()) append_field(out, "Allow", response.allow);
  if (response.status == 401) append_field(out, "WWW-Authenticate", "Bearer");
  if (response.upgrades) {
    append_field(out, "Connection", "Upgrade");
    append_field(out, "Upgrade", kPeerProtocol);
    append_field(out, kPeerLevelField, own_peer_level());
  } else if (framing.close) {
    append_field(out, "Connection", "close");
  } else if (framing.http_1_0) {
    append_field(out, "Connection", "keep-alive");
  }
  out.append("\r\n");
  if (has_body && !framing.until_close && !framing.head_only && !framing.body_apart)
    out.append(response.body);
}

}  // namespace millrace::http
