#include "store/testing/cutting_proxy.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace millrace::store {
namespace {

constexpr int kPollMs = 20;
constexpr std::size_t kHeadBytes = 5;  // a type and a length, which counts itself

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

std::size_t length_at(const std::string& bytes, std::size_t at) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i)
    length = length << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  return length;
}

bool send_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

CuttingProxy::CuttingProxy(int server_port) : server_port_(server_port) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  MILLRACE_CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  MILLRACE_CHECK(::listen(listener_, 64) == 0);
  MILLRACE_CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

CuttingProxy::~CuttingProxy() {
  over_ = true;
  thread_.join();
  ::close(listener_);
}

void CuttingProxy::drop_all() {
  drops_ = true;
  while (drops_) std::this_thread::sleep_for(std::chrono::milliseconds{1});
}

std::string CuttingProxy::url(const std::string& direct) const {
  const std::string port = fmt::format(":{}/", server_port_);
  std::string through = direct;
  through.replace(direct.find(port), port.size(), fmt::format(":{}/", port_));
  return through + "?sslmode=disable&gssencmode=disable";
}

void CuttingProxy::run() {
  while (!over_) {
    if (drops_) {
      close_all();
      drops_ = false;
    }
    std::vector<pollfd> entries{{listener_, POLLIN, 0}};
    for (const auto& [client, pair] : pairs_) {
      entries.push_back({client, POLLIN, 0});
      entries.push_back({pair.server, POLLIN, 0});
    }
    ::poll(entries.data(), entries.size(), kPollMs);
    for (std::size_t i = 1; i < entries.size(); i += 2) {
      const int client = entries[i].fd;
      Pair& pair = pairs_.at(client);
      const bool goes_on = (entries[i].revents == 0 || pass_up(client, pair)) &&
                           (entries[i + 1].revents == 0 || pass_down(client, pair));
      if (goes_on) continue;
      ::close(client);
      ::close(pair.server);
      pairs_.erase(client);
    }
    if (entries[0].revents == 0) continue;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(server_port_);
    if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      pairs_[client].server = server;
    } else {
      ::close(client);
      ::close(server);
    }
  }
  close_all();
}

void CuttingProxy::close_all() {
  for (const auto& [client, pair] : pairs_) {
    ::close(client);
    ::close(pair.server);
  }
  pairs_.clear();
}

bool CuttingProxy::pass_up(int client, Pair& pair) {
  std::array<char, 64 * 1024> buffer;
  const ssize_t got = ::recv(client, buffer.data(), buffer.size(), 0);
  if (got <= 0) return false;
  pair.pending.append(buffer.data(), static_cast<std::size_t>(got));
  bool ends = false;
  const std::string whole = take_messages(pair, ends);
  return send_all(pair.server, whole) && !ends;
}

bool CuttingProxy::pass_down(int client, Pair& pair) {
  std::array<char, 64 * 1024> buffer;
  const ssize_t got = ::recv(pair.server, buffer.data(), buffer.size(), 0);
  if (got <= 0 || pair.cut) return false;
  return send_all(client, {buffer.data(), static_cast<std::size_t>(got)});
}

std::string CuttingProxy::take_messages(Pair& pair, bool& ends) {
  std::string& pending = pair.pending;
  std::size_t at = 0;
  std::size_t taken = 0;
  while (true) {
    const std::size_t head = pair.started ? kHeadBytes : kHeadBytes - 1;
    if (pending.size() - at < head) break;
    const std::size_t size = length_at(pending, at + head - 4) + head - 4;
    if (pending.size() - at < size) break;
    const char type = std::exchange(pair.started, true) ? pending[at] : '\0';
    at += size;
    // The server executes these as they arrive: they belong to the Sync that ends them.
    if (std::string_view("PBDEC").contains(type)) continue;
    if (type == 'S' || type == 'Q') {
      const std::uint64_t left = left_;
      if (left == 0 && cut_ == Cut::kBefore) {
        ends = true;
        break;
      }
      if (left == 0) pair.cut = true;
      if (left != 0 && left != kAll) left_ = left - 1;
    }
    taken = at;
  }
  std::string whole = pending.substr(0, taken);
  pending.erase(0, taken);
  return whole;
}

}  // namespace millrace::store
