#include "kernels/cpu/skyline/blocked_bitmap.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/counters.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/skyline/padded_rows.hpp"
#include "kernels/cpu/skyline/sample.hpp"
#include "kernels/cpu/skyline/sweep_rows.hpp"
#include "kernels/cpu/team.hpp"
#include "kernels/cpu/vector_targets.hpp"

// Skyline by bitmaps over blocks of candidates; our own design. Every dimension is cut at sampled quantiles into
// levels. For a block of 512 candidates one 512-bit set per dimension and level says which of them are at or below
// that level; the intersection of the d sets that a row's own levels pick contains every candidate that dominates
// the row, and is found with d vector instructions for 512 candidates. Only its members meet the row in a dominance
// test. Whole blocks are passed over by one mask test: of a row's levels with the block's corner, its least level in
// each dimension, eight dimensions a word. Rows come in batches of ascending level sum, so that every candidate is a
// skyline row. Candidates and the rows of a batch are in z-order: neighbours are alike, and the greatest levels of
// 64 of them, or of eight, pass over a block for all. Before that, two prefilters drop what a few very strong rows
// dominate: one goes over the columns with the strongest rows of a sample, the other over what is left with a block
// of 512 rows of low level sums, those that dominate most of some witnesses. Exactness never depends on quantiles or
// samples. Of two columns, a sweep settles what the prefilters leave.
//
// A row's place in z-order and its number make one word, made once, so that orders are orders of words; all batches are
// sorted at once, and the skyline's runs of words are merged when its blocks are made anew. Tasks of many rows come
// first and shrink, so that threads do not wait for each other, and threads stay as a team over a run's short steps.
//
// The bitmaps follow Tan, Eng, Ooi: Efficient Progressive Skyline Computation, VLDB 2001, section 3.1, cut into blocks
// and coarsened to levels; the mask test is that of Bøgh, Chester, Assent, VLDB 2015, section 4, with more levels.
//
// What it moves for one pair of a row and a block that the mask test leaves open: d loads of 64 bytes from a table of
// d * levels * 64 bytes, which stays in the second-level cache while a task's rows pass by.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/skyline/blocked_bitmap.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/skyline/bitmap_pack-inl.hpp"
#include "kernels/cpu/skyline/bitmap_sample-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::skyline {
namespace HWY_NAMESPACE {
namespace {

constexpr std::size_t kElite = 2048;      ///< rows of low level sum among which the strongest are looked for
constexpr std::size_t kWitnesses = 2048;  ///< rows that show which of them are strong
constexpr std::size_t kChunk = 1 << 14;
constexpr std::size_t kFirstBatch = 2048;
constexpr std::size_t kFirstBatchOfThread = 1024;  ///< for many threads, to which small batches are mostly waiting
constexpr std::size_t kLargestBatch = 1 << 17;
constexpr std::size_t kBatchOfThread = 1 << 14;
constexpr std::size_t kLargestTask = Pack::kMaxRows;
constexpr std::size_t kSmallestTask = 256;    ///< but of few rows, for all threads to have some
constexpr std::size_t kFewWords = 1 << 11;    ///< words whose rows one thread marks
constexpr std::size_t kFewCopied = 1 << 13;   ///< words that one thread copies
constexpr std::size_t kWorthATeam = 1 << 13;  ///< rows

/// Cuts [0, n) into tasks that shrink towards the first, which is begun last, so that all threads end at about the same
/// time: Polychronopoulos, Kuck, "Guided Self-Scheduling", IEEE Transactions on Computers 36, 1987. Returns where tasks
/// start, at multiples of `smallest`, which is a power of two, and n.
inline Vector<std::size_t> cut_tasks(std::size_t n, std::size_t smallest, std::size_t largest) {
  constexpr std::size_t kRoundsLeft = 2;
  Vector<std::size_t> starts{n};
  while (starts.back() > 0) {
    const std::size_t left = starts.back();
    const std::size_t share = concurrency() == 1 ? largest : left / (kRoundsLeft * concurrency());
    const std::size_t size = std::clamp(hwy::RoundUpTo(share, smallest), smallest, largest);
    starts.push_back(hwy::RoundUpTo(std::max(left, size) - size, smallest));
  }
  std::ranges::reverse(starts);
  return starts;
}

// ---- First prefilter: columns against a few strong rows ----

/// The rows that the first prefilter leaves, and among them about kElite rows of the lowest level sums.
struct Spared {
  Vector<Rows> parts;  ///< ascending
  RowIndices elite;

  std::size_t size() const {
    return std::transform_reduce(parts.begin(), parts.end(), std::size_t{0}, std::plus<>(),
                                 [](const Rows& part) { return part.size(); });
  }
};

template <class Key, class Counters>
Spared first_prefilter(const SkylineProblem& problem, Counters& counters, const Context& context) {
  const std::size_t sampled = problem.n < 1 << 18 ? 2048 : std::clamp<std::size_t>(problem.n / 256, 1 << 12, 1 << 15);
  const Sample<Key> sample(problem, sample_runs(problem.n, sampled));
  const Vector<Key> killers = sample.killers();
  const std::size_t limit = find_low_limit<Key>(sample, killers, problem.n, kElite, counters);
  const Vector<std::size_t> starts = cut_tasks(problem.n, 4 * kTile, kChunk);
  Spared result{Vector<Rows>(starts.size() - 1), {}};
  Vector<RowIndices> elite(result.parts.size());
  parallel_tasks(result.parts.size(), counters, [&](std::size_t c, Counters& own) {
    context.check();
    result.parts[c] = find_spared<Key>(problem, killers, starts[c], starts[c + 1], own);
    pick_low(problem, sample.grid(), result.parts[c], limit, elite[c]);
  });
  if (result.size() >= 4 * kElite) result.elite = concatenate(std::move(elite));
  result.elite.resize(std::min(result.elite.size(), 2 * kElite));
  return result;
}

/// Calls body(begin, end, kept, counters) for each of the tasks that start at `starts`, at the same time, and gives
/// what they kept, in order.
template <class Values, class Counters, class Body>
Values keep_in_tasks(const Vector<std::size_t>& starts, Counters& counters, const Context& context, const Body& body) {
  Vector<Values> kept(starts.size() - 1);
  parallel_tasks(kept.size(), counters, [&](std::size_t task, Counters& own) {
    context.check();
    body(starts[task], starts[task + 1], kept[task], own);
  });
  return concatenate(std::move(kept));
}

// ---- Rows against blocks ----

/// Tests all rows of a pack against all blocks; leaves those that nothing dominates.
template <class Key, class Counters>
void reduce(const Candidates<Key>& rows, const Blocks& blocks, Pack& pack, Kills kills, Counters& counters,
            const Context& context) {
  RowIndices open(pack.size + Pack::kGroup);
  std::size_t dominated = 0;
  const auto levels = [&](std::size_t i) { return pack.levels_of(i); };
  const auto key = [&](std::size_t i) { return rows.keys[pack.row(i)]; };
  for (std::size_t b = 0; b < blocks.count() && pack.size > 0; ++b) {
    context.check();
    const Block& block = blocks.blocks[b];
    std::size_t count = list_open(pack, block, rows.grid.words(), open.data(), counters);
    count = pass_over_eights(rows.grid, pack, block, std::span(open.data(), count), counters);
    counters.mask_tests(count);
    counters.bytes_read(count * rows.d * kBlockRows / 8);
    dominated += mark_dominated(rows, block, blocks.rows.data() + b * kBlockRows, std::span(open.data(), count), levels,
                                key, pack.dominated.data(), kills, counters);
    if (16 * dominated > pack.size) {
      pack.drop_dominated();
      dominated = 0;
    }
  }
  pack.drop_dominated();
}

/// Returns the words of `queries` whose rows no row of the blocks dominates, in their order.
template <class Key, class Counters>
Words undominated(const Candidates<Key>& rows, const Coder<Key>& coder, const Blocks& blocks,
                  std::span<const std::uint64_t> queries, Kills kills, Counters& counters, const Context& context) {
  const auto body = [&](std::size_t begin, std::size_t end, Words& kept, Counters& own) {
    Pack pack(rows, coder, queries.subspan(begin, end - begin));
    reduce(rows, blocks, pack, kills, own, context);
    pack.words.resize(pack.size);
    kept = std::move(pack.words);
  };
  const std::size_t share = std::bit_floor(queries.size() / (8 * concurrency()) | 1);
  const std::size_t smallest = std::clamp(share, Pack::kGroup, kSmallestTask);
  return keep_in_tasks<Words>(cut_tasks(queries.size(), smallest, kLargestTask), counters, context, body);
}

/// A row, and one before it that has the same keys.
struct Twin {
  std::uint32_t row = 0;
  std::uint32_t first = 0;
};

/// Brings equal rows together: any order of the keys will do. Ascending rows stay ascending among equals.
template <class Key>
class TwinSort {
 public:
  explicit TwinSort(const Candidates<Key>& rows) : rows_(rows) {}

  void operator()(std::span<std::uint32_t> run) { split(run, 2 * static_cast<int>(std::bit_width(run.size()))); }

  int compare(std::uint32_t a, std::uint32_t b) const {
    return std::memcmp(rows_.keys[a], rows_.keys[b], rows_.keys.stride() * sizeof(Key));
  }

 private:
  /// A quicksort in three parts, since rows that are all equal, or of few kinds, are to cost a pass or few. `depth`
  /// bounds it as in an introsort.
  void split(std::span<std::uint32_t> run, int depth) {
    constexpr std::size_t kFew = 64;
    while (run.size() > kFew && depth-- > 0) {
      const std::uint32_t pivot = run[run.size() / 2];
      std::size_t less = 0;
      equal_.clear();
      greater_.clear();
      for (const std::uint32_t row : run) {
        const int compared = compare(row, pivot);
        if (compared < 0) {
          run[less++] = row;
        } else {
          (compared == 0 ? equal_ : greater_).push_back(row);
        }
      }
      std::ranges::copy(equal_, run.begin() + static_cast<std::ptrdiff_t>(less));
      std::ranges::copy(greater_, run.end() - static_cast<std::ptrdiff_t>(greater_.size()));
      const std::span<std::uint32_t> rest = run.last(greater_.size());
      split(run.first(less), depth);
      run = rest;
    }
    std::sort(run.begin(), run.end(), [&](std::uint32_t a, std::uint32_t b) {
      const int compared = compare(a, b);
      return compared != 0 ? compared < 0 : a < b;
    });
  }

  const Candidates<Key>& rows_;
  RowIndices equal_;
  RowIndices greater_;
};

/// Takes all but the first of equal rows out of a run of rows that have the same code.
template <class Key>
void take_out_twins(TwinSort<Key>& sort, const Coder<Key>& coder, std::span<const std::uint64_t> words, Words& kept,
                    Vector<Twin>& twins) {
  RowIndices run(words.size());
  std::ranges::transform(words, run.begin(), [&](std::uint64_t word) { return coder.row(word); });
  sort(run);
  const std::size_t before = kept.size();
  for (std::size_t i = 0, first = 0; i < run.size(); ++i) {
    if (i > 0 && sort.compare(run[first], run[i]) == 0) {
      twins.push_back({run[i], run[first]});
    } else {
      first = i;
      kept.push_back(coder.word(coder.code(words.front()), run[i]));
    }
  }
  sort_keys(std::span(kept).subspan(before));  // by row again, since runs of words are merged by whole words
}

/// Rows in z-order without all but the first of equal ones, which have the same code: duplicates never dominate each
/// other, and would only make all their tests fail.
template <class Key>
Words without_twins(const Candidates<Key>& rows, const Coder<Key>& coder, std::span<const std::uint64_t> words,
                    Vector<Twin>& twins) {
  TwinSort sort(rows);
  Words kept;
  kept.reserve(words.size());
  for (std::size_t begin = 0, end = 0; begin < words.size(); begin = end) {
    const std::uint64_t code = coder.code(words[begin]);
    for (end = begin + 1; end < words.size() && coder.code(words[end]) == code; ++end) {
    }
    if (end - begin == 1) {
      kept.push_back(words[begin]);
    } else {
      take_out_twins(sort, coder, words.subspan(begin, end - begin), kept, twins);
    }
  }
  return kept;
}

/// The same for many parts at the same time.
template <class Key>
Words take_out_twins(const Candidates<Key>& rows, const Coder<Key>& coder, std::span<const std::uint64_t> sorted,
                     Vector<Twin>& twins) {
  const std::size_t parts = std::clamp<std::size_t>(sorted.size() / 1024, 1, 4 * concurrency());
  const auto start_of = [&](std::size_t part) {
    const std::size_t place = sorted.size() * part / parts;
    if (place == 0) return place;
    const auto from = sorted.begin() + static_cast<std::ptrdiff_t>(place);
    const auto in_run = [&](std::uint64_t word) { return coder.code(word) == coder.code(sorted[place - 1]); };
    return static_cast<std::size_t>(std::partition_point(from, sorted.end(), in_run) - sorted.begin());
  };
  Vector<Words> kept(parts);
  Vector<Vector<Twin>> found(parts);
  parallel_for(parts, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part) {
      const std::size_t first = start_of(part);
      const std::span words = sorted.subspan(first, start_of(part + 1) - first);
      kept[part] = without_twins(rows, coder, words, found[part]);
    }
  });
  for (const Vector<Twin>& some : found) twins.insert(twins.end(), some.begin(), some.end());
  return concatenate(std::move(kept));
}

/// The skyline of candidates: each of its rows, or the first of some equal ones, and then the others.
struct Skyline {
  Words words;         ///< words of its rows
  Vector<Twin> twins;  ///< pairs of equal rows in and outside the skyline
};

/// Flags the candidates that are in a skyline of them, twins included.
template <class Key>
Vector<std::uint8_t> flags_of(const Candidates<Key>& rows, const Skyline& skyline) {
  const Coder<Key> coder(rows);
  Vector<std::uint8_t> taken(rows.n);
  parallel_for(skyline.words.size(), kFewWords, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) taken[coder.row(skyline.words[i])] = 1;
  });
  for (const Twin& twin : skyline.twins) taken[twin.row] = taken[twin.first];
  return taken;
}

inline void copy_in_parallel(std::span<const std::uint64_t> from, std::uint64_t* to) {
  parallel_for(from.size(), kFewCopied, [&](std::size_t begin, std::size_t end) {
    std::copy(from.begin() + static_cast<std::ptrdiff_t>(begin), from.begin() + static_cast<std::ptrdiff_t>(end),
              to + begin);
  });
}

/// The rows of a skyline, in blocks and as runs of ascending words. The words of its rows take the places of words of
/// rows that have been looked at, from the first on.
class Settled {
 public:
  explicit Settled(Words& words) : words_(words) {}

  const Blocks& blocks() const { return blocks_; }
  std::size_t size() const { return size_; }

  /// Adds a run of words that no block needs to know of.
  void add_last(std::span<const std::uint64_t> run) {
    copy_in_parallel(run, words_.data() + size_);
    runs_.push_back(size_);
    size_ += run.size();
  }

  /// Adds a run of words. Whenever rows have grown by half, all are put in z-order anew.
  template <class Key>
  void add(const Candidates<Key>& rows, const Coder<Key>& coder, std::span<const std::uint64_t> run) {
    add_last(run);
    if (2 * size_ <= 3 * in_order_) {
      append(rows, coder, run, blocks_);
      return;
    }
    if (runs_.size() > 1) merge_runs();
    blocks_.rows.clear();
    append(rows, coder, std::span(words_).first(size_), blocks_);
    in_order_ = size_;
  }

 private:
  void merge_runs() {
    Vector<std::span<const std::uint64_t>> runs;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      const std::size_t end = r + 1 < runs_.size() ? runs_[r + 1] : size_;
      runs.emplace_back(std::span(words_).subspan(runs_[r], end - runs_[r]));
    }
    copy_in_parallel(merged(runs), words_.data());
    runs_.assign(1, 0);
  }

  Words& words_;
  std::size_t size_ = 0;
  Vector<std::size_t> runs_;  ///< starts of the runs
  Blocks blocks_;
  std::size_t in_order_ = 0;  ///< number of rows when all were last put in order
};

template <class Key, class Counters>
Skyline reduce_in_batches(const Candidates<Key>& rows, Counters& counters, const Context& context) {
  const Coder<Key> coder(rows);
  const BatchSizes sizes{std::max(kFirstBatch, concurrency() * kFirstBatchOfThread),
                         std::clamp(concurrency() * kBatchOfThread, kLargestBatch, 4 * kLargestBatch)};
  Batches batches = BatchSort(rows, coder, sizes)();
  Vector<Twin> twins;
  Settled settled(batches.words);
  Blocks own;  // of a batch
  for (std::size_t b = 0; b < batches.count(); ++b) {
    Words alive;
    if (b > 0) alive = undominated(rows, coder, settled.blocks(), batches[b], nullptr, counters, context);
    alive = take_out_twins(rows, coder, b > 0 ? std::span<const std::uint64_t>(alive) : batches[b], twins);
    append(rows, coder, alive, own);
    alive = undominated(rows, coder, own, alive, nullptr, counters, context);
    if (b + 1 < batches.count()) {
      own = Blocks();  // the memory is of use to those of the skyline
      settled.add<Key>(rows, coder, alive);
    } else {
      settled.add_last(alive);
    }
  }
  batches.words.resize(settled.size());
  return {std::move(batches.words), std::move(twins)};
}

// ---- Second prefilter: a block of the strongest rows ----

/// The words of the first n rows, at most kElite, by ascending level sums: then a witness is the kill of the first to
/// dominate it, and what others dominate kills nothing. Of rows with the same levels, which have the same hash, one is
/// kept: duplicates never dominate each other, and would only make all their tests fail.
template <class Key>
Words in_order_of_sums(const Candidates<Key>& rows, const Coder<Key>& coder, std::size_t n) {
  constexpr std::size_t kRowBits = 24;
  constexpr std::size_t kHashBits = 24;
  Words order(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t hash = 0;
    for (std::size_t p = 0; p < rows.planes; ++p) hash = (hash ^ rows.level_words(i)[p]) * 0x9E3779B97F4A7C15u;
    order[i] = (std::uint64_t{rows.scores[i]} << kHashBits | hash >> (64 - kHashBits)) << kRowBits | i;
  }
  sort_keys(order);
  std::size_t kept = 0;
  for (std::size_t i = 0, before = 0; i < n && kept < kElite; ++i) {
    const std::uint64_t kind = order[i] >> kRowBits;
    if (i == 0 || kind != before) order[kept++] = coder.word(0, order[i] & ((1u << kRowBits) - 1));
    before = kind;
  }
  order.resize(kept);
  return order;
}

/// Returns the rows of `from` that killed the most, at most a block; among equals, the first.
template <class Key>
Words find_strongest(const Coder<Key>& coder, std::span<const std::uint64_t> from, const Vector<std::uint32_t>& kills) {
  Words order(from.size());  // fewest survivors, then place
  for (std::size_t i = 0; i < from.size(); ++i) order[i] = std::uint64_t{~kills[coder.row(from[i])]} << 32 | i;
  if (order.size() > kBlockRows) {
    std::nth_element(order.begin(), order.begin() + kBlockRows, order.end());
    order.resize(kBlockRows);
  }
  sort_keys(order);
  for (std::uint64_t& word : order) word = from[static_cast<std::uint32_t>(word)];
  return order;
}

/// Takes those rows out of parts that a row of a block dominates.
template <class Key, class Counters>
void drop_dominated(const SkylineProblem& problem, const Candidates<Key>& rows, const Blocks& killers,
                    Vector<Rows>& parts, Counters& counters, const Context& context) {
  std::array<std::uint32_t, kTile> open;
  std::iota(open.begin(), open.end(), 0U);
  parallel_tasks(parts.size(), counters, [&](std::size_t p, Counters& own) {
    context.check();
    Rows& part = parts[p];
    Candidates<Key> tile(rows.grid, kTile);
    const auto levels = [&](std::size_t i) { return [&tile, i](std::size_t q) { return tile.level(i) + 8 * q; }; };
    const auto keys = [&](std::size_t i) { return tile.keys[i]; };
    std::size_t kept = 0;
    for (std::size_t first = 0; first < part.size(); first += kTile) {
      const std::size_t count = std::min(kTile, part.size() - first);
      fill_tile(problem, part.data() + first, 0, count, tile);
      std::array<std::uint8_t, kTile> dominated{};
      own.mask_tests(count);
      mark_dominated(rows, killers.blocks.front(), killers.rows.data(), std::span(open).first(count), levels, keys,
                     dominated.data(), nullptr, own);
      for (std::size_t i = 0; i < count; ++i) {
        part[kept] = part[first + i];
        kept += dominated[i] == 0 ? 1 : 0;
      }
    }
    part.resize(kept);
  });
}

/// Appends about `count` of the rows of parts, of which there are n, in runs of neighbours within a part.
inline void append_sample(const Vector<Rows>& parts, std::size_t n, std::size_t count, RowIndices& to) {
  std::size_t part = 0;
  std::size_t before = 0;  // rows of the parts before it
  constexpr std::size_t kRun = 16;
  to.reserve(to.size() + count + kRun);
  for (const std::uint32_t run : sample_rows((n + kRun - 1) / kRun, count / kRun)) {
    while (run * kRun - before >= parts[part].size()) before += parts[part++].size();
    const auto first = parts[part].begin() + static_cast<std::ptrdiff_t>(run * kRun - before);
    to.insert(to.end(), first, first + std::min<std::ptrdiff_t>(kRun, parts[part].end() - first));
  }
}

/// The spared rows that the strongest of the elite do not dominate, ascending.
template <class Key, class Counters>
Rows second_prefilter(const SkylineProblem& problem, Spared spared, Counters& counters, const Context& context) {
  if (spared.elite.empty()) return concatenate(std::move(spared.parts));
  RowIndices chosen = std::move(spared.elite);
  const std::size_t num_elite = chosen.size();
  append_sample(spared.parts, spared.size(), kWitnesses, chosen);
  const Candidates<Key> rows = make_candidates<Key>(problem, chosen, counters, context);
  const Coder<Key> coder(rows);
  const Words elite = in_order_of_sums(rows, coder, num_elite);
  Blocks blocks;
  append(rows, coder, elite, blocks);
  Words witnesses(rows.n - num_elite);
  for (std::size_t i = 0; i < witnesses.size(); ++i) witnesses[i] = coder.word(0, num_elite + i);
  Vector<std::uint32_t> kills(rows.n);
  const Words alive = undominated(rows, coder, blocks, witnesses, kills.data(), counters, context);
  if (2 * alive.size() <= witnesses.size()) {  // else it would spare too many
    Blocks killers;
    append(rows, coder, find_strongest(coder, elite, kills), killers);
    drop_dominated(problem, rows, killers, spared.parts, counters, context);
  }
  return concatenate(std::move(spared.parts));
}

/// Flags those of the rows that no other dominates.
template <class Key, class Counters>
Vector<std::uint8_t> flags_of_skyline(const SkylineProblem& problem, const Rows& ids, std::optional<Team>& team,
                                      Counters& counters, const Context& context) {
  if (problem.keys.size() == 2) {
    team.reset();  // its threads would be in the way of the sort's
    counters.dominance_tests(ids.size());
    return sweep_rows<Key>(problem, ids, context);
  }
  const Candidates<Key> rows = make_candidates<Key>(problem, ids, counters, context);
  return flags_of(rows, reduce_in_batches(rows, counters, context));
}

template <class Key, class Counters>
Rows prefiltered(const SkylineProblem& problem, Counters& counters, const Context& context) {
  return second_prefilter<Key>(problem, first_prefilter<Key>(problem, counters, context), counters, context);
}

template <class Key, class Counters>
SkylineSolution solve(const SkylineProblem& problem, Counters counters, const Context& context) {
  std::optional<Team> team;
  if (problem.n >= kWorthATeam) team.emplace();
  const Rows ids = prefiltered<Key>(problem, counters, context);
  counters.candidates(ids.size());
  counters.bytes_read(problem.n * problem.keys.size() * sizeof(Key));
  SkylineSolution solution{flagged(ids, flags_of_skyline<Key>(problem, ids, team, counters, context)), {}};
  solution.work = counters.total();
  return solution;
}

SkylineSolution solve_on_target(const SkylineProblem& problem, const Context& context) {
  return with_key_and_counters(
      problem, context, [&](auto key, auto counters) { return solve<decltype(key)>(problem, counters, context); });
}

Prefiltered prefilter_on_target(const SkylineProblem& problem, const Context& context) {
  const Team team;
  return with_key_and_counters(problem, context, [&](auto key, auto counters) -> Prefiltered {
    Rows rows = prefiltered<decltype(key)>(problem, counters, context);
    return {std::move(rows), counters.total()};
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::skyline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::skyline {
namespace {

HWY_EXPORT(solve_on_target);
HWY_EXPORT(prefilter_on_target);

SkylineSolution run(const SkylineProblem& problem, const ParameterValues&, const Context& context) {
  if (problem.n == 0) return {};
  return HWY_DYNAMIC_DISPATCH(solve_on_target)(problem, context);
}

}  // namespace

Prefiltered prefilter(const SkylineProblem& problem, const Context& context) {
  return HWY_DYNAMIC_DISPATCH(prefilter_on_target)(problem, context);
}

extern const SkylineAlgorithm blocked_bitmap{
    .name = "blocked-bitmap",
    .summary = "level bitmaps over blocks of 512 candidates; the fastest on the CPU",
    .source =
        "own design; bitmaps after Tan, Eng, Ooi: Efficient Progressive Skyline Computation, VLDB 2001, section 3.1",
    .device = Device::cpu,
    .parameters = {},
    .supports = supports_flat_pareto,
    .run = run,
};

}  // namespace skyrank::kernels::skyline
#endif
