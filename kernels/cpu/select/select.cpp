#include "kernels/cpu/select/select.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/select/order.hpp"
#include "kernels/cpu/select/row_selector.hpp"
#include "kernels/cpu/topk/sample.hpp"

// Selection in rows of a matrix. Each row is read once, with a limit that falls as better elements are found (a
// reservoir as in faiss, cf. Johnson et al., IEEE Trans. Big Data 7(3), 2021). In long rows the limit begins at a guess
// from a sample, beyond which next to nothing is kept (Floyd and Rivest, CACM 18(3), 1975); an answer that the guess
// left short is taken again without one. If most elements are asked for, all of them are ranked instead.
//
// Many rows are shared out among the threads. Long ones of a few rows are cut into parts, of which each keeps its k
// best; the best of all are the answer. Elements that are not next to each other are first copied to where they are,
// for several rows at a time, as these often share cache lines.
namespace skyrank::kernels {
namespace select {
namespace {

constexpr std::size_t kSerialElements = 1 << 15;   ///< elements that one thread selects from in 10 us or so
constexpr std::size_t kElementsOfPart = 1 << 16;   ///< least elements of a part of a row
constexpr std::size_t kSampledElements = 1 << 15;  ///< least elements of a row of which a sample is worth its time
constexpr std::size_t kMostOfRow = 4;              ///< rows are ranked whole if 1 / kMostOfRow of them is asked for
constexpr std::size_t kElementsOfCopy = 1024;      ///< elements of each row that are copied together

/// Returns the element at an address of any alignment.
template <class Word>
Word load(const std::byte* at) {
  Word word;
  std::memcpy(&word, at, sizeof(Word));
  return word;
}

/// A row in memory.
template <class Word>
class Row {
 public:
  Row(const std::byte* first, std::int64_t stride) : first_(first), stride_(stride) {}

  Word operator[](std::size_t position) const {
    return load<Word>(first_ + static_cast<std::int64_t>(position) * stride_);
  }
  /// Returns the elements from a position on, or null if they are not next to each other and aligned.
  const Word* view(std::size_t position) const {
    const bool is_view = stride_ == sizeof(Word) && reinterpret_cast<std::uintptr_t>(first_) % sizeof(Word) == 0;
    return is_view ? reinterpret_cast<const Word*>(first_) + position : nullptr;
  }

 private:
  const std::byte* first_;
  std::int64_t stride_;
};

/// Selects in rows of one type of elements.
template <class Word, bool kFloat, class Rank>
class Selection {
 public:
  Selection(const SelectProblem& problem, const SelectBatches& batches, const Context& context)
      : problem_(problem),
        batches_(batches),
        context_(context),
        order_(problem),
        n_(static_cast<std::size_t>(problem.columns)),
        k_(static_cast<std::size_t>(problem.k)),
        rows_(static_cast<std::size_t>(problem.rows) * static_cast<std::size_t>(batches.count)) {}

  void run() const {
    if (n_ >= 2 * kElementsOfPart && rows_ < 2 * concurrency()) {
      for (std::size_t row = 0; row < rows_; ++row) select_by_parts(row);
      return;
    }
    const std::size_t grain = std::max<std::size_t>(1, kSerialElements / n_);
    parallel_for(rows_, grain, [&](std::size_t begin, std::size_t end) { select_in(begin, end); });
  }

 private:
  using Selector = RowSelector<Word, kFloat, Rank>;
  static constexpr std::size_t kRowsOfCopy = 64 / sizeof(Word);

  Row<Word> row_at(std::size_t row) const {
    const auto rows = static_cast<std::size_t>(problem_.rows);
    const auto batch = static_cast<std::int64_t>(row / rows);
    const auto in_batch = static_cast<std::int64_t>(row % rows);
    const std::int64_t offset = batch * batches_.stride + in_batch * problem_.row_stride;
    return {static_cast<const std::byte*>(problem_.values) + offset, problem_.column_stride};
  }

  bool ranks_whole_rows() const { return k_ > n_ / kMostOfRow; }

  // ---- Rows, one thread each ----

  void select_in(std::size_t begin, std::size_t end) const {
    const std::size_t together = row_at(begin).view(0) != nullptr ? 1 : std::min(kRowsOfCopy, end - begin);
    std::vector<Selector> selectors;
    selectors.reserve(together);
    for (std::size_t i = 0; i < together; ++i) selectors.emplace_back(order_, k_);
    const hwy::Sorter sorter;
    for (std::size_t first = begin; first < end; first += together) {
      context_.check();
      select_group(first, std::min(together, end - first), selectors, sorter);
    }
  }

  void select_group(std::size_t first, std::size_t count, std::vector<Selector>& selectors,
                    const hwy::Sorter& sorter) const {
    for (std::size_t i = 0; i < count; ++i) selectors[i].begin(guess_in(row_at(first + i)));
    show({selectors.data(), count}, first, 0, n_);
    for (std::size_t i = 0; i < count; ++i) {
      const Row<Word> row = row_at(first + i);
      if (selectors[i].ranks().size() < k_) {  // by too low a guess
        selectors[i].begin({});
        show({&selectors[i], 1}, first + i, 0, n_);
      }
      write(row, first + i, selectors[i].ranks(), sorter);
    }
  }

  /// Shows the elements [begin, end) of rows from `first` on to a selector each.
  void show(std::span<Selector> selectors, std::size_t first, std::size_t begin, std::size_t end) const {
    constexpr std::size_t kBetweenChecks = 1 << 22;
    if (const Word* const words = row_at(first).view(0)) {
      for (; begin < end; begin += std::min(kBetweenChecks, end - begin)) {
        context_.check();
        selectors.front().add(words + begin, std::min(kBetweenChecks, end - begin), begin);
      }
      return;
    }
    Scratch<Word> copied(selectors.size() * kElementsOfCopy);
    for (; begin < end; begin += std::min(kElementsOfCopy, end - begin)) {
      const std::size_t size = std::min(kElementsOfCopy, end - begin);
      copy(first, selectors.size(), begin, size, copied.data());
      for (std::size_t i = 0; i < selectors.size(); ++i) selectors[i].add(copied.data() + i * size, size, begin);
    }
  }

  /// Copies `size` elements of some rows from a position on, row after row.
  void copy(std::size_t first, std::size_t rows, std::size_t position, std::size_t size, Word* to) const {
    if (rows == 1) {
      const Row<Word> row = row_at(first);
      for (std::size_t i = 0; i < size; ++i) to[i] = row[position + i];
      return;
    }
    std::vector<Row<Word>> sources;
    for (std::size_t r = 0; r < rows; ++r) sources.push_back(row_at(first + r));
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t r = 0; r < rows; ++r) to[r * size + i] = sources[r][position + i];
    }
  }

  /// Returns a key that about k elements of a row do not exceed, a few more rather than fewer; none for short rows.
  std::optional<Word> guess_in(const Row<Word>& row) const {
    if (n_ < kSampledElements || ranks_whole_rows()) return std::nullopt;
    const std::size_t count = std::min(topk::sample_size(n_, k_), n_ / 2);
    const double expected = static_cast<double>(k_) * static_cast<double>(count) / static_cast<double>(n_);
    const std::size_t place = topk::bound_place(expected);
    if (place >= count) return std::nullopt;
    Scratch<Word> keys(count);
    for (std::size_t i = 0; i < count; ++i) keys[i] = order_.key(row[topk::sampled_position(i, count, n_)]);
    const auto at = keys.begin() + static_cast<std::ptrdiff_t>(place - 1);
    std::nth_element(keys.begin(), at, keys.end());
    return *at;
  }

  // ---- One row, many threads ----

  void select_by_parts(std::size_t row) const {
    context_.check();
    Scratch<Rank> ranks;
    if (ranks_whole_rows()) {
      rank_all(row, ranks);
    } else {
      const std::optional<Word> guess = guess_in(row_at(row));
      select_in_parts(row, guess, ranks);
      if (ranks.size() < k_) select_in_parts(row, std::nullopt, ranks);
    }
    write(row_at(row), row, ranks, hwy::Sorter());
  }

  void rank_all(std::size_t row, Scratch<Rank>& ranks) const {
    ranks.resize(n_);
    const Row<Word> elements = row_at(row);
    parallel_for(n_, kElementsOfPart, [&](std::size_t begin, std::size_t end) {
      context_.check();
      for (std::size_t i = begin; i < end; ++i) ranks[i] = Ranks<Rank>::of(order_.key(elements[i]), i);
    });
  }

  void select_in_parts(std::size_t row, const std::optional<Word>& guess, Scratch<Rank>& ranks) const {
    const std::size_t parts = std::clamp<std::size_t>(n_ / std::max(kElementsOfPart, 4 * k_), 1, 4 * concurrency());
    std::vector<Scratch<Rank>> of_parts(parts);
    parallel_for(parts, 1, [&](std::size_t first, std::size_t last) {
      Selector selector(order_, k_);
      for (std::size_t part = first; part < last; ++part) {
        selector.begin(guess);
        show({&selector, 1}, row, n_ / parts * part, part + 1 < parts ? n_ / parts * (part + 1) : n_);
        of_parts[part].swap(selector.ranks());
      }
    });
    ranks.clear();
    for (const Scratch<Rank>& of_part : of_parts) ranks.insert(ranks.end(), of_part.begin(), of_part.end());
  }

  // ---- Answers ----

  /// Writes the k best of some ranks as the answer of a row.
  void write(const Row<Word>& elements, std::size_t row, Scratch<Rank>& ranks, const hwy::Sorter& sorter) const {
    constexpr std::size_t kFew = 128;  // sorting takes less time than selecting first
    const bool sorts_all = problem_.sorted && (ranks.size() <= kFew || ranks.size() - k_ <= k_ / 2);
    if (!sorts_all) keep_best(ranks, k_);
    if (problem_.sorted) sort_ranks(ranks, sorter, context_);
    auto* const values = static_cast<Word*>(problem_.selected_values) + row * k_;
    if (problem_.wide_positions) {
      write(elements, ranks, values, static_cast<std::int64_t*>(problem_.selected_positions) + row * k_);
    } else {
      write(elements, ranks, values, static_cast<std::int32_t*>(problem_.selected_positions) + row * k_);
    }
  }

  template <class Position>
  void write(const Row<Word>& elements, const Scratch<Rank>& ranks, Word* values, Position* positions) const {
    for (std::size_t i = 0; i < k_; ++i) {
      const std::size_t position = Ranks<Rank>::position_of(ranks[i]);
      values[i] = elements[position];
      positions[i] = static_cast<Position>(position);
    }
  }

  const SelectProblem& problem_;
  const SelectBatches& batches_;
  const Context& context_;
  const Order<Word, kFloat> order_;
  const std::size_t n_;
  const std::size_t k_;
  const std::size_t rows_;
};

template <class Word, bool kFloat>
void select_words(const SelectProblem& problem, const SelectBatches& batches, const Context& context) {
  if constexpr (sizeof(Word) <= 4) {
    if (problem.columns <= std::int64_t{1} << 32) {
      Selection<Word, kFloat, std::uint64_t>(problem, batches, context).run();
      return;
    }
  }
  Selection<Word, kFloat, topk::uint128>(problem, batches, context).run();
}

}  // namespace
}  // namespace select

bool is_small(const SelectProblem& problem, std::int64_t batches) {
  const double elements = static_cast<double>(problem.rows) * static_cast<double>(problem.columns);
  return elements * static_cast<double>(batches) <= static_cast<double>(select::kSerialElements);
}

void select_rows(const SelectProblem& problem, const SelectBatches& batches, const Context& context) {
  const bool floats = is_float(problem.element);
  switch (bytes_of(problem.element)) {
    case 1: return select::select_words<std::uint8_t, false>(problem, batches, context);
    case 2:
      return floats ? select::select_words<std::uint16_t, true>(problem, batches, context)
                    : select::select_words<std::uint16_t, false>(problem, batches, context);
    case 4:
      return floats ? select::select_words<std::uint32_t, true>(problem, batches, context)
                    : select::select_words<std::uint32_t, false>(problem, batches, context);
    default: break;
  }
  return floats ? select::select_words<std::uint64_t, true>(problem, batches, context)
                : select::select_words<std::uint64_t, false>(problem, batches, context);
}

}  // namespace skyrank::kernels
