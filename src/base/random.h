// Randomness. Code that is given a seed uses the seeded generator; only server/ and cli/ may use
// the system's.
#pragma once

#include <cstdint>
#include <string>

namespace millrace {

// splitmix64 (Steele, Lea, Flood 2014): one round, a bijection on 64 bits. Also mixes the bits for
// jitter.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// A repeatable stream of 64-bit numbers; not for secrets. Not thread-safe.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mix64(state_ += 0x9e3779b97f4a7c15ULL); }

 private:
  std::uint64_t state_;
};

// From the system's generator (getrandom); for seeds, ids and secrets. Thread-safe.
std::uint64_t system_random();
void system_random_bytes(void* out, std::size_t size);

}  // namespace millrace
