#include "http/connection/compression.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "http/openapi.h"
#include "http/testing.h"

namespace millrace::http {
namespace {

constexpr std::string_view kTakesGzip = "Accept-Encoding: br;q=1.0, gzip;q=0.8, *;q=0.1\r\n";

std::string gunzip(std::string_view compressed, std::size_t room) {
  z_stream stream{};
  EXPECT_EQ(::inflateInit2(&stream, 15 + 16), Z_OK);
  std::string plain(room, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  stream.next_out = reinterpret_cast<Bytef*>(plain.data());
  stream.avail_out = static_cast<uInt>(plain.size());
  EXPECT_EQ(::inflate(&stream, Z_FINISH), Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0u) << "nothing follows";
  plain.resize(stream.total_out);
  ::inflateEnd(&stream);
  return plain;
}

// Queues for every request for queues.
std::optional<engine::Answer> queues(std::size_t count) {
  core::QueueReply reply;
  for (std::size_t i = 0; i < count; ++i) {
    reply.queues.emplace_back().name = SharedBytes("mail-" + std::to_string(i));
  }
  return core::Reply(std::move(reply));
}

TEST(Gzip, BothEndsOfEverySize) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}}) {
    std::string plain;
    for (std::size_t i = 0; i < size; ++i) plain += static_cast<char>(i * i % 251);
    const auto compressed = gzip(plain);
    ASSERT_TRUE(compressed);
    EXPECT_EQ(gunzip(*compressed, size + 1), plain);
  }
}

TEST(Compression, ALargeAnswerIsCompressedForClientsThatTakeIt) {
  TestServer server;
  TestClient client(server);
  client.send(request("GET", "/v1/openapi.json", {}, kTakesGzip));
  const TestResponse coded = client.receive();
  EXPECT_EQ(coded.status, 200);
  EXPECT_EQ(coded.headers.at("content-encoding"), "gzip");
  EXPECT_EQ(coded.headers.at("vary"), "Accept-Encoding");
  EXPECT_EQ(coded.headers.at("content-type"), "application/json");
  EXPECT_LT(coded.body.size() * 2, openapi_json().size());
  EXPECT_EQ(gunzip(coded.body, openapi_json().size() + 1), openapi_json());
  for (const char* refused : {"", "Accept-Encoding: gzip;q=0\r\n", "Accept-Encoding: br\r\n",
                              "Accept-Encoding: identity, gzip;q=0.9\r\n"}) {
    client.send(request("GET", "/v1/openapi.json", {}, refused));
    const TestResponse plain = client.receive();
    EXPECT_EQ(plain.body, openapi_json()) << refused;
    EXPECT_FALSE(plain.headers.contains("content-encoding")) << refused;
    EXPECT_EQ(plain.headers.at("vary"), "Accept-Encoding") << "it would differ for others";
  }
}

TEST(Compression, AHeadIsThatOfTheGet) {
  TestServer server;
  TestClient client(server);
  client.send(request("GET", "/v1/openapi.json", {}, kTakesGzip));
  const TestResponse get = client.receive();
  client.send(request("HEAD", "/v1/openapi.json", {}, kTakesGzip));
  const TestResponse head = client.receive(true);
  for (const char* name : {"content-encoding", "content-length", "content-type", "vary"}) {
    EXPECT_EQ(head.headers.at(name), get.headers.at(name)) << name;
  }
  client.send(request("GET", "/livez"));
  EXPECT_EQ(client.receive().body, R"({"status":"ok"})") << "no body came after the head";
}

TEST(Compression, ASmallAnswerIsLeftAlone) {
  TestServer server;
  TestClient client(server);
  client.send(request("GET", "/v1/openapi.json", {}, kTakesGzip) +
              request("GET", "/livez", {}, kTakesGzip));
  EXPECT_TRUE(client.receive().headers.contains("content-encoding"));
  const TestResponse small = client.receive();
  EXPECT_FALSE(small.headers.contains("content-encoding"));
  EXPECT_FALSE(small.headers.contains("vary"));
}

TEST(Compression, TheListOfQueuesShrinks) {
  TestServer server;
  server.gateway.respond_with([](const engine::Request&) { return queues(200); });
  TestClient client(server);
  client.send(request("GET", "/v1/queues?limit=1000"));
  const std::string plain = client.receive().body;
  ASSERT_GT(plain.size(), 50'000u);
  client.send(request("GET", "/v1/queues?limit=1000", {}, kTakesGzip));
  const TestResponse coded = client.receive();
  EXPECT_LT(coded.body.size() * 4, plain.size());
  EXPECT_EQ(gunzip(coded.body, plain.size() + 1).size(), plain.size());
}

Response large() {
  Response response;
  response.body.assign(kMinCompressedBytes, ' ');
  return response;
}

bool is_compressible(std::string_view path, const Response& response) {
  return is_compressible(api::Method::kGet, *match_route(api::Method::kGet, path).route, response);
}

TEST(Compression, WhatMayHoldSecretsStaysPlain) {
  EXPECT_TRUE(is_compressible("/v1/queues", large()));
  const Route& list_of_jobs = *match_route(api::Method::kGet, "/v1/jobs").route;
  EXPECT_TRUE(is_compressible(api::Method::kHead, list_of_jobs, large()));
  for (const char* path :
       {"/v1/session", "/v1/tokens", "/v1/tokens/x", "/v1/admin/config", "/v1/push-targets",
        "/v1/push-targets/x", "/v1/jobs/x/logs", "/v1/schedules", "/v1/schedules/x"}) {
    EXPECT_FALSE(is_compressible(path, large())) << path;
  }
  for (const Route& route : all_routes()) {
    if (route.method == api::Method::kGet) continue;
    EXPECT_FALSE(is_compressible(route.method, route, large())) << route.pattern;
  }
  Response payloads = large();
  payloads.holds_secrets = true;
  EXPECT_FALSE(is_compressible("/v1/jobs", payloads));
}

TEST(Compression, WhatIsShortOrTaggedOrAProblemStaysPlain) {
  Response shorter = large();
  shorter.body.pop_back();
  EXPECT_FALSE(is_compressible("/v1/queues", shorter));
  Response tagged = large();
  tagged.version = 1;
  EXPECT_FALSE(is_compressible("/v1/queues/x", tagged));
  Response problem = large();
  problem.status = 404;
  EXPECT_FALSE(is_compressible("/v1/queues", problem));
}

}  // namespace
}  // namespace millrace::http
