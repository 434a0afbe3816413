#include "kernels/cpu/select/select.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/select/order.hpp"
#include "kernels/cpu/select/row_selector.hpp"
#include "kernels/cpu/select/sample.hpp"

// Selection in rows of a matrix. Elements up to a limit are collected in one pass at memory speed; the limit falls to
// the k-th best whenever these are more than about 2 k (the reservoir of faiss, cf. Johnson et al., IEEE Trans. Big
// Data 7(3), 2021). It begins at one of the best elements of 64 or more groups of a row: where k groups have an element
// up to it, so has the row (the delegates of Gaihre et al., SC 2021). In long rows the groups are of a sample (Floyd
// and Rivest, CACM 18(3), 1975), and an answer that such a limit leaves short is taken again without one. Where more
// than a quarter of a short row is asked for, or half of a long one, all elements are ranked instead.
//
// Many rows are shared out among the threads. Long ones of a few rows are cut into parts, of which each keeps its k
// best; the best of all are the answer. Elements that are not next to each other are first copied to where they are,
// for several rows at a time, as these often share cache lines.
namespace skyrank::kernels {
namespace select {
namespace {

constexpr std::size_t kSerialElements = 1 << 15;  ///< elements that one thread selects from in 10 us or so
constexpr std::size_t kElementsOfPart = 1 << 16;  ///< least elements of a part of a row
constexpr std::size_t kMaxCopied = 1 << 14;       ///< elements of a row of which several are copied as a whole

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

  Word operator[](std::size_t position) const { return load<Word>(address(position)); }
  const std::byte* address(std::size_t position) const {
    return first_ + static_cast<std::int64_t>(position) * stride_;
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
        rows_(static_cast<std::size_t>(problem.rows) * static_cast<std::size_t>(batches.count)),
        is_view_(problem.column_stride == sizeof(Word) && (problem.rows == 1 || is_multiple(problem.row_stride)) &&
                 is_multiple(batches.stride) && is_multiple(reinterpret_cast<std::intptr_t>(problem.values))) {}

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
  static constexpr std::size_t kRowsOfCopy = 64 / sizeof(Word);  ///< rows that may share cache lines

  static bool is_multiple(std::int64_t bytes) { return bytes % static_cast<std::int64_t>(sizeof(Word)) == 0; }

  Row<Word> row_at(std::size_t row) const {
    const auto rows = static_cast<std::size_t>(problem_.rows);
    const std::size_t batch = batches_.count == 1 ? 0 : row / rows;
    const auto in_batch = static_cast<std::int64_t>(row - batch * rows);
    const std::int64_t offset = static_cast<std::int64_t>(batch) * batches_.stride + in_batch * problem_.row_stride;
    return {static_cast<const std::byte*>(problem_.values) + offset, problem_.column_stride};
  }

  /// Returns true where so many elements are asked for that all of them are ranked.
  bool ranks_whole_rows() const {
    constexpr std::size_t kShort = 4096;
    return k_ > (n_ < kShort ? n_ / 4 : n_ / 2);
  }

  // ---- Rows, one thread each ----

  void select_in(std::size_t begin, std::size_t end) const {
    const hwy::Sorter sorter;
    if (is_view_) {
      Selector selector(order_, k_, sorter);
      for (std::size_t row = begin; row < end; ++row) select_row(row_at(row), row, selector, sorter);
    } else if (n_ <= kMaxCopied) {
      select_in_copies(begin, end, sorter);
    } else {
      select_together(begin, end, sorter);
    }
  }

  /// Selects in a row whose elements are next to each other.
  void select_row(const Row<Word>& elements, std::size_t row, Selector& selector, const hwy::Sorter& sorter) const {
    context_.check();
    selector.begin(limit_in(elements, sorter));
    show(elements.view(0), 0, n_, selector);
    if (selector.ranks().size() < k_) {  // up to the limit of a sample
      selector.begin({});
      show(elements.view(0), 0, n_, selector);
    }
    write(elements, row, selector.ranks(), sorter);
  }

  void show(const Word* words, std::size_t begin, std::size_t end, Selector& selector) const {
    constexpr std::size_t kBetweenChecks = 1 << 22;
    for (; begin < end; begin += std::min(kBetweenChecks, end - begin)) {
      context_.check();
      selector.add(words + begin, std::min(kBetweenChecks, end - begin), begin);
    }
  }

  void select_in_copies(std::size_t begin, std::size_t end, const hwy::Sorter& sorter) const {
    const std::size_t pitch = pitch_of(n_);
    Scratch<Word> copies(std::min(kRowsOfCopy, end - begin) * pitch);
    Selector selector(order_, k_, sorter);
    for (std::size_t first = begin; first < end; first += kRowsOfCopy) {
      const std::size_t count = std::min(kRowsOfCopy, end - first);
      copy(first, count, 0, n_, copies.data(), pitch);
      for (std::size_t i = 0; i < count; ++i) {
        const auto* const copied = reinterpret_cast<const std::byte*>(copies.data() + i * pitch);
        select_row({copied, sizeof(Word)}, first + i, selector, sorter);
      }
    }
  }

  /// Selects in several rows at a time, of which pieces are copied.
  void select_together(std::size_t begin, std::size_t end, const hwy::Sorter& sorter) const {
    std::vector<Selector> selectors;
    selectors.reserve(std::min(kRowsOfCopy, end - begin));
    while (selectors.size() < std::min(kRowsOfCopy, end - begin)) selectors.emplace_back(order_, k_, sorter);
    for (std::size_t first = begin; first < end; first += kRowsOfCopy) {
      const std::span<Selector> group(selectors.data(), std::min(kRowsOfCopy, end - first));
      for (std::size_t i = 0; i < group.size(); ++i) group[i].begin(limit_in(row_at(first + i), sorter));
      show_copies(first, 0, n_, group);
      for (std::size_t i = 0; i < group.size(); ++i) {
        if (group[i].ranks().size() < k_) {  // up to the limit of a sample
          group[i].begin({});
          show_copies(first + i, 0, n_, group.subspan(i, 1));
        }
        write(row_at(first + i), first + i, group[i].ranks(), sorter);
      }
    }
  }

  /// Shows the elements [begin, end) of rows from `first` on to a selector each.
  void show_copies(std::size_t first, std::size_t begin, std::size_t end, std::span<Selector> selectors) const {
    constexpr std::size_t kPiece = 1024;
    const std::size_t pitch = pitch_of(kPiece);
    Scratch<Word> copies(selectors.size() * pitch);
    for (; begin < end; begin += std::min(kPiece, end - begin)) {
      context_.check();
      const std::size_t size = std::min(kPiece, end - begin);
      copy(first, selectors.size(), begin, size, copies.data(), pitch);
      for (std::size_t i = 0; i < selectors.size(); ++i) selectors[i].add(copies.data() + i * pitch, size, begin);
    }
  }

  /// Returns elements from one copied row to the next: no power of two, as cache lines would then share a set.
  static std::size_t pitch_of(std::size_t size) { return size + kRowsOfCopy + 128 / sizeof(Word); }

  /// Copies `size` elements of some rows from a position on.
  void copy(std::size_t first, std::size_t rows, std::size_t position, std::size_t size, Word* to,
            std::size_t pitch) const {
    std::array<const std::byte*, kRowsOfCopy> sources;
    for (std::size_t r = 0; r < rows; ++r) sources[r] = row_at(first + r).address(position);
    const std::int64_t stride = problem_.column_stride;
    if (std::abs(problem_.row_stride) < std::abs(stride)) {
      for (std::size_t i = 0; i < size; ++i) {
        const std::int64_t offset = static_cast<std::int64_t>(i) * stride;
        for (std::size_t r = 0; r < rows; ++r) to[r * pitch + i] = load<Word>(sources[r] + offset);
      }
    } else {
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t i = 0; i < size; ++i) {
          to[r * pitch + i] = load<Word>(sources[r] + static_cast<std::int64_t>(i) * stride);
        }
      }
    }
  }

  /// Returns a key that about k elements of a row do not exceed, a few more rather than fewer; none where k is not
  /// small. For a small k and a short row it is sure that so many do not.
  std::optional<Word> limit_in(const Row<Word>& row, const hwy::Sorter& sorter) const {
    constexpr std::size_t kPlacesOfSection = 40;  // of kGroups minima, beyond which they tell little
    constexpr std::size_t kFewPlaces = 320;       // for more, the minima take long to sort
    if (n_ <= kGroups || ranks_whole_rows()) return std::nullopt;
    const bool is_short = n_ <= 2 * kScanWords;
    const bool is_whole = is_short && k_ <= kFewPlaces;
    const std::size_t sample = is_short ? n_ * kFewPlaces / k_ / kGroups * kGroups : sampled_elements(n_, k_);
    const double expected = static_cast<double>(k_) * static_cast<double>(sample) / static_cast<double>(n_);
    const std::size_t place = is_whole ? k_ : topk::bound_place(expected);
    const std::size_t sections = (place + kPlacesOfSection - 1) / kPlacesOfSection;
    if (kGroups * sections > (is_whole ? n_ : sample)) return std::nullopt;
    std::array<Word, kGroups> few;
    Scratch<Word> many(sections > 1 ? sections * kGroups : 0);
    const std::span<Word> minima = sections > 1 ? std::span<Word>(many) : std::span<Word>(few);
    std::fill(minima.begin(), minima.end(), std::numeric_limits<Word>::max());
    is_whole ? find_minima(row, sections, minima.data()) : find_sampled_minima(row, sample, sections, minima.data());
    if (sections == 1) return order_.key_at(nth_of_group(minima.data(), place - 1));
    return order_.key_at(nth(minima, place - 1, sorter));
  }

  /// Finds the least distances of groups: section by section, of kGroups each. Blocks of a row go to the sections in
  /// turn, so that the best elements are of many groups even where they lie side by side.
  void find_minima(const Row<Word>& row, std::size_t sections, Word* minima) const {
    const Distance<Word> distance = order_.distance();
    const std::size_t blocks = n_ / kGroups;
    std::array<Word, kGroups> copied;
    for (std::size_t section = 0; section < sections; ++section, minima += kGroups) {
      if (const Word* const words = row.view(section * kGroups)) {
        lower_minima(words, (blocks - section + sections - 1) / sections, sections, kFloat, distance, minima);
        continue;
      }
      for (std::size_t block = section; block < blocks; block += sections) {
        copy_elements(row, block * kGroups, kGroups, copied.data());
        lower_minima(copied.data(), 1, 0, kFloat, distance, minima);
      }
    }
  }

  void find_sampled_minima(const Row<Word>& row, std::size_t sample, std::size_t sections, Word* minima) const {
    constexpr std::size_t kPieces = kGroups / kPiece;
    const Distance<Word> distance = order_.distance();
    const std::size_t pieces = sample / kPiece;
    std::array<Word, kGroups> copied;
    for (std::size_t block = 0; block < pieces / kPieces; ++block) {
      for (std::size_t i = 0; i < kPieces; ++i) {
        const std::size_t position = begin_of_piece(block * kPieces + i, pieces, n_);
        copy_elements(row, position, kPiece, copied.data() + i * kPiece);
      }
      lower_minima(copied.data(), 1, 0, kFloat, distance, minima + block % sections * kGroups);
    }
  }

  static void copy_elements(const Row<Word>& row, std::size_t position, std::size_t count, Word* to) {
    if (const Word* const words = row.view(position)) {
      std::copy(words, words + count, to);
    } else {
      for (std::size_t i = 0; i < count; ++i) to[i] = row[position + i];
    }
  }

  static Word nth(std::span<Word> words, std::size_t place, const hwy::Sorter& sorter) {
    if constexpr (sizeof(Word) > 1) {
      sorter(words.data(), words.size(), hwy::SortAscending());
    } else {
      std::nth_element(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(place), words.end());
    }
    return words[place];
  }

  // ---- One row, many threads ----

  void select_by_parts(std::size_t row) const {
    context_.check();
    const hwy::Sorter sorter;
    Scratch<Rank> ranks;
    if (ranks_whole_rows()) {
      rank_all(row, ranks);
    } else {
      select_in_parts(row, limit_in(row_at(row), sorter), ranks);
      if (ranks.size() < k_) select_in_parts(row, std::nullopt, ranks);
    }
    write(row_at(row), row, ranks, sorter);
  }

  void rank_all(std::size_t row, Scratch<Rank>& ranks) const {
    ranks.resize(n_);
    const Row<Word> elements = row_at(row);
    parallel_for(n_, kElementsOfPart, [&](std::size_t begin, std::size_t end) {
      context_.check();
      if (const Word* const words = elements.view(begin)) {
        return select::rank_all(order_, words, end - begin, begin, ranks.data() + begin);
      }
      for (std::size_t i = begin; i < end; ++i) ranks[i] = Ranks<Rank>::of(order_.key(elements[i]), i);
    });
  }

  void select_in_parts(std::size_t row, const std::optional<Word>& limit, Scratch<Rank>& ranks) const {
    const std::size_t parts = std::clamp<std::size_t>(n_ / std::max(kElementsOfPart, 4 * k_), 1, 4 * concurrency());
    std::vector<Scratch<Rank>> of_parts(parts);
    parallel_for(parts, 1, [&](std::size_t first, std::size_t last) {
      const hwy::Sorter sorter;
      Selector selector(order_, k_, sorter);
      for (std::size_t part = first; part < last; ++part) {
        selector.begin(limit);
        const std::size_t begin = n_ / parts * part;
        const std::size_t end = part + 1 < parts ? n_ / parts * (part + 1) : n_;
        is_view_ ? show(row_at(row).view(0), begin, end, selector) : show_copies(row, begin, end, {&selector, 1});
        of_parts[part].swap(selector.ranks());
      }
    });
    ranks.clear();
    for (const Scratch<Rank>& of_part : of_parts) ranks.insert(ranks.end(), of_part.begin(), of_part.end());
  }

  // ---- Answers ----

  /// Writes the k best of some ranks as the answer of a row.
  void write(const Row<Word>& elements, std::size_t row, Scratch<Rank>& ranks, const hwy::Sorter& sorter) const {
    const bool sorts_all = problem_.sorted && ranks.size() - k_ <= k_ / 2;
    if (!sorts_all) keep_best(ranks, k_, sorter);
    if (problem_.sorted && !std::is_sorted(ranks.begin(), ranks.end())) sort_ranks(ranks, sorter, context_);
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
  const bool is_view_;  ///< elements of rows are next to each other and aligned
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
