// A minimal HTTP server with Boost.Beast, and the load that is applied to it and to Millrace: each
// connection sends a submission, reads the whole answer, and sends the next one.
//
//     http_limit serve PORT
//     http_limit load PORT CONNECTIONS SECONDS PAYLOAD
//
// Each is one thread of coroutines. The load is byte-identical for both servers and as cheap as
// possible: the request is built once, and only an answer's status and length are read.
#include <algorithm>
#include <exception>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "base/ascii.h"
#include "limit_program.h"

namespace millrace::bench {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Socket = asio::ip::tcp::socket;

asio::ip::tcp::endpoint loopback(std::uint64_t port) {
  return {asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port)};
}

asio::awaitable<void> answer_all(Socket socket) try {
  socket.set_option(asio::ip::tcp::no_delay(true));
  boost::beast::flat_buffer buffer;
  while (true) {
    http::request<http::string_body> request;
    co_await http::async_read(socket, buffer, request, asio::use_awaitable);
    http::response<http::string_body> response(http::status::created, request.version());
    response.set(http::field::content_type, "application/json");
    response.body() = R"({"id":"01890a5d-ac96-774b-bcce-b302099a8057","state":"ready"})";
    response.prepare_payload();
    co_await http::async_write(socket, response, asio::use_awaitable);
  }
} catch (const boost::system::system_error&) {
  // The client has gone, so its coroutine ends.
}

asio::awaitable<void> accept_all(asio::ip::tcp::acceptor& acceptor) {
  while (true) {
    auto socket = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(acceptor.get_executor(), answer_all(std::move(socket)), asio::detached);
  }
}

void serve(std::uint64_t port) {
  asio::io_context context(1);
  asio::ip::tcp::acceptor acceptor(context, loopback(port));
  asio::co_spawn(context, accept_all(acceptor), asio::detached);
  context.run();
}

// The payload is a JSON string; two of its bytes are the quotes.
std::string submission(std::size_t payload_bytes) {
  const std::string body = fmt::format(R"({{"type":"bench","queue":"bench","payload":"{}"}})",
                                       std::string(payload_bytes - 2, 'x'));
  return fmt::format(
      "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      body.size(), body);
}

// The size of the body after this header block. Ends the program if the answer is not 2xx.
std::size_t body_bytes(std::string_view header) {
  constexpr std::string_view kName = "\r\ncontent-length: ";
  if (!header.starts_with("HTTP/1.1 2")) fail(fmt::format("answered {}", header.substr(0, 40)));
  const auto found = std::ranges::search(header, kName, {}, to_lower);
  if (found.empty()) fail("an answer without Content-Length");
  const auto* digits = found.end();
  std::size_t bytes = 0;
  std::from_chars(digits, header.data() + header.size(), bytes);
  return bytes;
}

struct Load {
  std::string request;
  std::chrono::steady_clock::time_point end;
  std::uint64_t answered = 0;
};

asio::awaitable<void> send_all(Socket socket, Load& load) {
  std::string buffer;
  while (std::chrono::steady_clock::now() < load.end) {
    co_await asio::async_write(socket, asio::buffer(load.request), asio::use_awaitable);
    const std::size_t header = co_await asio::async_read_until(socket, asio::dynamic_buffer(buffer),
                                                               "\r\n\r\n", asio::use_awaitable);
    const std::size_t whole = header + body_bytes(std::string_view(buffer).substr(0, header));
    if (whole > buffer.size()) {
      co_await asio::async_read(socket, asio::dynamic_buffer(buffer),
                                asio::transfer_exactly(whole - buffer.size()), asio::use_awaitable);
    }
    buffer.erase(0, whole);
    ++load.answered;
  }
}

void put_load(std::uint64_t port, std::uint64_t connections, std::uint64_t seconds,
              std::size_t payload) {
  asio::io_context context(1);
  Load load{.request = submission(payload),
            .end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds)};
  for (std::uint64_t i = 0; i < connections; ++i) {
    Socket socket(context);
    socket.connect(loopback(port));
    socket.set_option(asio::ip::tcp::no_delay(true));
    asio::co_spawn(context, send_all(std::move(socket), load), [](std::exception_ptr fault) {
      if (fault) std::rethrow_exception(fault);
    });
  }
  const Stopwatch watch;
  context.run();
  report("requests_per_s", load.answered, watch.seconds());
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) try {
  using namespace millrace::bench;
  const std::string_view role = argc > 1 ? argv[1] : "";
  if (role == "serve" && argc == 3) {
    serve(number(argv[2]));
  } else if (role == "load" && argc == 6) {
    put_load(number(argv[2]), number(argv[3]), number(argv[4]), number(argv[5]));
  } else {
    fail("usage: http_limit serve PORT | http_limit load PORT CONNECTIONS SECONDS PAYLOAD");
  }
} catch (const std::exception& fault) {
  millrace::bench::fail(fault.what());
}
