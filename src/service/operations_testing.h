// For tests of operations without a door: one thread, and an engine of the test's choice.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "service/caller.h"
#include "store/tables.h"

namespace millrace::service {

class NoOperations final : public Operations {
 public:
  const About& about() const override { return about_; }
  Readiness readiness() const override { return {false, {{"store", true, "secret"}}}; }
  api::Cluster cluster() const override { return {}; }
  api::Configuration configuration() const override { return {}; }
  std::string metrics_text() override { return {}; }
  api::Diagnosis diagnosis() override { return {}; }
  api::Decoded<api::Cluster> set_draining(const std::string&, bool) override {
    return api::Cluster{};
  }
  api::Decoded<BackupDone> backup(const std::string&) override { return BackupDone{}; }

 private:
  About about_;
};

inline TokenBook one_token() {
  TokenSettings token;
  token.name = "mail-only";
  token.hash = make_token({}, {}).hash;
  token.scopes = {"submit", "work", "read", "operate"};
  token.queues = {"mail"};
  return *TokenBook::make({token});
}

// The services of operations, over a store and an engine that outlive this object.
class OperationsWorld {
 public:
  OperationsWorld(store::Store& store, engine::Gateway& gateway, const Clock& clock)
      : reads_(*store.tables),
        feed_(*store.journal, Seq{}),
        models_({store.tables.get()}),
        services_{reads_,  feed_,    models_,
                  tokens_, catalog_, operations_,
                  clock,   readers_, core::kDefaultIdempotencyWindow,
                  {}},
        port_(gateway, [] {}) {}

  // Runs the operation to its end.
  template <typename T>
  T finish(Task<T> operation) {
    std::optional<T> result;
    Task<void> run = keep(operation, result);
    run.start();
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!run.done() && std::chrono::steady_clock::now() < give_up) port_.run();
    EXPECT_TRUE(run.done());
    return std::move(*result);
  }
  // Limits the caller to the queue `mail`, or lifts the limit.
  void limit(bool limited = true) {
    caller_.access =
        limited ? tokens_.authenticate("Bearer " + make_token({}, {}).token, {}).access : nullptr;
  }
  Caller& caller() { return caller_; }
  Services& services() { return services_; }

 private:
  template <typename T>
  static Task<void> keep(Task<T>& operation, std::optional<T>& result) {
    T value = co_await operation;
    result.emplace(std::move(value));
  }

  engine::Reads reads_;
  engine::EventFeed feed_;
  engine::ReadModels models_;
  Tokens tokens_{one_token()};
  Catalog catalog_;
  NoOperations operations_;
  ReaderPool readers_{1};
  Services services_;
  AnswerPort port_;
  IdMaker ids_{1};
  Caller caller_{services_, port_, ids_};
};

}  // namespace millrace::service
