#include "tests/emulator/scheduler.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "tests/emulator/fiber.hpp"
#include "tests/emulator/poison.hpp"

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace skyrank::emulator {
namespace {

constexpr unsigned kLanes = 32;
/// A warp whose lanes wait only for each other goes on this often before other warps have their turn.
constexpr int kTurnsOfAWarp = 1024;
/// So many turns in which threads do nothing but sleep are a deadlock.
constexpr int kIdleTurns = 10'000;

const char* name(Collective collective) {
  static constexpr const char* kNames[] = {
      "__syncthreads",     "__syncthreads_count", "__syncthreads_and", "__syncthreads_or",  "__syncwarp",
      "__shfl_sync",       "__shfl_up_sync",      "__shfl_down_sync",  "__shfl_xor_sync",   "__ballot_sync",
      "__any_sync",        "__all_sync",          "__match_any_sync",  "__reduce_add_sync", "__reduce_min_sync",
      "__reduce_min_sync", "__reduce_max_sync",   "__reduce_max_sync", "__reduce_and_sync", "__reduce_or_sync",
      "__reduce_xor_sync",
  };
  return kNames[static_cast<std::size_t>(collective)];
}

bool is_barrier(Collective collective) { return collective <= Collective::syncthreads_or; }

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

/// Calls `visit(lane)` for the lanes of a mask, upwards or downwards.
template <class Visit>
void for_each_lane(unsigned mask, bool upwards, Visit visit) {
  while (mask != 0) {
    const int lane = upwards ? std::countr_zero(mask) : 31 - std::countl_zero(mask);
    mask &= ~(1U << lane);
    visit(static_cast<unsigned>(lane));
  }
}

struct Thread {
  enum class State : std::uint8_t { ready, waiting, sleeping, ended };

  explicit Thread(void (*run)(void*)) : fiber(run, this) {}

  Fiber fiber;
  uint3 index{};
  unsigned warp = 0;
  unsigned lane = 0;
  State state = State::ended;
  // Where it waits, and what it brings there and takes away.
  Collective collective = Collective::syncthreads;
  unsigned mask = 0;
  Place place;
  std::uint64_t value = 0;
  unsigned source = 0;
  std::uint64_t result = 0;
};

/// Lanes that have come to one collective, while others of its mask have not.
struct Meeting {
  Collective collective = Collective::syncwarp;
  unsigned mask = 0;
  unsigned arrived = 0;
};

struct Warp {
  std::array<Thread*, kLanes> threads{};
  unsigned alive = 0;
  unsigned ready = 0;
  unsigned sleeping = 0;
  std::vector<Meeting> meetings;
};

std::uint32_t fold(const Warp& warp, unsigned mask, auto combine) {
  auto total = static_cast<std::uint32_t>(warp.threads[static_cast<unsigned>(std::countr_zero(mask))]->value);
  for_each_lane(mask & (mask - 1), true,
                [&](unsigned lane) { total = combine(total, static_cast<std::uint32_t>(warp.threads[lane]->value)); });
  return total;
}

std::uint32_t lesser(std::uint32_t a, std::uint32_t b, bool is_signed) {
  const bool less = is_signed ? static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) : a < b;
  return less ? a : b;
}

/// The lanes whose value is `value`, or where `value` is unset those with any but 0.
unsigned lanes_with(const Warp& warp, unsigned mask, auto holds) {
  unsigned lanes = 0;
  for_each_lane(mask, true, [&](unsigned lane) { lanes |= holds(warp.threads[lane]->value) ? 1U << lane : 0U; });
  return lanes;
}

/// What one lane gets when all lanes of the mask have come.
std::uint64_t result_of(const Warp& warp, unsigned mask, const Thread& thread) {
  switch (thread.collective) {
    case Collective::shfl:
    case Collective::shfl_up:
    case Collective::shfl_down:
    case Collective::shfl_xor:
      // A lane outside the mask gives what nobody may rely on.
      return (mask >> thread.source & 1U) != 0 ? warp.threads[thread.source]->value : kPoisonWord;
    case Collective::match_any:
      return lanes_with(warp, mask, [&](std::uint64_t value) { return value == thread.value; });
    case Collective::ballot:
    case Collective::any:
    case Collective::all: return lanes_with(warp, mask, [](std::uint64_t value) { return value != 0; });
    case Collective::reduce_add: return fold(warp, mask, std::plus<std::uint32_t>());
    case Collective::reduce_min: return fold(warp, mask, [](auto a, auto b) { return lesser(a, b, false); });
    case Collective::reduce_min_signed: return fold(warp, mask, [](auto a, auto b) { return lesser(a, b, true); });
    case Collective::reduce_max: return fold(warp, mask, [](auto a, auto b) { return a ^ b ^ lesser(a, b, false); });
    case Collective::reduce_max_signed:
      return fold(warp, mask, [](auto a, auto b) { return a ^ b ^ lesser(a, b, true); });
    case Collective::reduce_and: return fold(warp, mask, std::bit_and<std::uint32_t>());
    case Collective::reduce_or: return fold(warp, mask, std::bit_or<std::uint32_t>());
    case Collective::reduce_xor: return fold(warp, mask, std::bit_xor<std::uint32_t>());
    default: return 0;
  }
}

/// Whether all lanes get the same.
bool is_uniform(Collective collective) {
  return collective >= Collective::ballot && collective != Collective::match_any;
}

/// The threads of one block at a time. Those that are ready run upwards and downwards by turns, so that what leans on
/// an order that no barrier makes shows.
class Scheduler {
 public:
  void run(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes, ThreadFunction thread);

  unsigned meet_block(Collective collective, bool predicate, const Place& place);
  std::uint64_t meet_warp(Collective collective, unsigned mask, std::uint64_t value, unsigned source,
                          const Place& place);
  void yield(const Place& place);
  void* dynamic_shared(const Place& place);
  const Thread& current(const Place& place);
  [[noreturn]] void fail(const std::string& what);

 private:
  struct FreeShared {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, kSharedAlignment); }
  };
  static constexpr std::align_val_t kSharedAlignment{16};

  void run_block();
  bool run_turn();
  void run_warp(Warp& warp);
  static void run_thread(void* thread);
  void end(Thread& thread);
  void wait(Thread& thread);
  void check_mask(const Thread& thread, const Place& place, unsigned mask);
  void leave_barrier();
  std::string describe_waits() const;

  std::deque<Thread> threads_;
  std::vector<Warp> warps_;
  std::size_t size_ = 0;  ///< threads of a block
  ThreadFunction function_;
  std::unique_ptr<std::byte[], FreeShared> shared_;
  std::size_t shared_bytes_ = 0;
  Thread* current_ = nullptr;
  bool upwards_ = false;
  bool progress_ = false;
  // The block's barrier.
  std::size_t alive_ = 0;
  std::size_t arrived_ = 0;
  unsigned holding_ = 0;  ///< arrived threads whose predicate holds
  unsigned result_ = 0;
  bool torn_ = false;  ///< the arrived threads are at different barriers
  const Thread* first_ = nullptr;
};

Scheduler& scheduler() {
  static Scheduler only;
  return only;
}

void Scheduler::run(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes, ThreadFunction thread) {
  function_ = thread;
  blockDim = block;
  gridDim = grid;
  size_ = std::size_t{block.x} * block.y * block.z;
  shared_bytes_ = dynamic_shared_bytes;
  shared_.reset(static_cast<std::byte*>(::operator new[](shared_bytes_, kSharedAlignment)));
  while (threads_.size() < size_) threads_.emplace_back(&Scheduler::run_thread);
  warps_.resize((size_ + kLanes - 1) / kLanes);
  for (std::size_t i = 0; i < size_; ++i) {
    Thread& of_block = threads_[i];
    const auto linear = static_cast<unsigned>(i);
    of_block.index = {linear % block.x, linear / block.x % block.y, linear / block.x / block.y};
    of_block.warp = linear / kLanes;
    of_block.lane = linear % kLanes;
    warps_[of_block.warp].threads[of_block.lane] = &of_block;
  }
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

void Scheduler::run_block() {
  std::memset(shared_.get(), kPoison, shared_bytes_);
  alive_ = size_;
  for (std::size_t i = 0; i < size_; ++i) threads_[i].state = Thread::State::ready;
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    const std::size_t lanes = std::min<std::size_t>(kLanes, size_ - i * kLanes);
    warps_[i].alive = warps_[i].ready = ~0U >> (kLanes - lanes);
  }
  for (int idle = 0; alive_ > 0;) {
    if (!run_turn()) fail("deadlock: every thread waits" + describe_waits());
    idle = progress_ ? 0 : idle + 1;
    if (idle > kIdleTurns) fail("deadlock: nothing but __nanosleep goes on" + describe_waits());
  }
}

/// Every thread that can goes on once, at least. False: there is none.
bool Scheduler::run_turn() {
  upwards_ = !upwards_;
  progress_ = false;
  bool any = false;
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    Warp& warp = warps_[upwards_ ? i : warps_.size() - 1 - i];
    warp.ready |= warp.sleeping;
    warp.sleeping = 0;
    any = any || warp.ready != 0;
    for (int turn = 0; warp.ready != 0 && turn < kTurnsOfAWarp; ++turn) run_warp(warp);
  }
  return any;
}

void Scheduler::run_warp(Warp& warp) {
  for_each_lane(warp.ready, upwards_, [&](unsigned lane) {
    warp.ready &= ~(1U << lane);
    Thread& thread = *warp.threads[lane];
    thread.state = Thread::State::ready;
    threadIdx = thread.index;
    current_ = &thread;
    thread.fiber.resume();
    current_ = nullptr;
  });
}

void Scheduler::run_thread(void* thread) {
  Scheduler& self = scheduler();
  self.function_.run(self.function_.arguments);
  self.end(*static_cast<Thread*>(thread));
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

void Scheduler::wait(Thread& thread) {
  thread.state = Thread::State::waiting;
  thread.fiber.suspend();
}

unsigned Scheduler::meet_block(Collective collective, bool predicate, const Place& place) {
  current(place);
  Thread& thread = *current_;
  progress_ = true;
  thread.collective = collective;
  thread.place = place;
  if (arrived_ == 0) first_ = &thread;
  torn_ = torn_ || first_->collective != collective || !same(first_->place, place);
  holding_ += predicate ? 1 : 0;
  if (++arrived_ == alive_) {
    thread.state = Thread::State::waiting;
    leave_barrier();
    warps_[thread.warp].ready &= ~(1U << thread.lane);
    thread.state = Thread::State::ready;
  } else {
    wait(thread);
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

void Scheduler::check_mask(const Thread& thread, const Place& place, unsigned mask) {
  const unsigned alive = warps_[thread.warp].alive;
  const std::string who = "thread " + describe(thread.index) + " at " + describe(place);
  if ((mask >> thread.lane & 1U) == 0) fail(who + " is not in its own mask " + describe(mask));
  fail(who + " gives mask " + describe(mask) + ", but of its warp only " + describe(alive) + " have not ended");
}

std::uint64_t Scheduler::meet_warp(Collective collective, unsigned mask, std::uint64_t value, unsigned source,
                                   const Place& place) {
  current(place);
  Thread& thread = *current_;
  Warp& warp = warps_[thread.warp];
  const unsigned own = 1U << thread.lane;
  if ((mask & own) == 0 || (mask & ~warp.alive) != 0) check_mask(thread, place, mask);
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
    wait(thread);
    return thread.result;
  }
  warp.meetings.erase(meeting);
  const std::uint64_t common = is_uniform(collective) ? result_of(warp, mask, thread) : 0;
  for_each_lane(mask, true, [&](unsigned lane) {
    Thread& member = *warp.threads[lane];
    member.result = is_uniform(collective) ? common : result_of(warp, mask, member);
  });
  warp.ready |= mask & ~own;
  return thread.result;
}

void Scheduler::yield(const Place& place) {
  current(place);
  Thread& thread = *current_;
  thread.place = place;
  thread.state = Thread::State::sleeping;
  warps_[thread.warp].sleeping |= 1U << thread.lane;
  thread.fiber.suspend();
}

void* Scheduler::dynamic_shared(const Place& place) {
  const Thread& thread = current(place);
  if (shared_bytes_ == 0) {
    fail("thread " + describe(thread.index) + " at " + describe(place) +
         " asks for dynamic shared memory, but the launch gave none");
  }
  return shared_.get();
}

const Thread& Scheduler::current(const Place& place) {
  if (current_ == nullptr) {
    std::fprintf(stderr, "CUDA emulator: the host calls a function of the device at %s\n", describe(place).c_str());
    std::abort();
  }
  return *current_;
}

void Scheduler::fail(const std::string& what) {
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
  for (std::size_t begin = 0, end = 0; begin < size_; begin = end) {
    const std::string wait = describe_wait(threads_[begin]);
    while (end < size_ && describe_wait(threads_[end]) == wait) ++end;
    lines += "\n  thread " + describe(threads_[begin].index);
    if (end - begin > 1) lines += " to " + describe(threads_[end - 1].index);
    lines += ": " + wait;
  }
  return lines;
}

/// The lane that a shuffle reads. Distances count modulo 32, and what would leave the segment reads itself.
unsigned source_lane(Collective collective, unsigned lane, unsigned operand, unsigned width) {
  const unsigned first = lane & ~(width - 1);
  const unsigned last = first + width - 1;
  switch (collective) {
    case Collective::shfl: return first | (operand & (width - 1));
    case Collective::shfl_up: return lane >= first + operand ? lane - operand : lane;
    case Collective::shfl_down: return lane + operand <= last ? lane + operand : lane;
    default: return (lane ^ operand) <= last ? lane ^ operand : lane;
  }
}

}  // namespace

void run_grid(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes, ThreadFunction thread) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  scheduler().run(grid, block, dynamic_shared_bytes, thread);
}

unsigned meet_block(Collective collective, bool predicate, Place place) {
  return scheduler().meet_block(collective, predicate, place);
}

std::uint64_t meet_warp(Collective collective, unsigned mask, std::uint64_t value, Place place) {
  return scheduler().meet_warp(collective, mask, value, 0, place);
}

std::uint64_t shuffle(Collective collective, unsigned mask, std::uint64_t value, int operand, int width, Place place) {
  const Thread& thread = scheduler().current(place);
  if (width < 1 || width > warpSize || !std::has_single_bit(static_cast<unsigned>(width))) {
    scheduler().fail("thread " + describe(thread.index) + " shuffles with width " + std::to_string(width) + " at " +
                     describe(place) + ": must be a power of 2 up to 32");
  }
  const unsigned source =
      source_lane(collective, thread.lane, static_cast<unsigned>(operand) % kLanes, static_cast<unsigned>(width));
  return scheduler().meet_warp(collective, mask, value, source, place);
}

unsigned own_lane(Place place) { return 1U << scheduler().current(place).lane; }

void yield(Place place) { scheduler().yield(place); }

void trap(Place place) {
  const Thread& thread = scheduler().current(place);
  scheduler().fail("__trap by thread " + describe(thread.index) + " at " + describe(place));
}

long long ticks() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

}  // namespace skyrank::emulator

void* emulated_dynamic_shared(skyrank::emulator::Place place) {
  return skyrank::emulator::scheduler().dynamic_shared(place);
}
