#include "tests/emulator/scheduler.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "tests/emulator/collectives.hpp"
#include "tests/emulator/fiber.hpp"
#include "tests/emulator/poison.hpp"

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace skyrank::emulator {
namespace {

/// A warp whose lanes wait only for each other goes on this often before other warps have their turn.
constexpr int kRoundsOfAWarp = 1024;
/// Turns in which threads do nothing but sleep, from which on there is a deadlock.
constexpr int kIdleTurns = 10'000;

bool same(const Place& a, const Place& b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

std::string describe(const Place& place) { return std::string(place.file) + ":" + std::to_string(place.line); }

std::string describe(uint3 index) {
  return "(" + std::to_string(index.x) + "," + std::to_string(index.y) + "," + std::to_string(index.z) + ")";
}

std::string describe(unsigned mask) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", mask);
  return text.data();
}

/// The threads of one block at a time. Those that are ready run upwards and downwards by turns, so that what leans on
/// an order that no barrier makes shows. A thread that waits or ends chooses the next one itself. Only threads that
/// wait hold a fiber: one that ends without leaves its own to the next.
class Scheduler {
 public:
  void run(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes, ThreadFunction thread);

  unsigned meet_block(Collective collective, bool predicate, const Place& place);
  std::uint64_t meet_warp(Collective collective, unsigned mask, std::uint64_t value, unsigned source,
                          const Place& place);
  void yield(const Place& place);
  void* dynamic_shared(const Place& place);
  Thread& current(const Place& place) {
    if (current_ == nullptr) fail_on_host(place);
    return *current_;
  }
  [[noreturn]] void fail(const std::string& what) const;

 private:
  struct FreeShared {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, kSharedAlignment); }
  };
  static constexpr std::align_val_t kSharedAlignment{16};

  void place_threads(dim3 block);
  void run_block();
  static void run_threads(void* scheduler);
  void end(Thread& thread);
  void wait(Thread& thread);
  Thread& next();
  void begin_turn();
  unsigned first_of(unsigned lanes) const {
    return static_cast<unsigned>(upwards_ ? std::countr_zero(lanes) : 31 - std::countl_zero(lanes));
  }
  Warp& warp_at(std::size_t position) { return warps_[upwards_ ? position : warps_.size() - 1 - position]; }
  Fiber& fiber_of(Thread& thread);
  void leave_barrier();
  [[noreturn]] void fail_mask(const Thread& thread, const Place& place, unsigned mask) const;
  [[noreturn]] static void fail_on_host(const Place& place);
  std::string describe_waits() const;

  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  ThreadFunction function_;
  std::unique_ptr<std::byte[], FreeShared> shared_;
  std::size_t shared_bytes_ = 0;
  Thread* current_ = nullptr;
  Fiber* outside_ = nullptr;  ///< fiber that launched the kernel
  std::vector<Fiber*> idle_;  ///< without a thread
  // The thread that is next: a turn goes through all warps.
  bool upwards_ = false;
  bool ran_ = false;       ///< a thread, in this turn
  bool progress_ = false;  ///< a thread did more than sleep, in this turn
  int idle_turns_ = 0;
  std::size_t position_ = 0;  ///< warps of this turn that had theirs, or have it
  int rounds_ = 0;            ///< rounds that the lanes of the warp have gone on
  unsigned todo_ = 0;         ///< lanes of the warp that are still to go on in this round
  // The block's barrier.
  std::size_t alive_ = 0;
  std::size_t arrived_ = 0;
  unsigned holding_ = 0;  ///< arrived threads whose predicate holds
  unsigned result_ = 0;
  bool torn_ = false;  ///< the arrived threads are at different barriers
  const Thread* first_ = nullptr;
};

/// Never destroyed, as the fibers are not.
Scheduler& scheduler = *new Scheduler;

void Scheduler::run(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes, ThreadFunction thread) {
  Fiber outside;
  outside_ = &outside;
  function_ = thread;
  blockDim = block;
  gridDim = grid;
  shared_bytes_ = dynamic_shared_bytes;
  shared_.reset(static_cast<std::byte*>(::operator new[](shared_bytes_, kSharedAlignment)));
  place_threads(block);
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        run_block();
      }
    }
  }
  shared_.reset();
}

void Scheduler::place_threads(dim3 block) {
  threads_.assign(std::size_t{block.x} * block.y * block.z, {});
  warps_.resize((threads_.size() + kLanes - 1) / kLanes);
  for (unsigned i = 0; i < threads_.size(); ++i) {
    Thread& thread = threads_[i];
    thread.index = {i % block.x, i / block.x % block.y, i / block.x / block.y};
    thread.warp = i / kLanes;
    thread.lane = i % kLanes;
    warps_[thread.warp].threads[thread.lane] = &thread;
  }
}

void Scheduler::run_block() {
  std::memset(shared_.get(), kPoison, shared_bytes_);
  alive_ = threads_.size();
  for (Thread& thread : threads_) {
    thread.state = Thread::State::ready;
    thread.fiber = nullptr;
  }
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    const std::size_t lanes = std::min<std::size_t>(kLanes, threads_.size() - i * kLanes);
    warps_[i].alive = warps_[i].ready = ~0U >> (kLanes - lanes);
  }
  idle_turns_ = 0;
  begin_turn();
  Thread& first = next();
  outside_->switch_to(fiber_of(first));
}

/// The body of a fiber: it runs threads to their end until the next one has a fiber of its own.
void Scheduler::run_threads(void* scheduler_of_it) {
  Scheduler& self = *static_cast<Scheduler*>(scheduler_of_it);
  for (;;) {
    Thread& thread = *self.current_;
    self.function_.run(self.function_.arguments);
    Fiber& own = *thread.fiber;
    self.end(thread);
    if (self.alive_ == 0) {
      self.current_ = nullptr;
      self.idle_.push_back(&own);
      own.switch_to(*self.outside_);
      continue;
    }
    Thread& after = self.next();
    self.idle_.push_back(&own);
    Fiber& there = self.fiber_of(after);
    if (&there != &own) own.switch_to(there);
  }
}

void Scheduler::begin_turn() {
  upwards_ = !upwards_;
  ran_ = false;
  progress_ = false;
  position_ = 0;
  todo_ = 0;
  rounds_ = kRoundsOfAWarp;
}

/// Chooses who goes on.
Thread& Scheduler::next() {
  while (todo_ == 0) {
    if (position_ > 0 && rounds_ < kRoundsOfAWarp && warp_at(position_ - 1).ready != 0) {
      ++rounds_;
    } else if (position_ < warps_.size()) {
      Warp& warp = warp_at(position_++);
      warp.ready |= warp.sleeping;
      warp.sleeping = 0;
      ran_ = ran_ || warp.ready != 0;
      rounds_ = 1;
    } else {
      if (!ran_) fail("deadlock: every thread waits" + describe_waits());
      idle_turns_ = progress_ ? 0 : idle_turns_ + 1;
      if (idle_turns_ > kIdleTurns) fail("deadlock: nothing but __nanosleep goes on" + describe_waits());
      begin_turn();
      continue;
    }
    todo_ = warp_at(position_ - 1).ready;
  }
  Warp& warp = warp_at(position_ - 1);
  const unsigned lane = first_of(todo_);
  todo_ &= ~(1U << lane);
  warp.ready &= ~(1U << lane);
  if (todo_ != 0) {
    const Fiber* const after = warp.threads[first_of(todo_)]->fiber;
    if (after != nullptr) after->fetch();
  }
  return *warp.threads[lane];
}

/// Makes the thread the current one, and says on which fiber it is to go on.
Fiber& Scheduler::fiber_of(Thread& thread) {
  thread.state = Thread::State::ready;
  threadIdx = thread.index;
  current_ = &thread;
  if (thread.fiber == nullptr) {
    if (idle_.empty()) idle_.push_back(new Fiber(&Scheduler::run_threads, this));
    thread.fiber = idle_.back();
    idle_.pop_back();
  }
  return *thread.fiber;
}

void Scheduler::end(Thread& thread) {
  thread.state = Thread::State::ended;
  progress_ = true;
  Warp& warp = warps_[thread.warp];
  const unsigned own = 1U << thread.lane;
  for (const Meeting& meeting : warp.meetings) {
    if ((meeting.mask & own) != 0) {
      fail("deadlock: thread " + describe(thread.index) + " ends while others of its warp wait for it in " +
           name(meeting.collective) + " with mask " + describe(meeting.mask) + describe_waits());
    }
  }
  warp.alive &= ~own;
  --alive_;
  if (arrived_ > 0 && arrived_ == alive_) leave_barrier();
}

/// Others go on until it is this one's turn again.
void Scheduler::wait(Thread& thread) {
  Fiber& own = *thread.fiber;
  Fiber& there = fiber_of(next());
  if (&there != &own) own.switch_to(there);
}

unsigned Scheduler::meet_block(Collective collective, bool predicate, const Place& place) {
  Thread& thread = current(place);
  progress_ = true;
  thread.collective = collective;
  thread.place = place;
  if (arrived_ == 0) first_ = &thread;
  torn_ = torn_ || first_->collective != collective || !same(first_->place, place);
  holding_ += predicate ? 1 : 0;
  thread.state = Thread::State::waiting;
  if (++arrived_ < alive_) {
    wait(thread);
  } else {
    leave_barrier();
    warps_[thread.warp].ready &= ~(1U << thread.lane);
    thread.state = Thread::State::ready;
  }
  return result_;
}

void Scheduler::leave_barrier() {
  if (torn_) fail("deadlock: the threads of a block wait at different barriers" + describe_waits());
  for (Warp& warp : warps_) warp.ready = warp.alive;
  result_ = holding_;
  holding_ = 0;
  arrived_ = 0;
}

void Scheduler::fail_mask(const Thread& thread, const Place& place, unsigned mask) const {
  const unsigned alive = warps_[thread.warp].alive;
  const std::string who = "thread " + describe(thread.index) + " at " + describe(place);
  if ((mask >> thread.lane & 1U) == 0) fail(who + " is not in its own mask " + describe(mask));
  fail(who + " gives mask " + describe(mask) + ", but of its warp only " + describe(alive) + " have not ended");
}

std::uint64_t Scheduler::meet_warp(Collective collective, unsigned mask, std::uint64_t value, unsigned source,
                                   const Place& place) {
  Thread& thread = current(place);
  Warp& warp = warps_[thread.warp];
  const unsigned own = 1U << thread.lane;
  if ((mask & own) == 0 || (mask & ~warp.alive) != 0) fail_mask(thread, place, mask);
  progress_ = true;
  thread.collective = collective;
  thread.mask = mask;
  thread.place = place;
  thread.value = value;
  thread.source = source;
  auto meeting = std::ranges::find_if(
      warp.meetings, [&](const Meeting& other) { return other.collective == collective && other.mask == mask; });
  if (meeting == warp.meetings.end()) {
    meeting = warp.meetings.insert(meeting, {.collective = collective, .mask = mask, .arrived = 0});
  }
  meeting->arrived |= own;
  if (meeting->arrived != mask) {
    thread.state = Thread::State::waiting;
    wait(thread);
    return thread.result;
  }
  warp.meetings.erase(meeting);
  exchange(warp, mask, collective);
  warp.ready |= mask & ~own;
  return thread.result;
}

void Scheduler::yield(const Place& place) {
  Thread& thread = current(place);
  thread.place = place;
  thread.state = Thread::State::sleeping;
  warps_[thread.warp].sleeping |= 1U << thread.lane;
  wait(thread);
}

void* Scheduler::dynamic_shared(const Place& place) {
  const Thread& thread = current(place);
  if (shared_bytes_ == 0) {
    fail("thread " + describe(thread.index) + " at " + describe(place) +
         " asks for dynamic shared memory, but the launch gave none");
  }
  return shared_.get();
}

void Scheduler::fail_on_host(const Place& place) {
  std::fprintf(stderr, "CUDA emulator: the host calls a function of the device at %s\n", describe(place).c_str());
  std::abort();
}

void Scheduler::fail(const std::string& what) const {
  std::fprintf(stderr, "CUDA emulator: block %s: %s\n", describe(blockIdx).c_str(), what.c_str());
  std::abort();
}

/// One line for each run of threads that wait in the same place.
std::string Scheduler::describe_waits() const {
  const auto describe_wait = [](const Thread& thread) -> std::string {
    if (thread.state == Thread::State::ended) return "ended";
    if (thread.state == Thread::State::ready) return "runs";
    if (thread.state == Thread::State::sleeping) return "sleeps at " + describe(thread.place);
    const std::string mask = is_barrier(thread.collective) ? "" : " with mask " + describe(thread.mask);
    return std::string("waits in ") + name(thread.collective) + mask + " at " + describe(thread.place);
  };
  std::string lines;
  for (std::size_t begin = 0, end = 0; begin < threads_.size(); begin = end) {
    const std::string wait = describe_wait(threads_[begin]);
    while (end < threads_.size() && describe_wait(threads_[end]) == wait) ++end;
    lines += "\n  thread " + describe(threads_[begin].index);
    if (end - begin > 1) lines += " to " + describe(threads_[end - 1].index);
    lines += ": " + wait;
  }
  return lines;
}

}  // namespace

void run_grid(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes, ThreadFunction thread) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  scheduler.run(grid, block, dynamic_shared_bytes, thread);
}

unsigned meet_block(Collective collective, bool predicate, Place place) {
  return scheduler.meet_block(collective, predicate, place);
}

std::uint64_t meet_warp(Collective collective, unsigned mask, std::uint64_t value, Place place) {
  return scheduler.meet_warp(collective, mask, value, 0, place);
}

std::uint64_t shuffle(Collective collective, unsigned mask, std::uint64_t value, int operand, int width, Place place) {
  const Thread& thread = scheduler.current(place);
  if (width < 1 || width > warpSize || (width & (width - 1)) != 0) {
    scheduler.fail("thread " + describe(thread.index) + " shuffles with width " + std::to_string(width) + " at " +
                   describe(place) + ": must be a power of 2 up to 32");
  }
  const unsigned source =
      source_lane(collective, thread.lane, static_cast<unsigned>(operand) % kLanes, static_cast<unsigned>(width));
  return scheduler.meet_warp(collective, mask, value, source, place);
}

unsigned own_lane(Place place) { return 1U << scheduler.current(place).lane; }

void yield(Place place) { scheduler.yield(place); }

void trap(Place place) {
  const Thread& thread = scheduler.current(place);
  scheduler.fail("__trap by thread " + describe(thread.index) + " at " + describe(place));
}

long long ticks() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

}  // namespace skyrank::emulator

void* emulated_dynamic_shared(skyrank::emulator::Place place) {
  return skyrank::emulator::scheduler.dynamic_shared(place);
}
