#include "datasets/generate/generate.hpp"

#include <tbb/blocked_range.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "datasets/generate/random.hpp"
#include "datasets/generate/tweets.hpp"
#include "engine/text.hpp"
#include "engine/threads.hpp"

namespace skyrank::datasets {
namespace {

constexpr int kMaxDims = 64;
constexpr std::int64_t kBlockRows = 2048;

// ------------------------------------------------------------------------------------------------------ distributions

/// Values of the rows from `first` on, by the numbers of these.
template <class T>
struct ColumnPart {
  T* values;
  std::int64_t first;

  T& operator[](std::int64_t row) const { return values[row - first]; }
};

/// Consecutive rows of a table in the making.
struct Draft {
  std::int64_t rows = 0;  ///< number of rows of the whole table
  std::int64_t first = 0;
  int dims = 0;
  std::uint64_t seed = 0;
  std::array<void*, kMaxDims> columns{};

  Stream stream(std::int64_t row) const { return {seed, row}; }
  template <class T>
  ColumnPart<T> column(int index) const {
    return {static_cast<T*>(columns[static_cast<std::size_t>(index)]), first};
  }
};

using Point = std::array<double, kMaxDims>;

bool outside(double x) { return x < 0 || x > 1; }

/// With more dimensions hardly any row would lie in [0, 1] as a whole.
constexpr int kMaxDimsOfWholeRows = 16;

/// x_i = v + h_i - h_(i-1 mod d) for offsets h drawn in order; false as soon as a coordinate falls outside [0, 1]. From
/// 17 dimensions on the offset of such a coordinate is drawn anew instead, but for the last, which closes the circle.
template <class Offset>
bool spread(Point& x, int dims, double v, Offset&& offset) {
  const double first = offset();
  double previous = first;
  for (int i = 1; i < dims; ++i) {
    double& coordinate = x[static_cast<std::size_t>(i)];
    double next = offset();
    coordinate = v + (next - previous);
    while (outside(coordinate)) {
      if (dims <= kMaxDimsOfWholeRows) return false;
      next = offset();
      coordinate = v + (next - previous);
    }
    previous = next;
  }
  x[0] = v + (first - previous);
  return !outside(x[0]);
}

bool try_correlated(Stream& stream, Point& x, int dims) {
  const double v = mean_of(stream, dims);
  const double l = std::min(v, 1 - v);
  return spread(x, dims, v, [&] { return bell(stream, 0, l); });
}

bool try_anticorrelated(Stream& stream, Point& x, int dims) {
  const double v = bell(stream, 0.5, 0.25);
  const double l = std::min(v, 1 - v);
  return spread(x, dims, v, [&] { return l * (2 * unit(stream.next()) - 1); });
}

/// Whole rows, each tried until it lies in [0, 1].
template <bool (*attempt)(Stream&, Point&, int)>
void fill_points(const Draft& draft, std::int64_t begin, std::int64_t end) {
  Point x;
  for (std::int64_t row = begin; row < end; ++row) {
    Stream stream = draft.stream(row);
    while (!attempt(stream, x, draft.dims)) {
    }
    for (int i = 0; i < draft.dims; ++i)
      draft.column<float>(i)[row] = static_cast<float>(x[static_cast<std::size_t>(i)]);
  }
}

/// Independent values: value(word) for one random word each.
template <class T, class Value>
void fill_values(const Draft& draft, std::int64_t begin, std::int64_t end, Value&& value) {
  for (int i = 0; i < draft.dims; ++i) {
    const auto column = draft.column<T>(i);
    for (std::int64_t row = begin; row < end; ++row) column[row] = value(draft.stream(row).at(i));
  }
}

void fill_uniform(const Draft& draft, std::int64_t begin, std::int64_t end) {
  fill_values<float>(draft, begin, end, unit_float);
}

DiscreteSampler normal_sampler() {
  constexpr int kMean = 100'000'000;
  constexpr double kDeviation = 10;
  constexpr int kReach = 90;  // nine deviations: less than 2^-53 lies beyond
  const auto above = [](double x) { return std::erfc(x / (kDeviation * std::sqrt(2.0))); };
  std::vector<double> weights;
  for (int i = -kReach; i <= kReach; ++i) weights.push_back(above(std::abs(i) - 0.5) - above(std::abs(i) + 0.5));
  return {kMean - kReach, weights};
}

void fill_normal(const Draft& draft, std::int64_t begin, std::int64_t end) {
  static const DiscreteSampler kSampler = normal_sampler();
  fill_values<std::uint32_t>(draft, begin, end, kSampler);
}

DiscreteSampler zipf_sampler() {
  std::vector<double> weights;
  for (int k = 1; k <= 65'536; ++k) weights.push_back(1.0 / k);
  return {1, weights};
}

void fill_zipf(const Draft& draft, std::int64_t begin, std::int64_t end) {
  static const DiscreteSampler kSampler = zipf_sampler();
  fill_values<std::uint32_t>(draft, begin, end, kSampler);
}

/// A value of the given stratum of `draft.rows` equal ones.
float stratified(const Draft& draft, std::int64_t stratum, std::uint64_t word) {
  return static_cast<float>((static_cast<double>(stratum) + unit(word)) / static_cast<double>(draft.rows));
}

void fill_increasing(const Draft& draft, std::int64_t begin, std::int64_t end) {
  for (int i = 0; i < draft.dims; ++i) {
    const auto column = draft.column<float>(i);
    for (std::int64_t row = begin; row < end; ++row) column[row] = stratified(draft, row, draft.stream(row).at(i));
  }
}

void fill_decreasing(const Draft& draft, std::int64_t begin, std::int64_t end) {
  for (int i = 0; i < draft.dims; ++i) {
    const auto column = draft.column<float>(i);
    for (std::int64_t row = begin; row < end; ++row) {
      column[row] = stratified(draft, draft.rows - 1 - row, draft.stream(row).at(i));
    }
  }
}

/// 1.0f with one of its four 8-bit digits changed by one: two below it, two above.
constexpr std::array<float, 4> kKillers = {std::bit_cast<float>(0x3E800000), std::bit_cast<float>(0x3F7F0000),
                                           std::bit_cast<float>(0x3F800100), std::bit_cast<float>(0x3F800001)};

/// Distinct rows for the killers of a column (fewer where there are fewer rows).
std::vector<std::int64_t> killer_rows(const Draft& draft, int column) {
  std::vector<std::int64_t> rows;
  Stream stream(draft.seed, column);
  while (rows.size() < kKillers.size() && static_cast<std::int64_t>(rows.size()) < draft.rows) {
    const auto row = static_cast<std::int64_t>(stream.next() % static_cast<std::uint64_t>(draft.rows));
    if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
  }
  return rows;
}

void fill_bucket_killer(const Draft& draft, std::int64_t begin, std::int64_t end) {
  for (int i = 0; i < draft.dims; ++i) {
    const auto column = draft.column<float>(i);
    for (std::int64_t row = begin; row < end; ++row) column[row] = 1.0F;
    const std::vector<std::int64_t> rows = killer_rows(draft, i);
    for (std::size_t killer = 0; killer < rows.size(); ++killer) {
      if (rows[killer] >= begin && rows[killer] < end) column[rows[killer]] = kKillers[killer];
    }
  }
}

/// The rows of crowded-bucket that are not in the crowded bucket of every pass: one for each other value of each 8-bit
/// digit. Each is in a stretch of its own, of stretches of nearly equal lengths.
struct Outsiders {
  static constexpr std::int64_t kValues = 255;
  static constexpr std::int64_t kDigits = 4;

  std::int64_t rows = 0;
  std::int64_t count = 0;  ///< at most half of the rows, so that most are in the crowded bucket

  explicit Outsiders(std::int64_t all_rows) : rows(all_rows), count(std::min(kValues * kDigits, all_rows / 2)) {}

  std::int64_t begin(std::int64_t stretch) const { return stretch * (rows / count) + stretch * (rows % count) / count; }

  /// Returns the stretch that a row is in.
  std::int64_t stretch_of(std::int64_t row) const {
    std::int64_t stretch = row / (rows / count + 1);
    while (stretch + 1 < count && begin(stretch + 1) <= row) ++stretch;
    return stretch;
  }

  /// Returns a value whose digits are 0 down to the stretch's, and whose bits below are those of the word.
  std::uint32_t value(std::int64_t stretch, std::uint64_t word) const {
    constexpr std::int64_t kStep = 617;  // shares no factor with 1,020: neighbours have different digits
    const std::int64_t place = count == kValues * kDigits ? stretch * kStep % count : stretch;
    const auto shift = static_cast<unsigned>(24 - 8 * (place / kValues));
    const auto digit = static_cast<std::uint32_t>(1 + place % kValues);
    return (digit << shift) | (static_cast<std::uint32_t>(word) & ((1U << shift) - 1));
  }
};

void fill_crowded_bucket(const Draft& draft, std::int64_t begin, std::int64_t end) {
  const Outsiders outsiders(draft.rows);
  for (int i = 0; i < draft.dims; ++i) {
    const auto column = draft.column<std::uint32_t>(i);
    for (std::int64_t row = begin; row < end; ++row) column[row] = 0;
    if (outsiders.count == 0) continue;
    for (std::int64_t stretch = outsiders.stretch_of(begin); stretch < outsiders.count; ++stretch) {
      const std::int64_t first = outsiders.begin(stretch);
      if (first >= end) break;
      const std::int64_t next = stretch + 1 < outsiders.count ? outsiders.begin(stretch + 1) : draft.rows;
      const std::uint64_t word = draft.stream(first).at(i);
      const std::int64_t row =
          first + static_cast<std::int64_t>((word >> 32) % static_cast<std::uint64_t>(next - first));
      if (row >= begin && row < end) column[row] = outsiders.value(stretch, word);
    }
  }
}

void fill_all_equal(const Draft& draft, std::int64_t begin, std::int64_t end) {
  fill_values<float>(draft, begin, end, [](std::uint64_t) { return 0.5F; });
}

void fill_few_distinct(const Draft& draft, std::int64_t begin, std::int64_t end) {
  fill_values<float>(draft, begin, end, [](std::uint64_t word) { return static_cast<float>(word >> 60) / 16; });
}

void fill_nan_heavy(const Draft& draft, std::int64_t begin, std::int64_t end) {
  const auto value = [](std::uint64_t word) {
    constexpr std::uint32_t kQuietNan = 0x7FC00000;
    const auto sign = static_cast<std::uint32_t>((word & 2) << 30);
    return (word & 1) != 0 ? std::bit_cast<float>(kQuietNan | sign) : unit_float(word);
  };
  fill_values<float>(draft, begin, end, value);
}

struct Recipe {
  Type type;
  void (*fill)(const Draft&, std::int64_t begin, std::int64_t end);
};

constexpr std::array kDistributions = {
    Distribution{"independent", "skyline: every coordinate uniform in [0, 1)"},
    Distribution{"correlated", "skyline: points near the diagonal, good in one dimension, good in all"},
    Distribution{"anticorrelated", "skyline: points near a plane across the diagonal, good in one, bad in others"},
    Distribution{"uniform", "top-k: uniform floats in [0, 1)"},
    Distribution{"normal", "top-k: integers from the normal distribution of mean 1e8, standard deviation 10"},
    Distribution{"increasing", "top-k: ascending floats, each the largest so far"},
    Distribution{"decreasing", "top-k: descending floats, each the smallest so far"},
    Distribution{"bucket-killer", "top-k: all 1 but four rows, so that a radix pass discards one row only"},
    Distribution{"crowded-bucket", "top-k: integers nearly all of which are in one of 256 buckets in every pass"},
    Distribution{"all-equal", "top-k: every value 0.5"},
    Distribution{"few-distinct", "top-k: 16 different values, equally likely"},
    Distribution{"nan-heavy", "top-k: half NaN, half uniform"},
    Distribution{"zipf", "top-k: integers 1 to 65,536, k with a probability proportional to 1 / k"},
};

/// By the same index as kDistributions.
constexpr std::array<Recipe, kDistributions.size()> kRecipes = {{
    {Type::float32, fill_uniform},
    {Type::float32, fill_points<try_correlated>},
    {Type::float32, fill_points<try_anticorrelated>},
    {Type::float32, fill_uniform},
    {Type::uint32, fill_normal},
    {Type::float32, fill_increasing},
    {Type::float32, fill_decreasing},
    {Type::float32, fill_bucket_killer},
    {Type::uint32, fill_crowded_bucket},
    {Type::float32, fill_all_equal},
    {Type::float32, fill_few_distinct},
    {Type::float32, fill_nan_heavy},
    {Type::uint32, fill_zipf},
}};

// ----------------------------------------------------------------------------------------------------------- the table

/// A table with columns of its own.
struct OwnTable {
  Distribution description;
  TweetOrder order;
};

constexpr std::array kOwnTables = {
    OwnTable{{"tweets", "table: tweets of May 2017 by time, columns of their own (id, uid, tweet_time, ...)"},
             TweetOrder::time},
    OwnTable{{"tweets-shuffled", "table: the same in no order"}, TweetOrder::shuffled},
};

constexpr std::array kOwnTableNames = {kOwnTables[0].description, kOwnTables[1].description};
static_assert(kOwnTableNames.size() == kOwnTables.size());

const OwnTable* find_own_table(const std::string& name) {
  const auto* const found =
      std::ranges::find(kOwnTables, name, [](const OwnTable& table) { return table.description.name; });
  return found == kOwnTables.end() ? nullptr : found;
}

const Recipe& find_recipe(const std::string& name, const Location& where) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kDistributions.size(); ++i) {
    if (kDistributions[i].name == name) return kRecipes[i];
    names.emplace_back(kDistributions[i].name);
  }
  for (const Distribution& table : kOwnTableNames) names.emplace_back(table.name);
  throw BindError("there is no distribution '" + name + "'" + query::did_you_mean(name, names), where);
}

void check_ranges(const GeneratorSpec& spec, const Location& where) {
  if (spec.rows < 0) throw QueryError("rows must be 0 or more, not " + std::to_string(spec.rows), where);
  if (spec.dims < 1 || spec.dims > kMaxDims) {
    throw QueryError("dims must be 1 to " + std::to_string(kMaxDims) + ", not " + std::to_string(spec.dims), where);
  }
}

/// Memory for n values of four bytes that nobody has written yet, so that the threads that fill it also touch it first.
std::shared_ptr<void> allocate(std::int64_t n, int dims) {
  constexpr std::int64_t kMaxRows = std::int64_t{1} << 56;
  try {
    if (n > kMaxRows) throw std::bad_alloc();
    return std::make_shared_for_overwrite<std::uint32_t[]>(static_cast<std::size_t>(n));
  } catch (const std::bad_alloc&) {
    throw ResourceError("no memory for a generated table of " + std::to_string(n) + " rows and " +
                        std::to_string(dims) + " columns");
  }
}

Column make_column(int index, Type type, std::int64_t rows, std::shared_ptr<void> memory) {
  ColumnData data;
  data.type = type;
  data.length = rows;
  data.stride = width_in_bytes(type);
  data.values = memory.get();
  data.owner = std::move(memory);
  return {"c" + std::to_string(index), std::move(data)};
}

/// Runs f with as many threads as help.
template <class F>
void in_arena(std::int64_t rows, int threads, const F& f) {
  // More threads than cores would change nothing but the time.
  const int cores = tbb::info::default_concurrency();
  const int wanted = threads > 0 ? std::min(threads, cores) : cores;
  const WorkerThreads workers(rows > kBlockRows ? wanted : 1);
  tbb::task_arena arena(workers.count());
  arena.execute(f);
}

Table generate_columns(const GeneratorSpec& spec, RowRange rows, const Recipe& recipe, const Location& where,
                       const std::stop_token& stop) {
  Draft draft{.rows = spec.rows, .first = rows.begin, .dims = spec.dims, .seed = spec.seed};
  std::vector<Column> columns;
  for (int i = 0; i < spec.dims; ++i) {
    std::shared_ptr<void> memory = allocate(rows.end - rows.begin, spec.dims);
    draft.columns[static_cast<std::size_t>(i)] = memory.get();
    columns.push_back(make_column(i, recipe.type, rows.end - rows.begin, std::move(memory)));
  }
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(rows.begin, rows.end, kBlockRows), [&](const auto& block) {
    if (stop.stop_requested()) throw CancelledError("generating was cancelled", where);
    recipe.fill(draft, block.begin(), block.end());
  });
  return Table(std::move(columns));
}

}  // namespace

std::span<const Distribution> distributions() { return kDistributions; }

std::span<const Distribution> tables_with_own_columns() { return kOwnTableNames; }

Table generate(const GeneratorSpec& spec, int threads, const Location& where, const std::stop_token& stop) {
  return generate_rows(spec, {0, std::max<std::int64_t>(spec.rows, 0)}, threads, where, stop);
}

Table generate_rows(const GeneratorSpec& spec, RowRange rows, int threads, const Location& where,
                    const std::stop_token& stop) {
  const OwnTable* const own = find_own_table(spec.distribution);
  const Recipe* const recipe = own == nullptr ? &find_recipe(spec.distribution, where) : nullptr;
  check_ranges(spec, where);
  if (own != nullptr && spec.dims != 1) {
    throw QueryError("'" + spec.distribution + "' has columns of its own; leave dims out", where);
  }
  std::optional<Table> table;
  in_arena(rows.end - rows.begin, threads, [&] {
    table = own == nullptr ? generate_columns(spec, rows, *recipe, where, stop)
                           : generate_tweets({spec.rows, own->order, spec.seed}, rows, stop);
  });
  return *std::move(table);
}

}  // namespace skyrank::datasets
