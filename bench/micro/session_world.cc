#include "session_world.h"

#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <utility>
#include <variant>

namespace millrace::bench {
namespace {

core::Job new_job(JobId id, SharedBytes queue, SharedBytes type, SharedBytes payload, Time now) {
  core::Job job;
  job.id = id;
  job.queue = std::move(queue);
  job.type = std::move(type);
  job.payload = std::move(payload);
  job.max_attempts = core::kDefaultMaxAttempts;
  job.retry = core::default_retry_policy();
  job.lease = core::kDefaultLease;
  job.created_at = job.run_at = now;
  return job;
}

// The state of the job after its submission.
std::shared_ptr<const core::JobView> stored(const core::JobSpec& spec, Time now) {
  auto view = std::make_shared<core::JobView>();
  view->job = new_job(spec.id, spec.queue, spec.type, spec.payload, now);
  return view;
}

core::EnqueueReply accept(const core::Enqueue& command, Time now) {
  core::EnqueueReply reply;
  reply.items.reserve(command.jobs.size());
  for (const core::JobSpec& spec : command.jobs) {
    core::EnqueueReply::Item& item = reply.items.emplace_back();
    item.fate = core::Fate::kCreated;
    item.id = spec.id;
    item.state = core::State::kReady;
    if (command.detail == core::Detail::kJobs) item.job = stored(spec, now);
  }
  return reply;
}

// Accepts every ack, and hands out as many jobs as requested.
engine::PollReply serve(const engine::Poll& poll, const SharedBytes& payload, Time now) {
  engine::PollReply reply;
  for (const core::AckItem& ack : poll.acks.items) {
    core::ItemReply& item = reply.acks.items.emplace_back();
    item.id = ack.id;
    item.state = core::State::kSucceeded;
  }
  if (!poll.claim) return reply;
  for (std::uint32_t i = 0; i < poll.claim->limit; ++i) {
    const JobId id = make_job_id(now, 0, i);
    core::Job job =
        new_job(id, poll.claim->queues.front(), SharedBytes("email.send"), payload, now);
    job.state = core::State::kRunning;
    job.attempt = 1;
    job.token = LeaseToken{i + 1};
    job.lease_expires_at = now + job.lease;
    reply.claim.jobs.push_back({std::move(job)});
  }
  return reply;
}

}  // namespace

SessionWorld::SessionWorld(std::string_view payload)
    : payload_(payload),
      tokens_(*service::TokenBook::make({})),
      services_{{reads_,
                 feed_,
                 models_,
                 tokens_,
                 catalog_,
                 *this,
                 *this,
                 readers_,
                 core::kDefaultIdempotencyWindow,
                 {}},
                {},
                {}},
      io_(services_, *this, *this, gate_, {}, 1) {
  services_.logins = &logins_;
  int ends[2];
  MILLRACE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
  socket_ = ends[0];
  net::Socket socket(io_.io().context());
  socket.assign(boost::asio::ip::tcp::v4(), ends[1]);
  MILLRACE_CHECK(gate_.enter("client"));
  io_.io().adopt(std::make_unique<net::TcpStream>(std::move(socket)), "client");
}

SessionWorld::~SessionWorld() { ::close(socket_); }

const std::string& SessionWorld::exchange(std::string_view requests, std::size_t answer_bytes) {
  received_.clear();
  send(requests);
  for (int idle = 0; received_.size() < answer_bytes;) {
    const bool moved = io_.io().context().poll() > 0;
    idle = receive() || moved ? 0 : idle + 1;
    MILLRACE_CHECK(idle < 1'000);  // no more answers come
  }
  MILLRACE_CHECK(received_.size() == answer_bytes);
  return received_;
}

const std::string& SessionWorld::exchange(std::string_view requests) {
  received_.clear();
  send(requests);
  for (int idle = 0; idle < 10;) {
    const bool moved = io_.io().context().poll() > 0;
    idle = receive() || moved ? 0 : idle + 1;
  }
  return received_;
}

void SessionWorld::send(std::string_view bytes) {
  const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  MILLRACE_CHECK(sent == static_cast<ssize_t>(bytes.size()));
}

bool SessionWorld::receive() {
  char buffer[64 * 1024];
  const ssize_t size = ::recv(socket_, buffer, sizeof buffer, 0);
  if (size > 0) received_.append(buffer, static_cast<std::size_t>(size));
  return size > 0;
}

void SessionWorld::submit(engine::Request request, engine::ReplyPort& port, engine::Ticket ticket,
                          std::string_view) {
  engine::Delivery delivery{ticket, {}};
  if (const auto* poll = std::get_if<engine::Poll>(&request)) {
    delivery.answer = serve(*poll, payload_, now());
  } else {
    const auto& command = std::get<core::Command>(request);
    delivery.answer = core::Reply(accept(std::get<core::Enqueue>(command), now()));
  }
  port.deliver({&delivery, 1});
}

}  // namespace millrace::bench
