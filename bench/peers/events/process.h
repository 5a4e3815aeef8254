// What the suppliers and consumers of every peer have in common: the order `publish N`, the lines
// that they answer, and what an event is. `bench/src/events.rs` starts them and speaks to them.
//
// An event is a sequence of octets: its number from 0 in the first eight (little endian), and in
// the ninth whether it is the last of its run. The others are 0.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <vector>

namespace events {

inline uint64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1000000000u + uint64_t(time.tv_nsec);
}

inline void say(const char* text) {
  std::puts(text);
  std::fflush(stdout);
}

// Counts what each consumer of this process gets. When all have the last event of a run, says
// `took EVENTS WRONG NANOSECONDS`: how many in all, how many of them out of their order, and when.
class Tally {
 public:
  explicit Tally(size_t consumers) : states_(consumers), left_(consumers) {}

  // A consumer's events come one after the other; different consumers may be served by different
  // threads.
  void took(size_t consumer, const unsigned char* octets, size_t length) {
    State& state = states_[consumer];
    uint64_t number = ~uint64_t(0);
    if (length >= 9) std::memcpy(&number, octets, 8);
    state.wrong += number != state.taken;
    state.taken++;
    if (length >= 9 && octets[8] != 0) ended();
  }

 private:
  struct alignas(64) State {
    uint64_t taken = 0;
    uint64_t wrong = 0;
  };

  void ended() {
    if (left_.fetch_sub(1) != 1) return;
    uint64_t at = now_ns(), taken = 0, wrong = 0;
    for (State& state : states_) {
      taken += state.taken;
      wrong += state.wrong;
      state = State();
    }
    left_ = states_.size();
    char text[128];
    std::snprintf(text, sizeof text, "took %llu %llu %llu", (unsigned long long)taken,
                  (unsigned long long)wrong, (unsigned long long)at);
    say(text);
  }

  std::vector<State> states_;
  std::atomic<size_t> left_;
};

// Reads `publish N` until the input ends: calls `publish` with the octets of each event, then
// `finish`, and answers `sent N NANOSECONDS`, the time before the first.
template <class Publish, class Finish>
void supply(size_t length, Publish publish, Finish finish) {
  std::vector<unsigned char> octets(length);
  unsigned long long count;
  say("ready");
  while (std::scanf(" publish %llu", &count) == 1) {
    uint64_t start = now_ns();
    for (uint64_t number = 0; number < count; number++) {
      std::memcpy(octets.data(), &number, 8);
      octets[8] = number + 1 == count;
      publish(octets);
    }
    finish();
    char text[128];
    std::snprintf(text, sizeof text, "sent %llu %llu", count, (unsigned long long)start);
    say(text);
  }
}

// Waits until the input ends.
inline void wait_for_the_end() {
  while (std::getchar() != EOF) {
  }
}

}  // namespace events
