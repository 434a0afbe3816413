#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/counters.hpp"
#include "kernels/common/keys.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/topk/answer.hpp"
#include "kernels/cpu/topk/sample.hpp"
#include "kernels/cpu/topk/scan.hpp"
#include "kernels/cpu/topk/selection.hpp"
#include "kernels/cpu/topk/zones.hpp"

// A bound taken from a sample, one pass that collects the ranks up to it, exact selection among these; our own design
// after randomised selection. Exactness never depends on the sample: too few candidates raise the bound and repeat the
// pass, too many lower it on the way.
//
// The bound is a rank, not a key. So equal keys are no special case: of the rows that tie with the bound only those
// before its row are candidates, and stretches beyond it are scanned for smaller keys only.
//
// Where a zone map is known, zones whose least keys are above the bound are not read. Without a filter the map gives
// the bound as well: k zones with least keys up to some key have k rows up to it. These zones are the delegates of Dr.
// Top-k (Gaihre et al., SC 2021, section 4), kept from one query to the next.
namespace skyrank::kernels::topk {
namespace {

constexpr std::size_t kFewRows = 4096;  ///< at most this many rows are all candidates
constexpr std::size_t kRowsOfPart = 1 << 15;
constexpr std::size_t kZonesOfTask = 512;   ///< zones whose least keys one task finds
constexpr std::size_t kSampledZones = 512;  ///< zones that a bound is taken from before there is a zone map
constexpr std::size_t kRowsPerPlace = 4;    ///< rows of the best zones that are read for a bound
constexpr std::size_t kPartsPerThread = 4;  ///< parts beyond one, so that threads that are held up leave work to others

/// Ranks of some rows, and their share of all rows.
template <class Rank>
struct Sample {
  Scratch<Rank> ranks;
  double share = 0;
  std::size_t least_place =
      1;  ///< least place of a bound: beyond one run of rows, which in sorted data has next to one value
};

/// The largest key that a rank up to the bound can have in rows [begin, end); none if no row there can. `alone` says
/// that the first keys are all keys.
template <class Ranks>
std::optional<std::uint64_t> limit_in(const Ranks& ranks, typename Ranks::Rank bound, std::size_t begin,
                                      std::size_t end, bool alone) {
  const std::uint64_t key = ranks.first_key(bound);
  if (!alone || !ranks.rows().after(begin, end, ranks.row_of(bound))) return key;
  return key == 0 ? std::nullopt : std::optional(key - 1);
}

/// Returns the number of rows that take part; one byte a row.
std::size_t count_taking(const std::uint8_t* taking, std::size_t size) {
  return static_cast<std::size_t>(std::count(taking, taking + size, std::uint8_t{1}));
}

/// Calls body(offset) for each row that takes part. Fast where they are few.
template <class Body>
void for_each_taking(const std::uint8_t* taking, std::size_t size, const Body& body) {
  constexpr std::size_t kStep = sizeof(std::uint64_t);
  for (std::size_t begin = 0; begin < size; begin += kStep) {
    const std::size_t end = std::min(size, begin + kStep);
    std::uint64_t any = 0;
    std::memcpy(&any, taking + begin, end - begin);
    for (std::size_t i = begin; any != 0 && i < end; ++i) {
      if (taking[i] != 0) body(i);
    }
  }
}

/// A bound from the least keys of some zones: a place among these tells many more rows than one among as many rows.
template <class Rank>
struct ZoneBound {
  Rank rank{};
  std::size_t expected = 0;  ///< rows up to it
};

/// Reads the rows of key columns.
template <class Ranks>
class ColumnReader {
 public:
  using Rank = typename Ranks::Rank;

  ColumnReader(std::span<const KeyColumn> columns, const Ranks& ranks, const Zones& zones)
      : columns_(columns),
        ranks_(ranks),
        zones_(zones),
        offsets_(kScanRows),
        block_(columns_.size() > 1 ? kScanRows : 0) {}

  /// Rows that a call to append may read.
  std::size_t block() const { return zones_ ? Zones::kRows : kScanRows; }

  /// Appends the ranks of the rows [begin, end), at most block(), that are not above the bound, in order of rows.
  void append(std::size_t begin, std::size_t end, const std::optional<Rank>& bound, Scratch<Rank>& candidates) {
    if (!bound) return append_all(begin, end, candidates);
    if (!zones_) return append_up_to(begin, end, *bound, candidates);
    const auto limit = limit_in(ranks_, *bound, begin, end, true);
    if (!limit) return;
    zones_.for_each_open(begin, end, *limit, kScanRows,
                         [&](std::size_t first, std::size_t last) { append_up_to(first, last, *bound, candidates); });
  }

  void append_equal(std::size_t begin, std::size_t end, Rank rank, Vector<RowId>& rows) const {
    ranks_.append_equal(begin, end, rank, rows);
  }

  /// After the last rows.
  void finish(Scratch<Rank>&) const {}
  std::size_t rows_read() const { return rows_read_; }

 private:
  void append_up_to(std::size_t begin, std::size_t end, Rank bound, Scratch<Rank>& candidates) {
    const auto limit = limit_in(ranks_, bound, begin, end, columns_.size() == 1);
    if (!limit) return;
    rows_read_ += end - begin;
    const std::size_t found = find_at_most(columns_.front(), begin, end, *limit, offsets_.data());
    if (columns_.size() > 1 && found > (end - begin) / 4) {
      ranks_.fill(begin, end, block_.data());
      for (std::size_t i = 0; i < found; ++i) append(block_[offsets_[i]], bound, candidates);
    } else {
      for (std::size_t i = 0; i < found; ++i) append(ranks_.rank_at(begin + offsets_[i]), bound, candidates);
    }
  }

  void append(Rank rank, Rank bound, Scratch<Rank>& candidates) const {
    if (!ranks_.less(bound, rank)) candidates.push_back(rank);
  }

  void append_all(std::size_t begin, std::size_t end, Scratch<Rank>& candidates) {
    rows_read_ += end - begin;
    const std::size_t size = candidates.size();
    candidates.resize(size + end - begin);
    ranks_.fill(begin, end, candidates.data() + size);
  }

  std::span<const KeyColumn> columns_;
  const Ranks& ranks_;
  const Zones& zones_;
  Scratch<std::uint32_t> offsets_;
  Scratch<Rank> block_;
  std::size_t rows_read_ = 0;
};

/// Key columns as a source of ranks.
template <class Ranks>
class Columns {
 public:
  using Rank = typename Ranks::Rank;
  /// Looks at some zones if there are many rows of one column, and makes a zone map if these do not give a bound.
  Columns(const TopKProblem& problem, const Ranks& ranks, const Context& context)
      : columns_(problem.keys), ranks_(ranks), n_(problem.n) {
    const KeyColumn& first = columns_.front();
    if (columns_.size() > 1 || bits(first.width) < 32 || !Zones::can_bound(problem.k, n_)) return;
    first.width == KeyWidth::bytes4 ? look_at_zones<std::uint32_t>(problem.k, context)
                                    : look_at_zones<std::uint64_t>(problem.k, context);
  }

  ColumnReader<Ranks> reader() const { return {columns_, ranks_, zones_}; }
  const Zones& zones() const { return zones_; }
  const std::optional<ZoneBound<Rank>>& zone_bound() const { return zone_bound_; }
  /// Before the first pass.
  std::size_t bytes_read() const { return rows_read_ * static_cast<std::size_t>(columns_.front().width); }
  static bool has_filter() { return false; }
  void expect(const Rank&) const {}

  /// Short runs of rows, as it is the first key of a cache line that costs.
  Sample<Rank> sample(std::size_t count) const {
    constexpr std::size_t kRun = 4;
    const std::size_t runs = count / kRun + 1;
    const auto rows = static_cast<double>(runs * kRun);
    Sample<Rank> sample{Scratch<Rank>(runs * kRun), rows / static_cast<double>(n_), kRun + 1};
    for (std::size_t i = 0; i < runs; ++i) {
      const std::size_t begin = kRun * sampled_position(i, runs, n_ / kRun);
      ranks_.fill(begin, begin + kRun, sample.ranks.data() + i * kRun);
    }
    return sample;
  }

 private:
  template <class Key>
  void look_at_zones(std::size_t k, const Context& context) {
    if constexpr (requires(Key key) { ranks_.rank_of(key, std::size_t{}); }) {
      zone_bound_ = bound_of_some_zones<Key>(k, context);
    }
    if (!zone_bound_) fill_zones<Key>(context);
  }

  /// None where there are few zones, or where these have many rows up to the bound each: then rows lie in some order,
  /// of which a map of all zones makes more.
  template <class Key>
  std::optional<ZoneBound<Rank>> bound_of_some_zones(std::size_t k, const Context& context) {
    constexpr std::size_t kFewOfAll = 8;
    constexpr std::size_t kRowsOfScatteredZone = 4;
    const std::size_t zones = n_ / kZoneRows;
    if (zones < kFewOfAll * kSampledZones) return std::nullopt;
    const Key* const keys = columns_.front().template as<Key>();
    std::array<Rank, kSampledZones> least;
    parallel_for(kSampledZones, kSampledZones / 16, [&](std::size_t begin, std::size_t end) {
      context.check();
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t row = Zones::begin_of(sampled_position(i, kSampledZones, zones));
        Key key;
        fill_zone_map(keys + row, kZoneRows, &key);
        least[i] = ranks_.rank_of(key, ranks_.rows().reversed() ? row : row + kZoneRows - 1);
      }
    });
    rows_read_ += kSampledZones * kZoneRows;
    const double share = static_cast<double>(kSampledZones) / static_cast<double>(zones);
    const std::size_t place = bound_place(static_cast<double>(k) * share);
    const auto at = least.begin() + static_cast<std::ptrdiff_t>(place - 1);
    std::nth_element(least.begin(), at, least.end());
    const Zones no_map;
    ColumnReader<Ranks> reader(columns_, ranks_, no_map);
    Scratch<Rank> up_to_bound;
    for (std::size_t i = 0; i < place; ++i) {
      const std::size_t row = static_cast<std::size_t>(ranks_.row_of(least[i])) / kZoneRows * kZoneRows;
      reader.append(row, row + kZoneRows, *at, up_to_bound);
    }
    if (up_to_bound.size() > kRowsOfScatteredZone * place) return std::nullopt;
    return ZoneBound<Rank>{*at, static_cast<std::size_t>(static_cast<double>(up_to_bound.size()) / share)};
  }

  template <class Key>
  void fill_zones(const Context& context) {
    zone_map_.resize(n_ / kZoneRows + 1);
    Key* const map = reinterpret_cast<Key*>(zone_map_.data());
    const Key* const keys = columns_.front().template as<Key>();
    parallel_for(Zones::count(n_), kZonesOfTask, [&](std::size_t begin, std::size_t end) {
      context.check();
      const std::size_t first = Zones::begin_of(begin);
      fill_zone_map(keys + first, std::min(n_, Zones::begin_of(end)) - first, map + begin);
    });
    rows_read_ += n_;
    zones_ = Zones(zone_map_.data(), columns_.front().width, n_);
  }

  std::span<const KeyColumn> columns_;
  const Ranks& ranks_;
  std::size_t n_;
  std::optional<ZoneBound<Rank>> zone_bound_;
  Scratch<std::uint64_t> zone_map_;
  Zones zones_;
  std::size_t rows_read_ = 0;
};

/// Reads rows of a problem with a fused filter and score.
template <class Ranks>
class BlockReader {
 public:
  using Rank = typename Ranks::Rank;

  /// Reads keys by their filter, or, if `late`, all keys: the filter then decides about candidates alone.
  /// `up_to_bound` is the expected share of rows that are not above the bound, before the filter.
  BlockReader(const KeySource& source, const Ranks& ranks, const Zones& zones, bool late, double up_to_bound)
      : width_(source.width()),
        reader_(source.reader()),
        floats_(late || !source.has_filter() ? source.floats() : std::nullopt),
        ranks_(ranks),
        zones_(zones),
        offsets_(most_read()),
        up_to_bound_(up_to_bound),
        late_(late) {}

  /// Rows that a call to append may read.
  std::size_t block() const { return zones_ ? Zones::kRows : most_read(); }

  void append(std::size_t begin, std::size_t end, const std::optional<Rank>& bound, Scratch<Rank>& candidates) {
    const auto append = [&](std::size_t first, std::size_t last) { append_piece(first, last, bound, candidates); };
    if (!zones_ || !bound) return for_each_piece(begin, end, most_read(), append);
    const auto limit = limit_in(ranks_, *bound, begin, end, true);
    if (limit) zones_.for_each_open(begin, end, *limit, most_read(), append);
  }

  void append_equal(std::size_t begin, std::size_t end, Rank rank, Vector<RowId>& rows) {
    const auto append_block = [&](std::size_t first, std::size_t last) { append_equal_block(first, last, rank, rows); };
    if (zones_) {
      zones_.for_each_open(begin, end, ranks_.first_key(rank), kKeyBlockRows, append_block);
    } else {
      for_each_piece(begin, end, kKeyBlockRows, append_block);
    }
  }

  void finish(Scratch<Rank>& candidates) { filter(candidates); }
  std::size_t rows_read() const { return rows_read_; }

 private:
  /// Rows that are looked at together.
  std::size_t most_read() const { return floats_ ? kScanRows : kKeyBlockRows; }

  template <class Body>
  static void for_each_piece(std::size_t begin, std::size_t end, std::size_t most, const Body& body) {
    for (std::size_t first = begin; first < end; first += most) body(first, std::min(end, first + most));
  }

  /// Appends the candidates among the rows [begin, end), at most most_read().
  void append_piece(std::size_t begin, std::size_t end, const std::optional<Rank>& bound, Scratch<Rank>& candidates) {
    rows_read_ += end - begin;
    if (floats_ && bound) {
      append_floats(begin, end, *bound, late_ ? unfiltered_ : candidates);
    } else {
      const bool unfiltered = late_ && bound;
      for_each_piece(begin, end, kKeyBlockRows, [&](std::size_t first, std::size_t last) {
        append_from(unfiltered ? reader_->read_unfiltered(first, last) : reader_->read(first, last), first, last, bound,
                    unfiltered ? unfiltered_ : candidates);
      });
    }
    if (unfiltered_.size() >= kKeyBlockRows) filter(candidates);
  }

  void append_equal_block(std::size_t begin, std::size_t end, Rank rank, Vector<RowId>& rows) {
    const KeyBlock block = reader_->read(begin, end);
    if (block.empty) return;
    const std::size_t found = find_equal({block.keys, width_}, 0, end - begin, ranks_.first_key(rank), offsets_.data());
    for (std::size_t i = 0; i < found; ++i) {
      const std::uint32_t offset = offsets_[i];
      if (block.taking == nullptr || block.taking[offset] != 0) rows.push_back(static_cast<RowId>(begin + offset));
    }
  }

  void append_from(const KeyBlock& block, std::size_t begin, std::size_t end, const std::optional<Rank>& bound,
                   Scratch<Rank>& out) {
    if (block.empty) return;
    const auto limit = bound ? limit_in(ranks_, *bound, begin, end, true) : ~std::uint64_t{0};
    if (!limit) return;
    const KeyColumn keys{block.keys, width_};
    const auto append = [&](std::size_t offset) {
      const Rank rank = ranks_.rank_of(key_at(keys, offset), begin + offset);
      if (!bound || !ranks_.less(*bound, rank)) out.push_back(rank);
    };
    const auto few = static_cast<std::size_t>(up_to_bound_ * static_cast<double>(end - begin));
    if (block.taking != nullptr && count_taking(block.taking, end - begin) <= few) {
      return for_each_taking(block.taking, end - begin, append);
    }
    const std::size_t found = find_at_most(keys, 0, end - begin, *limit, offsets_.data());
    for (std::size_t i = 0; i < found; ++i) {
      if (block.taking == nullptr || block.taking[offsets_[i]] != 0) append(offsets_[i]);
    }
  }

  void append_floats(std::size_t begin, std::size_t end, Rank bound, Scratch<Rank>& out) {
    const auto limit = limit_in(ranks_, bound, begin, end, true);
    if (!limit) return;
    const std::size_t found = find_at_most(*floats_, begin, end, *limit, offsets_.data());
    for (std::size_t i = 0; i < found; ++i) {
      const Rank rank = ranks_.rank_of(key_of(*floats_, begin + offsets_[i]), begin + offsets_[i]);
      if (!ranks_.less(bound, rank)) out.push_back(rank);
    }
  }

  static std::uint64_t key_of(const FloatColumn& floats, std::size_t row) {
    const std::uint64_t bits = key_at({floats.data, floats.width}, row);
    return floats.width == KeyWidth::bytes4 ? float_key(static_cast<std::uint32_t>(bits), floats.high)
                                            : float_key(bits, floats.high);
  }

  void filter(Scratch<Rank>& candidates) {
    std::array<std::uint8_t, kKeyBlockRows> taking;
    Vector<RowId> rows;
    for (std::size_t first = 0; first < unfiltered_.size(); first += kKeyBlockRows) {
      const std::size_t last = std::min(unfiltered_.size(), first + kKeyBlockRows);
      rows.clear();
      for (std::size_t i = first; i < last; ++i) rows.push_back(ranks_.row_of(unfiltered_[i]));
      reader_->filter(rows, taking.data());
      for (std::size_t i = first; i < last; ++i) {
        if (taking[i - first] != 0) candidates.push_back(unfiltered_[i]);
      }
    }
    unfiltered_.clear();
  }

  KeyWidth width_;
  std::unique_ptr<KeyReader> reader_;
  std::optional<FloatColumn> floats_;
  const Ranks& ranks_;
  const Zones& zones_;
  Scratch<std::uint32_t> offsets_;
  double up_to_bound_;
  bool late_;
  Scratch<Rank> unfiltered_;
  std::size_t rows_read_ = 0;
};

/// A fused filter and score as a source of ranks.
template <class Ranks>
class Blocks {
 public:
  using Rank = typename Ranks::Rank;
  Blocks(const TopKProblem& problem, const Ranks& ranks)
      : source_(*problem.source),
        ranks_(ranks),
        n_(problem.n),
        zones_(source_.zone_map(problem.k), source_.width(), problem.n) {}

  BlockReader<Ranks> reader() const { return {source_, ranks_, zones_, late_, up_to_bound_}; }
  const Zones& zones() const { return zones_; }
  /// Before the first pass.
  std::size_t bytes_read() const { return zones_ ? Zones::count(n_) * static_cast<std::size_t>(source_.width()) : 0; }
  bool has_filter() const { return source_.has_filter(); }

  /// Short runs of rows, as every call of a reader has its price.
  Sample<Rank> sample(std::size_t count) {
    constexpr std::size_t kRun = 32;
    const std::size_t runs = count / kRun + 1;
    Sample<Rank> sample{{}, static_cast<double>(runs * kRun) / static_cast<double>(n_)};
    BlockReader<Ranks> reader(source_, ranks_, zones_, false, up_to_bound_);
    const std::unique_ptr<KeyReader> all = source_.can_filter_late() ? source_.reader() : nullptr;
    for (std::size_t i = 0; i < runs; ++i) {
      const std::size_t begin = kRun * sampled_position(i, runs, n_ / kRun);
      reader.append(begin, begin + kRun, std::nullopt, sample.ranks);
      if (all == nullptr) continue;
      const KeyBlock block = all->read_unfiltered(begin, begin + kRun);
      for (std::size_t row = 0; row < kRun; ++row) {
        sampled_.push_back(ranks_.rank_of(key_at({block.keys, source_.width()}, row), begin + row));
      }
    }
    return sample;
  }

  /// Decides which rows of the next pass meet the filter: those up to the bound alone, where they are few. Of rows that
  /// fail the filter more may be up to it than of those that pass, as the condition may go with the ranking.
  void expect(const Rank& bound) {
    constexpr std::size_t kDearer = 16;  // a row that is tested apart, beside one in a block
    constexpr double kMinShare = 0.25;   // even if no row is up to the bound, so many are looked at one by one as fast
    const auto tested = std::ranges::count_if(sampled_, [&](const Rank& rank) { return !ranks_.less(bound, rank); });
    late_ = kDearer * static_cast<std::size_t>(tested) < sampled_.size();
    const auto size = static_cast<double>(std::max<std::size_t>(1, sampled_.size()));
    up_to_bound_ = std::max(static_cast<double>(tested) / size, kMinShare);
  }

 private:
  const KeySource& source_;
  const Ranks& ranks_;
  std::size_t n_;
  Zones zones_;
  Scratch<Rank> sampled_;  ///< rows of the sample before the filter, if it may run late
  double up_to_bound_ = 1;
  bool late_ = false;
};

/// The bound of all parts: it only falls.
template <class Ranks>
class SharedBound {
 public:
  using Rank = typename Ranks::Rank;

  SharedBound(const Ranks& ranks, std::optional<Rank> bound) : ranks_(ranks), bound_(bound) {}

  /// Counts the changes, for those who keep a copy.
  unsigned version() const { return version_.load(std::memory_order_acquire); }

  std::optional<Rank> get() const {
    const std::scoped_lock lock(mutex_);
    return bound_;
  }

  void lower(Rank rank) {
    const std::scoped_lock lock(mutex_);
    if (bound_ && !ranks_.less(rank, *bound_)) return;
    bound_ = rank;
    version_.fetch_add(1, std::memory_order_release);
  }

 private:
  const Ranks& ranks_;
  mutable std::mutex mutex_;
  std::optional<Rank> bound_;
  std::atomic<unsigned> version_{0};
};

/// The candidates that a pass has collected.
template <class Rank>
struct Candidates {
  Scratch<Rank> ranks;        ///< all that are not above the bound, and perhaps others
  std::optional<Rank> bound;  ///< none: all rows are candidates
  bool by_row = true;         ///< ranks of equal keys are in order
  std::size_t rows_read = 0;  ///< by the pass
};

template <class Source, class Ranks>
class Pass {
 public:
  using Rank = typename Ranks::Rank;

  /// Lets a part hold `capacity` ranks before it cuts them to the k best.
  Pass(const Source& source, const Ranks& ranks, std::size_t n, std::size_t k, std::size_t capacity,
       const Context& context)
      : source_(source), ranks_(ranks), n_(n), k_(k), capacity_(capacity), context_(context) {}

  Candidates<Rank> collect(const std::optional<Rank>& bound) const {
    SharedBound<Ranks> shared(ranks_, bound);
    const std::size_t most = concurrency() == 1 ? 1 : kPartsPerThread * concurrency();
    Vector<Scratch<Rank>> parts(std::clamp<std::size_t>(n_ / kRowsOfPart, 1, most));
    std::atomic<std::size_t> rows_read = 0;
    parallel_for(parts.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t part = begin; part < end; ++part) {
        parts[part] = scan(n_ * part / parts.size(), n_ * (part + 1) / parts.size(), shared, rows_read);
      }
    });
    return {joined(std::move(parts)), shared.get(), shared.version() == 0, rows_read};
  }

 private:
  Scratch<Rank> scan(std::size_t begin, std::size_t end, SharedBound<Ranks>& shared,
                     std::atomic<std::size_t>& rows_read) const {
    auto reader = source_.reader();
    Scratch<Rank> found;
    unsigned version = shared.version();
    std::optional<Rank> bound = shared.get();
    for (std::size_t first = begin; first < end; first += reader.block()) {
      context_.check();
      if (version != shared.version()) {
        version = shared.version();
        bound = shared.get();
      }
      reader.append(first, std::min(end, first + reader.block()), bound, found);
      if (found.size() > capacity_) shared.lower(cut(found));
    }
    reader.finish(found);
    rows_read += reader.rows_read();
    return found;
  }

  /// Leaves the k best; returns the worst of these.
  Rank cut(Scratch<Rank>& found) const {
    const auto last = found.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
    std::nth_element(found.begin(), last, found.end(), ranks_.order());
    found.resize(k_);
    return found.back();
  }

  /// All parts in the order of row ids as ranks see it.
  Scratch<Rank> joined(Vector<Scratch<Rank>> parts) const {
    if (parts.size() == 1 && !ranks_.rows().reversed()) return std::move(parts.front());
    std::size_t total = 0;
    for (const auto& part : parts) total += part.size();
    Scratch<Rank> all;
    all.reserve(total);
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    if (ranks_.rows().reversed()) std::ranges::reverse(all);
    return all;
  }

  const Source& source_;
  const Ranks& ranks_;
  std::size_t n_;
  std::size_t k_;
  std::size_t capacity_;
  const Context& context_;
};

TopKSolution run(const TopKProblem& problem, const ParameterValues& parameters, const Context& context);

/// The k zones with the least keys, in order, where there are more. Zones of equal keys rank as their rows do.
template <class Ranks>
Vector<RowId> best_zones(const Zones& zones, const Ranks& ranks, std::size_t k, const Context& context) {
  const TopKProblem problem{.n = Zones::count(zones.rows()),
                            .keys = std::span(&zones.least(), 1),
                            .k = k,
                            .ties = ranks.rows().reversed() ? TieRule::last : TieRule::first};
  return run(problem, {}, {.stop = context.stop}).rows;
}

/// A rank that k rows do not exceed: that of the last row of the last of k zones, were it the one with the least key;
/// or that of the k-th of the rows of a few of the best zones. In random data the first is next to exact, in sorted
/// data the few zones have all of the answer.
template <class Ranks>
typename Ranks::Rank bound_of_zones(const auto& source, const Ranks& ranks, std::size_t k, const Context& context) {
  using Rank = typename Ranks::Rank;
  const Zones& zones = source.zones();
  const auto rank_of_zone = [&](RowId zone) {
    const auto z = static_cast<std::size_t>(zone);
    return ranks.rank_of(key_at(zones.least(), z), ranks.rows().reversed() ? Zones::begin_of(z) : zones.end_of(z) - 1);
  };
  const Vector<RowId> best = best_zones(zones, ranks, k, context);
  Rank bound = rank_of_zone(best.front());
  for (const RowId zone : best) bound = std::max(bound, rank_of_zone(zone));
  Scratch<Rank> few;
  auto reader = source.reader();
  const std::size_t zones_to_read = std::min(best.size(), kRowsPerPlace * k / kZoneRows + 1);
  for (std::size_t i = 0; i < zones_to_read && few.size() < 2 * k; ++i) {
    const auto z = static_cast<std::size_t>(best[i]);
    reader.append(Zones::begin_of(z), zones.end_of(z), bound, few);
  }
  if (few.size() < k) return bound;
  const auto last = few.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(few.begin(), last, few.end());
  return std::min(bound, *last);
}

/// Candidates with the k best rows among them, or all rows that take part if they are fewer.
template <class Ranks>
Candidates<typename Ranks::Rank> collect(auto& source, const Ranks& ranks, std::size_t n, std::size_t k,
                                         const Context& context) {
  using Rank = typename Ranks::Rank;
  if constexpr (requires(std::uint64_t key, std::size_t row) { ranks.rank_of(key, row); }) {
    if (source.zones() && !source.has_filter() && Zones::can_bound(k, n)) {
      const Rank bound = bound_of_zones(source, ranks, k, context);
      return Pass(source, ranks, n, k, 2 * k + kScanRows, context).collect(bound);
    }
  }
  if constexpr (requires { source.zone_bound(); }) {
    if (const auto& bound = source.zone_bound()) {
      const Pass pass(source, ranks, n, k, 2 * std::max(k, bound->expected) + kScanRows, context);
      Candidates<Rank> found = pass.collect(bound->rank);
      if (found.ranks.size() >= k) return found;
    }
  }
  const std::size_t count = sample_size(n, k);
  Sample<Rank> sample;
  if (n > kFewRows && count < n / 4 && k < n / 2) sample = source.sample(count);
  // A bound near the end of the sample would spare no row.
  const std::size_t last_place = sample.ranks.size() / 2;
  const std::size_t first_place = std::max(sample.least_place, bound_place(static_cast<double>(k) * sample.share));
  for (std::size_t place = std::min(k, first_place); place <= last_place; place *= 8) {
    const auto at = sample.ranks.begin() + static_cast<std::ptrdiff_t>(place - 1);
    std::nth_element(sample.ranks.begin(), at, sample.ranks.end(), ranks.order());
    const auto expected = static_cast<std::size_t>(static_cast<double>(place) / sample.share);
    source.expect(*at);
    const Pass pass(source, ranks, n, k, 2 * std::max(k, expected) + kScanRows, context);
    Candidates<Rank> found = pass.collect(*at);
    if (found.ranks.size() >= k) return found;
    // The rows up to the bound were fewer than the sample promised.
  }
  return Pass(source, ranks, n, k, 2 * k + kFewRows + n / 16, context).collect(std::nullopt);
}

/// Puts the candidates with the keys of the last of the best in place of those that are among the best.
template <class Ranks>
void take_ties_among(const Ranks& ranks, std::span<const typename Ranks::Rank> candidates,
                     std::span<const typename Ranks::Rank> best, Vector<RowId>& rows) {
  Vector<RowId> ties;
  for (const auto rank : candidates) {
    if (ranks.same_key(rank, best.back())) ties.push_back(ranks.row_of(rank));
  }
  std::ranges::sort(ties);
  drop_last_ties(ranks, best, rows);
  rows.insert(rows.end(), ties.begin(), ties.end());
}

template <class Source, class Ranks, class Counters>
TopKSolution solve(const TopKProblem& problem, Source& source, const Ranks& ranks, Counters counters,
                   const Context& context) {
  using Rank = typename Ranks::Rank;
  const std::size_t k = std::min(problem.k, problem.n);
  const bool all_ties = problem.ties == TieRule::all && k < problem.n;
  auto candidates = collect(source, ranks, problem.n, k, context);
  counters.candidates(candidates.ranks.size());
  counters.bytes_read(source.bytes_read() + candidates.rows_read * key_bytes(problem));
  counters.bytes_written(candidates.ranks.size() * sizeof(Rank));
  const Scratch<Rank> kept = all_ties ? candidates.ranks : Scratch<Rank>();
  keep_best_in_order(ranks, candidates.ranks, k, candidates.by_row, context);
  if (candidates.ranks.empty()) return {{}, counters.total()};
  const std::span<const Rank> best(candidates.ranks);
  TopKSolution solution{rows_in_order(ranks, best, problem.ties), {}};
  if (all_ties && candidates.bound && ranks.same_key(best.back(), *candidates.bound)) {
    // Not all rows that tie with the bound are candidates.
    take_all_ties(source, ranks, best, problem.n, solution.rows, context);
    counters.bytes_read(problem.n * key_bytes(problem));
  } else if (all_ties) {
    take_ties_among(ranks, std::span<const Rank>(kept), best, solution.rows);
  }
  solution.work = counters.total();
  return solution;
}

Support supports(const TopKShape&) { return Support::yes(); }

/// Calls body(source, ranks) with the narrowest kind of ranks that holds the problem's.
template <class Body>
TopKSolution with_source(const TopKProblem& problem, const Context& context, const Body& body) {
  if (problem.source == nullptr) {
    return with_ranks(problem, [&](const auto& ranks) { return body(Columns(problem, ranks, context), ranks); });
  }
  const auto read = [&](const auto& ranks) { return body(Blocks(problem, ranks), ranks); };
  const std::size_t bits = 8 * key_bytes(problem) + static_cast<std::size_t>(std::bit_width(problem.n - 1));
  return bits <= 64 ? read(ReadRanks<std::uint64_t>(problem)) : read(ReadRanks<uint128>(problem));
}

TopKSolution run(const TopKProblem& problem, const ParameterValues&, const Context& context) {
  if (problem.n == 0 || problem.k == 0) return {};
  return with_source(problem, context, [&](auto source, const auto& ranks) {
    return with_counters(context, [&](auto counters) { return solve(problem, source, ranks, counters, context); });
  });
}

}  // namespace

extern const TopKAlgorithm sampled_threshold{
    .name = "sampled-threshold",
    .summary = "a bound from a sample, one pass for the candidates, selection among them; the fastest on the CPU",
    .source = "own design, after Monroe, Wendelberger, Michalak: Randomized Selection on the GPU, HPG 2011, section 5",
    .device = Device::cpu,
    .parameters = {},
    .supports = supports,
    .run = run,
};

}  // namespace skyrank::kernels::topk
