#include "kernels/cuda/skyline/team.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/range.hpp"
#include "kernels/cuda/device/select.cuh"
#include "kernels/cuda/skyline/bitmap/phases.cuh"
#include "kernels/cuda/skyline/bitmap/reduce.cuh"

// cuda-blocked-bitmap on several GPUs.
//
// Each GPU leaves out rows of its share by the prefilter, and packs the keys of those that remain, the survivors.
// All GPUs copy the others' packed keys, so that they hold the same columns, survivors of the first share first. Each
// orders them alone: equal keys in equal places give equal candidates everywhere, so nothing need be exchanged for it.
// Each GPU then does its share of the comparisons, which take most of the time: a row of the skyline dominates what it
// dominates in exactly one of the shares, so the rows that no GPU finds dominated are the answer. Each GPU looks at the
// others' bits of its own survivors, and lists its own rows.
namespace skyrank::kernels::cuda::skyline {
namespace bitmap {
namespace {

/// Writes the keys of the listed rows, one next to the other; columns are `stride` keys apart.
template <class Key>
__global__ void __launch_bounds__(kMapThreads)
    pack_rows(const __grid_constant__ KeyTable<Key> table, const std::uint32_t* list, std::uint32_t count, Key* packed,
              std::size_t stride) {
  const std::uint32_t i = blockIdx.x * kMapThreads + threadIdx.x;
  if (i >= count) return;
  const std::uint32_t row = list[i];
  for (int j = 0; j < table.d; ++j) packed[static_cast<unsigned>(j) * stride + i] = table.columns[j][row];
}

/// Bits of the same survivors from several GPUs.
struct TeamBits {
  const std::uint32_t* words = nullptr;
  std::size_t stride = 0;  ///< words from one GPU's to the next
  std::uint32_t gpus = 0;
  std::uint32_t first = 0;  ///< bit of the first survivor
};

/// Sets the members' bits of the listed rows that have all bits set.
__global__ void __launch_bounds__(kMapThreads)
    mark_common(const TeamBits bits, const std::uint32_t* list, std::uint32_t count, std::uint32_t* members) {
  const std::uint32_t i = blockIdx.x * kMapThreads + threadIdx.x;
  if (i >= count) return;
  const std::uint32_t bit = bits.first + i;
  std::uint32_t word = ~0u;
  for (std::uint32_t g = 0; g < bits.gpus; ++g) word &= bits.words[g * bits.stride + bit / 32];
  if ((word >> bit % 32 & 1u) == 0) return;
  const std::uint32_t row = list[i];
  atomicOr(&members[row / 32], 1u << (row % 32));
}

/// Sends a thread's work to a GPU of the team while it lives.
class OnDevice {
 public:
  explicit OnDevice(const SelectedDevice& device) : scope_(device), current_(device.ordinal) {}

 private:
  DeviceScope scope_;
  CurrentDevice current_;
};

DeviceContext& context_of(const SelectedDevice& device) {
  const DeviceScope scope(device);
  return DeviceContext::of_process();
}

/// The right to use the contexts of all GPUs, taken in ascending order, so that teams never wait for each other.
class Leases {
 public:
  explicit Leases(std::vector<DeviceContext*> contexts) {
    std::ranges::sort(contexts, {}, &DeviceContext::ordinal);
    for (DeviceContext* const context : contexts) leases_.push_back(std::make_unique<Lease>(*context));
  }
  ~Leases() {
    while (!leases_.empty()) leases_.pop_back();  // each brings back the device that was current before it
  }
  Leases(const Leases&) = delete;
  Leases& operator=(const Leases&) = delete;

 private:
  std::vector<std::unique_ptr<Lease>> leases_;
};

/// Waits for all GPUs in the end, also where an exception frees memory that others read.
class Ending {
 public:
  explicit Ending(std::vector<DeviceContext*> contexts) : contexts_(std::move(contexts)) {}
  ~Ending() {
    for (const DeviceContext* const context : contexts_) (void)cudaStreamSynchronize(context->stream());
  }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;

 private:
  const std::vector<DeviceContext*> contexts_;
};

/// One GPU of a team, and what it makes.
template <class Key>
class Member {
 public:
  Member(const TeamShare& share, DeviceContext& device, const Context& context)
      : device_(share.device), run_({device, parameters_, context, work_}, stages_) {
    table_.n = static_cast<std::uint32_t>(share.n);
    table_.d = static_cast<int>(share.keys.size());
    for (std::size_t c = 0; c < share.keys.size(); ++c) table_.columns[c] = share.keys[c].as<Key>();
    bits_ = run_.template allocate<std::uint32_t>((share.n + 31) / 32);
    SKYRANK_CUDA_CALL(cudaMemsetAsync(bits_.data(), 0, bits_.bytes(), run_.stream()));
  }

  const SelectedDevice& device() const { return device_; }
  DeviceContext& context() const { return run_.device; }
  std::uint32_t count() const { return count_; }
  const Work& work() const { return work_; }

  void start_prefilter() {
    // Few of a share may be many of all, so none are settled here.
    if (table_.n > 0) survivors_ = bitmap::start_prefilter<Key>(run_, table_, 0, bits_.data());
  }
  void count_survivors() {
    if (table_.n > 0) count_ = bitmap::count_survivors<Key>(run_, survivors_);
  }

  /// Packs its survivors to their place in columns of `total` keys. The others may read them after `packed()`.
  void pack(std::uint32_t first, std::uint32_t total) {
    first_ = first;
    total_ = total;
    columns_ = run_.template allocate<Key>(std::size_t{total} * static_cast<std::size_t>(table_.d));
    if (count_ > 0) {
      launch("pack_rows", pack_rows<Key>, one_each(count_), run_.stream(), table_, survivors_.rows.data(), count_,
             columns_.data() + first, std::size_t{total});
    }
    packed_.record(run_.stream());
  }

  /// Copies another one's packed keys.
  void fetch_rows(const Member& other) {
    if (other.count_ == 0) return;
    other.packed_.hold(run_.stream());
    for (std::size_t j = 0; j < static_cast<std::size_t>(table_.d); ++j) {
      const std::size_t offset = j * total_ + other.first_;
      copy(columns_.data() + offset, other.columns_.data() + offset, other.count_ * sizeof(Key));
    }
  }

  /// Orders the rows of all, and finds those that dominate others in its share of the comparisons.
  void compare(ReduceShare share) {
    KeyTable<Key> all{};
    all.n = total_;
    all.d = table_.d;
    for (int j = 0; j < all.d; ++j) all.columns[j] = columns_.data() + static_cast<std::size_t>(j) * total_;
    ordered_ = order_rows<Key>(run_, all, nullptr, total_);
    reduce_groups(run_, ordered_.rows, share);
    run_.end_stage("reduce");
    left_ = run_.template allocate<std::uint32_t>(words());
    SKYRANK_CUDA_CALL(cudaMemsetAsync(left_.data(), 0, left_.bytes(), run_.stream()));
    mark_undominated(run_, ordered_, nullptr, left_.data());
    compared_.record(run_.stream());
  }

  /// Finds the rows of its share that are left on all GPUs.
  void settle(std::span<const std::unique_ptr<Member>> team) {
    if (count_ == 0) return;
    const std::size_t begin = first_ / 32;
    const std::size_t size = (std::size_t{first_} + count_ + 31) / 32 - begin;
    common_ = run_.template allocate<std::uint32_t>(size * team.size());
    for (std::size_t g = 0; g < team.size(); ++g) {
      if (team[g].get() != this) team[g]->compared_.hold(run_.stream());
      copy(common_.data() + g * size, team[g]->left_.data() + begin, size * sizeof(std::uint32_t));
    }
    const TeamBits bits{
        .words = common_.data(), .stride = size, .gpus = static_cast<std::uint32_t>(team.size()), .first = first_ % 32};
    launch("mark_common", mark_common, one_each(count_), run_.stream(), bits, survivors_.rows.data(), count_,
           bits_.data());
  }

  /// Returns the number of its rows in the skyline; waits for the device.
  std::size_t count_found() {
    if (count_ > 0) selected_.emplace(BitIs{bits_.data()}, table_.n, run_.device);
    const std::size_t found = count_ > 0 ? selected_->count() : 0;
    run_.device.synchronize();
    run_.collect();
    return found;
  }

  /// Lists its rows in the skyline, counted from row `first`.
  void list(RowId first, const DeviceArray& rows) const {
    if (rows.bytes() == 0) return;
    selected_->list(IdAt{.first = static_cast<std::size_t>(first)}, static_cast<RowId*>(rows.data()));
  }

 private:
  std::size_t words() const { return (std::size_t{total_} + 31) / 32; }

  void copy(void* to, const void* from, std::size_t bytes) const {
    SKYRANK_CUDA_CALL(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, run_.stream()));
  }

  const SelectedDevice device_;
  const ParameterValues parameters_;
  Work work_;
  std::vector<StageWork> stages_;
  SkylineRun run_;
  KeyTable<Key> table_{};
  std::uint32_t count_ = 0;  // survivors of its share
  std::uint32_t first_ = 0;  // place of the first of them among those of all
  std::uint32_t total_ = 0;  // survivors of all
  Survivors<Key> survivors_;
  Buffer<Key> columns_;  // keys of the survivors of all
  OrderedRows ordered_;
  Buffer<std::uint32_t> left_;                // a bit for each survivor that its comparisons leave
  Buffer<std::uint32_t> common_;              // those of its own survivors, from all GPUs
  Buffer<std::uint32_t> bits_;                // a bit for each row of its share in the skyline
  std::optional<Selection<BitIs>> selected_;  // by these bits; once they are counted
  Event packed_;
  Event compared_;
};

/// A team at work.
template <class Key>
class Team {
 public:
  Team(std::span<const TeamShare> shares, std::span<DeviceContext* const> contexts, const Context& context)
      : context_(context) {
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const OnDevice on(shares[i].device);
      for (const DeviceContext* const other : contexts) contexts[i]->memory().let_access(other->ordinal());
      members_.push_back(std::make_unique<Member<Key>>(shares[i], *contexts[i], context));
    }
  }

  /// Finds the skyline; returns how many rows of it each GPU has.
  std::vector<std::size_t> find() {
    each([](Member<Key>& member) { member.start_prefilter(); });
    each([](Member<Key>& member) { member.count_survivors(); });
    std::uint32_t total = 0;
    for (const auto& member : members_) total += member->count();
    std::uint32_t first = 0;
    each([&](Member<Key>& member) {
      member.pack(first, total);
      first += member.count();
    });
    each([&](Member<Key>& member) {
      for (const auto& other : members_) {
        if (other.get() != &member) member.fetch_rows(*other);
      }
      const ReduceShare share{.member = place_of(member), .members = static_cast<std::uint32_t>(members_.size())};
      member.compare(share);
    });
    each([&](Member<Key>& member) { member.settle(members_); });
    std::vector<std::size_t> counts;
    each([&](Member<Key>& member) { counts.push_back(member.count_found()); });
    return counts;
  }

  const std::vector<std::unique_ptr<Member<Key>>>& members() const { return members_; }

 private:
  /// Does something on all GPUs, one after the other: what is put on their streams runs side by side.
  template <class F>
  void each(const F& f) {
    context_.check();
    for (const auto& member : members_) {
      const OnDevice on(member->device());
      f(*member);
    }
  }

  std::uint32_t place_of(const Member<Key>& member) const {
    const auto is_it = [&](const auto& other) { return other.get() == &member; };
    return static_cast<std::uint32_t>(std::ranges::find_if(members_, is_it) - members_.begin());
  }

  const Context& context_;
  std::vector<std::unique_ptr<Member<Key>>> members_;
};

template <class Key>
TeamRows find_rows(std::span<const TeamShare> shares, const Context& context) {
  std::vector<DeviceContext*> contexts;
  for (const TeamShare& share : shares) contexts.push_back(&context_of(share.device));
  TeamRows found;
  std::optional<Team<Key>> team;
  {
    const Leases leases(contexts);
    team.emplace(shares, contexts, context);
    const Ending ending(contexts);
    found.counts = team->find();
  }
  RowId first = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const OnDevice on(shares[i].device);
    const Member<Key>& member = *team->members()[i];
    const DeviceArray& rows = found.rows.emplace_back(found.counts[i] * sizeof(RowId));
    const Lease lease(member.context());
    member.list(first, rows);
    first += static_cast<RowId>(shares[i].n);
    found.left.push_back(member.count());
    found.work += member.work();
  }
  return found;
}

}  // namespace
}  // namespace bitmap

TeamRows find_skyline_as_team(std::span<const TeamShare> shares, KeyWidth width, const Context& context) {
  context.check();
  const Range range("skyline");
  const std::size_t n = std::accumulate(shares.begin(), shares.end(), std::size_t{0},
                                        [](std::size_t sum, const TeamShare& share) { return sum + share.n; });
  if (n == 0) {
    const std::vector<std::size_t> none(shares.size());
    return {.rows = std::vector<DeviceArray>(shares.size()), .counts = none, .left = none};
  }
  return width == KeyWidth::bytes8 ? bitmap::find_rows<std::uint64_t>(shares, context)
                                   : bitmap::find_rows<std::uint32_t>(shares, context);
}

}  // namespace skyrank::kernels::cuda::skyline
