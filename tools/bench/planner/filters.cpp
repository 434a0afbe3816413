#include "tools/bench/planner/filters.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/expression/lowering/compile_steps.hpp"
#include "kernels/cuda/expression/columns.hpp"
#include "kernels/cuda/registry.hpp"

namespace skyrank::bench {
namespace {

/// Numbers of 32 bits, the same for each table.
class Hash {
 public:
  std::uint32_t next() {
    hash_ = (hash_ ^ (hash_ >> 29)) * 0xbf58476d1ce4e5b9 + 0x94d049bb133111eb;
    return static_cast<std::uint32_t>(hash_ >> 32);
  }

 private:
  std::uint64_t hash_ = 0x9e3779b97f4a7c15;
};

/// The floats that keys are of.
template <class Bits>
std::vector<Bits> floats_of(const kernels::KeyColumn& column, std::size_t n) {
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const Bits* keys = column.as<Bits>();
  std::vector<Bits> bits(n);
  for (std::size_t i = 0; i < n; ++i) bits[i] = (keys[i] & kSign) != 0 ? keys[i] ^ kSign : ~keys[i];
  return bits;
}

std::vector<float> uniform(std::size_t n) {
  std::vector<float> values(n);
  Hash hash;
  for (float& value : values) value = static_cast<float>(hash.next() >> 8) * 0x1p-24F;
  return values;
}

template <class Value>
kernels::cuda::DeviceArray uploaded(const std::vector<Value>& values) {
  return {values.data(), values.size() * sizeof(Value)};
}

}  // namespace

// ---- FilteredKeys ----

class FilteredKeys::Reader final : public kernels::KeyReader {
 public:
  explicit Reader(const FilteredKeys& source) : source_(source) {}

  kernels::KeyBlock read(std::size_t begin, std::size_t end) override {
    kernels::KeyBlock block = read_unfiltered(begin, end);
    block.taking = source_.taking_.data() + begin;
    return block;
  }
  kernels::KeyBlock read_unfiltered(std::size_t begin, std::size_t) override {
    const auto bytes = static_cast<std::size_t>(source_.column_.width);
    return {.keys = static_cast<const std::byte*>(source_.column_.data) + begin * bytes};
  }
  void filter(std::span<const kernels::RowId> rows, std::uint8_t* taking) override {
    for (std::size_t i = 0; i < rows.size(); ++i) taking[i] = source_.taking_[static_cast<std::size_t>(rows[i])];
  }

 private:
  const FilteredKeys& source_;
};

FilteredKeys::FilteredKeys(const kernels::KeyColumn& column, std::size_t n, double share)
    : column_(column), taking_(n) {
  const auto limit = static_cast<std::uint64_t>(share * 0x1p32);
  Hash hash;
  for (std::uint8_t& takes : taking_) takes = hash.next() < limit ? 1 : 0;
}

std::unique_ptr<kernels::KeyReader> FilteredKeys::reader() const { return std::make_unique<Reader>(*this); }

// ---- ScannedFloats ----

ScannedFloats::ScannedFloats(const Data& data, const Cell& cell) {
  const bool wide = cell.type == Type::float64;
  if (!wide && cell.type != Type::float32) throw DataError("'where' of rows that are resident is for floats", {});
  const kernels::KeyColumn& keys = data.keys.front();
  values_ = wide ? uploaded(floats_of<std::uint64_t>(keys, data.n)) : uploaded(floats_of<std::uint32_t>(keys, data.n));
  filter_ = uploaded(uniform(data.n));
  scan_.count = 2;
  scan_.terms = 1;
  scan_.as_it_is = true;
  scan_.columns[0].values = values_.data();
  scan_.columns[0].stored = wide ? kernels::Stored::float64 : kernels::Stored::float32;
  scan_.columns[1].values = filter_.data();
  scan_.columns[1].filtered = true;
  scan_.columns[1].highest = cell.where;
}

double ScannedFloats::row_bytes(const Cell& cell) { return score_bytes(cell) + sizeof(float); }

double ScannedFloats::score_bytes(const Cell& cell) { return cell.type == Type::float64 ? 8 : 4; }

kernels::TopKSolution ScannedFloats::run(const kernels::TopKAlgorithm& algorithm, const kernels::TopKProblem& problem,
                                         const kernels::ParameterValues& parameters,
                                         const kernels::Context& context) const {
  if (const auto run_scan = algorithm.variants.scan) {
    kernels::ScanProblem scanned;
    scanned.scan = &scan_;
    scanned.n = problem.n;
    scanned.k = problem.k;
    scanned.ties = problem.ties;
    if (auto solution = run_scan(scanned, parameters, context)) return std::move(*solution);
  }
  namespace device = kernels::cuda::expression;
  const auto stored_column = [](const kernels::ScannedColumn& column) {
    return kernels::StoredColumn{.values = column.values, .stored = column.stored};
  };
  const kernels::ScannedColumn& filter = scan_.columns[1];
  using kernels::Number;
  using kernels::Opcode;
  device::DeviceExpression condition;
  condition.columns = {stored_column(filter)};
  condition.instructions = {{.op = Opcode::column},
                            {.op = Opcode::constant, .bits = kernels::with_bits_of<std::uint64_t>(filter.highest)},
                            {.op = Opcode::less_equal, .left = Number::float64, .right = Number::float64}};
  condition.result = kernels::Stored::truth_bytes;
  exec::compile_steps(condition, device::Leaves::truth);
  const device::Passing passing = device::filter(condition, {.n = problem.n});
  const device::DeviceRows rows{.n = passing.n, .ids = static_cast<const kernels::RowId*>(passing.ids.data())};
  kernels::KeyRecipe recipe;
  recipe.kind = kernels::KeyRecipe::Kind::number;
  const kernels::KeyWidth width = problem.keys.front().width;
  const auto keys = device::make_keys(stored_column(scan_.columns[0]), rows, recipe, width);
  const kernels::KeyColumn column{keys.data(), width};
  kernels::TopKProblem made = problem;
  made.n = passing.n;
  made.keys = {&column, 1};
  made.k = std::min(problem.k, passing.n);
  return algorithm.run(made, parameters, context);
}

}  // namespace skyrank::bench
