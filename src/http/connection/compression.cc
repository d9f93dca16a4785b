#include "http/connection/compression.h"

#include <zlib.h>

#include <utility>

#include "http/connection/accept_encoding.h"

namespace millrace::http {
namespace {

// The fastest level. Others make lists of JSON little smaller.
constexpr int kLevel = 1;
constexpr int kWindowBitsOfGzip = 15 + 16;
constexpr int kMemoryLevel = 8;  // the library's default: 256 KiB

}  // namespace

bool is_compressible(api::Method method, const Route& route, const Response& response) {
  if (method != api::Method::kGet && method != api::Method::kHead) return false;
  if (response.status != 200 || response.body.size() < kMinCompressedBytes) return false;
  if (response.holds_secrets || route.coding == Route::Coding::kPlain) return false;
  return !response.version;  // its ETag names these very bytes
}

Task<void> compress(Call& call) {
  Response& response = call.response;
  response.more_fields.append("Vary: Accept-Encoding\r\n");
  if (!takes_coding(*call.head, "gzip")) co_return;
  auto work = [&response](const std::stop_token&) { return gzip(response.body); };
  auto compressed = co_await call.caller.read(service::Lane::kAnswers, work);
  if (!compressed || !*compressed || (*compressed)->size() >= response.body.size()) co_return;
  response.body = *std::move(*compressed);
  response.more_fields.append("Content-Encoding: gzip\r\n");
}

std::optional<std::string> gzip(std::string_view plain) {
  z_stream stream{};
  if (::deflateInit2(&stream, kLevel, Z_DEFLATED, kWindowBitsOfGzip, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
    return std::nullopt;
  }
  std::string out(::deflateBound(&stream, plain.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = ::deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (!done) return std::nullopt;
  out.shrink_to_fit();
  return out;
}

}  // namespace millrace::http
