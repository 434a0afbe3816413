#include "kernels/cuda/select/least_of_long_rows.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/select/digit_search.cuh"
#include "kernels/cuda/select/list_order.cuh"
#include "kernels/cuda/select/long_rows.cuh"
#include "kernels/cuda/select/policy.hpp"
#include "kernels/cuda/topk/in_order/least_in_order.hpp"

// Rows that several blocks read. As in row_selection.cuh a row is read once for the least keys of its groups, and the
// k-th least of these is a bound, which is found here by digits. Only the groups with a key within the bound are read
// again, for a list of the elements that are within it. Of that the k least are put in order by one block or, if they
// are many, found by digits once more and sorted.
//
// Equal numbers: where more groups than enough have the bound as their least key, numbers that equal it are counted
// from the beginning of the row on until they are enough, and no later one is listed.
//
// Example: 2^26 floats, k = 1,024, 528 blocks with 2,048 groups of 62 numbers each: of 1,081,344 least keys the 1,024th
// is the bound; 1,024 groups are read again, and some 1,030 numbers are put in order.
//
// Floor: one read of the row.
namespace skyrank::kernels::cuda::select {
namespace {

/// Puts the k least elements of each list in order, a block a row.
template <class N>
__global__ void __launch_bounds__(kListThreads)
    write_in_order(LongRows<N> from, unsigned k, RowAnswer<typename N::Stored> answer) {
  wait_for_previous();
  let_next_start();
  const std::size_t row = blockIdx.x;
  using Order = ListOrder<N>;
  Order order(from.lists.elements_of(row), from.lists.sizes[row], *dynamic_shared<typename Order::Shared>());
  order.order(k, from.bound_of(row).high, static_cast<unsigned>(from.rows.columns),
              [&](unsigned rank, std::size_t column) { answer.put(from.rows, row, rank, column); });
}

/// The elements of lists.
template <class Element>
struct ListValues {
  ElementLists<Element> lists;

  __device__ std::size_t size(std::size_t row) const { return lists.sizes[row]; }
  __device__ Element at(std::size_t row, std::size_t i) const { return lists.elements_of(row)[i]; }
};

/// Copies the elements that a search has found to be the least, and says how many they are.
template <class Element>
__global__ void __launch_bounds__(kLongThreads)
    take_found(ElementLists<Element> lists, DigitSearch<Element> search, ElementLists<Element> taken,
               topk::Guess<Element>* guesses, unsigned blocks_of_row) {
  wait_for_previous();
  let_next_start();
  const std::size_t row = blockIdx.x / blocks_of_row;
  const auto range = search.template before<kLongThreads>(row, search.places.count);
  if (blockIdx.x % blocks_of_row == 0 && threadIdx.x == 0) {
    guesses[row] = {.failed = 0, .candidates = range.within, .threshold = range.high};
  }
  const std::size_t size = lists.sizes[row];
  ListWriter<Element, kLongThreads> writer(taken, row);
  for (std::size_t first = std::size_t{blockIdx.x % blocks_of_row} * kLongThreads; first < size;
       first += std::size_t{blocks_of_row} * kLongThreads) {
    const std::size_t i = first + threadIdx.x;
    const Element element = i < size ? lists.elements_of(row)[i] : topk::kNoElement<Element>;
    const bool is_taken = i < size && element <= range.high;
    Element* const to = writer.room_for(is_taken ? 1 : 0);
    if (is_taken) *to = element;
    writer.make_room();
  }
  writer.finish();
}

template <class N>
__global__ void __launch_bounds__(kLongThreads)
    write_sorted(RowParts<typename N::Stored> rows, std::size_t row, unsigned k, const typename N::Element* sorted,
                 RowAnswer<typename N::Stored> answer) {
  wait_for_previous();
  let_next_start();
  const unsigned rank = blockIdx.x * kLongThreads + threadIdx.x;
  if (rank < k) answer.put(rows, row, rank, static_cast<std::size_t>(sorted[rank] & N::Bits::kRowMask));
}

/// Launches the kernels.
template <class N>
class LongSelection {
 public:
  using Stored = typename N::Stored;
  using Key = typename N::Key;
  using Element = typename N::Element;
  using Groups = typename LongRows<N>::Groups;

  LongSelection(const RowParts<Stored>& rows, std::size_t blocks, const KeyOrder<Key>& order, std::size_t k,
                Workspace& workspace, const DeviceStream& device)
      : k_(static_cast<unsigned>(k)),
        workspace_(workspace),
        device_(device),
        overlaps_(device.properties.overlaps_launches) {
    constexpr unsigned kKeyBits = 8 * sizeof(Stored);
    from_.rows = rows;
    from_.order = order;
    choose_groups(blocks);
    from_.least = workspace.take<Key>(rows.rows * from_.shares.all());
    if (!has_few_groups()) from_.search.places.add(0, kKeyBits);
    from_.search.ranges = workspace.take<DigitRange<Key>>(rows.rows * from_.search.ranges_of_row());
    from_.search.k = k_;
    from_.search.enough = k_ + k_ / 4 + LongPolicy::kEnough;
    const std::size_t words = rows.columns / Groups::kWidth + 2;
    from_.ties.pieces = static_cast<unsigned>((words + kTieWords - 1) / kTieWords);
    from_.ties.counts = workspace.take<unsigned>(rows.rows * from_.ties.pieces);
    const std::size_t words_of_group = (words + from_.shares.all() - 1) / from_.shares.all();
    from_.lists.room = std::min(rows.columns, (from_.search.enough * words_of_group + kTieWords) * Groups::kWidth + k);
    from_.lists.elements = workspace.take<Element>(rows.rows * from_.lists.room);
    if (is_sorted()) {
      found_.places.add(N::Bits::kRowBits, kKeyBits);
      found_.places.add(0, static_cast<unsigned>(std::bit_width(rows.columns - 1)));
      found_.ranges = workspace.take<DigitRange<Element>>(rows.rows * found_.ranges_of_row());
      found_.k = k_;
      found_.enough = 2 * k_;
      taken_.room = found_.enough;
      taken_.elements = workspace.take<Element>(rows.rows * taken_.room);
      guesses_ = workspace.take<topk::Guess<Element>>(rows.rows);
      sorted_ = workspace.take<Element>(k);
    }
    take_zeros();
  }

  void run(const RowAnswer<Stored>& answer) {
    if (!workspace_.counts()) list();
    if (is_sorted()) return write_sorted_rows(answer);
    if (workspace_.counts()) return;
    launch("write_in_order", write_in_order<N>,
           {.blocks = from_.rows.rows,
            .threads = kListThreads,
            .shared_bytes = sizeof(typename ListOrder<N>::Shared),
            .overlaps = overlaps_},
           device_.stream, from_, k_, answer);
  }

 private:
  /// Lists the numbers of each row that are within its bound.
  void list() const {
    const std::size_t blocks = from_.rows.rows * from_.shares.blocks;
    start("find_least_of_groups", find_least_of_groups<N>, blocks, kLongThreads, from_);
    if (has_few_groups()) {
      start("find_bound_of_few", find_bound_of_few<N>, from_.rows.rows, kBoundThreads, from_);
    } else {
      find<Key>(LeastKeys<Key>{from_.least, from_.shares.all()}, from_.shares.all(), from_.search);
    }
    const unsigned tie_blocks = blocks_of_row(from_.shares.all(), kLongThreads);
    start("find_end_of_ties", find_end_of_ties<N>, tie_blocks * from_.rows.rows, kLongThreads, from_, tie_blocks);
    start("list_within_bound", list_within_bound<N>, blocks, kLongThreads, from_);
  }

  /// Puts the best of the lists in order, row after row.
  void write_sorted_rows(const RowAnswer<Stored>& answer) {
    const std::size_t likely = k_ + k_ / 8;
    if (!workspace_.counts()) {
      find<Element>(ListValues<Element>{from_.lists}, likely, found_);
      const unsigned blocks = blocks_of_row(likely, kLongThreads);
      start("take_found", take_found<Element>, blocks * from_.rows.rows, kLongThreads, from_.lists, found_, taken_,
            guesses_, blocks);
    }
    for (std::size_t row = 0; row < from_.rows.rows; ++row) {
      // The next row has the same memory.
      Workspace workspace = workspace_;
      WorkspaceMemory memory(workspace);
      topk::least_in_order_at_last<Element>({.elements = taken_.elements + row * taken_.room,
                                             .size = likely,
                                             .guess = guesses_ + row,
                                             .capacity = taken_.room},
                                            {.elements = sorted_, .rows = nullptr, .k = k_}, device_, memory,
                                            !workspace.counts());
      if (row + 1 == from_.rows.rows) workspace_ = workspace;
      if (workspace.counts()) continue;
      start("write_sorted", write_sorted<N>, blocks_for(k_, kLongThreads), kLongThreads, from_.rows, row, k_, sorted_,
            answer);
    }
  }

  /// Makes groups larger, for one block to find the bound in little time, as long as enough of them are left and they
  /// are not too long to be read again.
  void choose_groups(std::size_t blocks) {
    const std::size_t least = std::max(LongPolicy::kGroupsOfWanted * k_, LongPolicy::kMinGroups);
    const std::size_t words = from_.rows.columns / Groups::kWidth;
    from_.shares = {.blocks = static_cast<unsigned>(blocks), .of_block = Groups::kAllGroups};
    for (unsigned fewer = kLongThreads; fewer >= kLanes; fewer /= 2) {
      if (blocks * fewer < least || words > LongPolicy::kMaxWords * blocks * fewer) return;
      from_.shares.of_block = fewer;
    }
  }
  bool has_few_groups() const { return from_.shares.all() <= kBoundThreads * kBoundItems; }
  bool is_sorted() const { return k_ > ListOrder<N>::kMaxWanted; }

  /// Takes the counts that are zeros at first.
  void take_zeros() {
    const std::size_t rows = from_.rows.rows;
    const std::size_t of_bound = rows * from_.search.places.count * kDigits;
    const std::size_t of_found = rows * found_.places.count * kDigits;
    from_.zero_count = of_bound + of_found + 4 * rows;
    from_.zeros = workspace_.take<unsigned>(from_.zero_count);
    from_.search.counts = from_.zeros;
    found_.counts = from_.zeros + of_bound;
    from_.lists.sizes = from_.zeros + of_bound + of_found;
    taken_.sizes = from_.lists.sizes + rows;
    from_.ties.taken = taken_.sizes + rows;
    from_.ties.found = from_.ties.taken + rows;
  }

  /// Finds the k-th least of each row's values, which are likely to be `size`.
  template <class T, class Values>
  void find(const Values& values, std::size_t size, const DigitSearch<T>& search) const {
    const unsigned blocks = blocks_of_row(size, kDigitThreads);
    for (unsigned digit = 0; digit < search.places.count; ++digit) {
      start("count_by_digit", count_by_digit<T, Values>, blocks * from_.rows.rows, kDigitThreads, values, search, digit,
            blocks);
    }
  }

  /// Returns blocks of each row for so many values: few, as each adds its counts to those of all.
  unsigned blocks_of_row(std::size_t values, unsigned threads) const {
    const std::size_t resident = 2 * device_.properties.multiprocessors;
    return static_cast<unsigned>(std::clamp<std::size_t>(values / (std::size_t{8} * threads), 1,
                                                         std::max<std::size_t>(resident / from_.rows.rows, 1)));
  }

  template <class... Parameters>
  void start(const char* name, void (*kernel)(Parameters...), std::size_t blocks, unsigned threads,
             std::type_identity_t<Parameters>... arguments) const {
    launch(name, kernel, {.blocks = blocks, .threads = threads, .overlaps = overlaps_}, device_.stream, arguments...);
  }

  unsigned k_;
  Workspace& workspace_;
  const DeviceStream& device_;
  bool overlaps_;
  LongRows<N> from_;
  DigitSearch<Element> found_;
  ElementLists<Element> taken_;
  topk::Guess<Element>* guesses_ = nullptr;
  Element* sorted_ = nullptr;
};

}  // namespace

template <class N>
void least_of_long_rows(const RowParts<typename N::Stored>& rows, std::size_t blocks,
                        const KeyOrder<typename N::Key>& order, std::size_t k,
                        const RowAnswer<typename N::Stored>& answer, Workspace& workspace, const DeviceStream& device) {
  LongSelection<N>(rows, blocks, order, k, workspace, device).run(answer);
}

#define SKYRANK_INSTANTIATE(...)                                                                         \
  template void least_of_long_rows<__VA_ARGS__>(                                                         \
      const RowParts<__VA_ARGS__::Stored>&, std::size_t, const KeyOrder<__VA_ARGS__::Key>&, std::size_t, \
      const RowAnswer<__VA_ARGS__::Stored>&, Workspace&, const DeviceStream&);
SKYRANK_FOR_ALL_NUMBERS(SKYRANK_INSTANTIATE)
#undef SKYRANK_INSTANTIATE

}  // namespace skyrank::kernels::cuda::select
