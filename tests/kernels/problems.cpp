#include "tests/kernels/problems.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

namespace skyrank::kernels::tests {
namespace {

std::uint64_t greatest(KeyWidth width) { return std::numeric_limits<std::uint64_t>::max() >> (64 - bits(width)); }

template <class Key>
void store(const Values& values, std::vector<std::uint64_t>& memory) {
  memory.resize(values.size() * sizeof(Key) / 8 + 1);
  auto* bytes = reinterpret_cast<std::byte*>(memory.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Key key = static_cast<Key>(values[i]);
    std::memcpy(bytes + i * sizeof(Key), &key, sizeof(Key));
  }
}

}  // namespace

void Columns::add(const Values& values, KeyWidth width) {
  std::vector<std::uint64_t>& memory = memory_.emplace_back();
  switch (width) {
    case KeyWidth::bytes1: store<std::uint8_t>(values, memory); break;
    case KeyWidth::bytes2: store<std::uint16_t>(values, memory); break;
    case KeyWidth::bytes4: store<std::uint32_t>(values, memory); break;
    case KeyWidth::bytes8: store<std::uint64_t>(values, memory); break;
  }
  keys_.push_back({memory.data(), width});
}

SkylineCase::SkylineCase(std::size_t rows, const std::vector<Values>& values, KeyWidth width,
                         std::vector<OrderNode> order_tree)
    : n(rows), order(std::move(order_tree)) {
  for (const Values& column : values) columns.add(column, width);
}

TopKCase::TopKCase(std::size_t rows, const std::vector<Values>& values, const std::vector<KeyWidth>& widths) : n(rows) {
  for (std::size_t c = 0; c < values.size(); ++c) columns.add(values[c], widths[c]);
}

std::string name_of(Distribution distribution) {
  switch (distribution) {
    case Distribution::independent: return "independent";
    case Distribution::correlated: return "correlated";
    case Distribution::anticorrelated: return "anticorrelated";
    case Distribution::equal_sums: return "equal sums";
    case Distribution::few_distinct: return "few distinct";
    case Distribution::all_equal: return "all equal";
    case Distribution::ascending: return "ascending";
    case Distribution::descending: return "descending";
    case Distribution::extremes: return "extremes";
    case Distribution::repeated: return "repeated";
    case Distribution::skewed: break;
  }
  return "skewed";
}

std::vector<Values> make_columns(Distribution distribution, std::size_t n, std::size_t d, KeyWidth width,
                                 std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const std::uint64_t top = greatest(width);
  std::vector<Values> columns(d, Values(n));
  const auto for_each_row = [&](const auto& make_row) {
    Values row(d);
    for (std::size_t i = 0; i < n; ++i) {
      make_row(i, row);
      for (std::size_t c = 0; c < d; ++c) columns[c][i] = row[c];
    }
  };
  switch (distribution) {
    case Distribution::independent:
      for_each_row([&](std::size_t, Values& row) { std::ranges::generate(row, [&] { return engine() & top; }); });
      break;
    case Distribution::correlated:
      for_each_row([&](std::size_t, Values& row) {
        const std::uint64_t base = (engine() & top) / 2;
        std::ranges::generate(row, [&] { return base + (engine() & top) / 16; });
      });
      break;
    case Distribution::anticorrelated:
      // One key gains what another loses.
      for_each_row([&](std::size_t, Values& row) {
        std::ranges::fill(row, top / 2 + (engine() & top) / 64);
        for (std::size_t c = 1; c < d; c += 2) {
          const std::uint64_t moved = (engine() & top) / 2;
          row[c - 1] -= moved;
          row[c] = std::min(top - moved, row[c]) + moved;
        }
      });
      break;
    case Distribution::equal_sums:
      for_each_row([&](std::size_t, Values& row) {
        for (std::size_t c = 0; c < d; ++c) row[c] = top - c * (top / (d + 1));
        std::ranges::shuffle(row, engine);
      });
      break;
    case Distribution::few_distinct:
      for_each_row([&](std::size_t, Values& row) { std::ranges::generate(row, [&] { return 7 + engine() % 3; }); });
      break;
    case Distribution::all_equal:
      for_each_row([&](std::size_t, Values& row) { std::ranges::fill(row, top / 3); });
      break;
    case Distribution::ascending: for_each_row([&](std::size_t i, Values& row) { std::ranges::fill(row, i); }); break;
    case Distribution::descending:
      for_each_row([&](std::size_t i, Values& row) { std::ranges::fill(row, n - i); });
      break;
    case Distribution::extremes:
      for_each_row([&](std::size_t, Values& row) {
        const std::uint64_t choices[] = {0, 0, top, top, top, 1, top - 1, top / 2 + 1};
        std::ranges::generate(row, [&] { return choices[engine() % std::size(choices)]; });
      });
      break;
    case Distribution::repeated:
      for_each_row([&](std::size_t i, Values& row) {
        std::mt19937_64 same(seed + i * 7 % std::max<std::size_t>(1, n / 4));
        std::ranges::generate(row, [&] { return same() & top; });
      });
      break;
    case Distribution::skewed:
      for_each_row([&](std::size_t, Values& row) {
        for (std::size_t c = 0; c < d; ++c)
          row[c] = (engine() & top) >> (c * 5 % static_cast<std::size_t>(bits(width)));
      });
      break;
  }
  return columns;
}

std::vector<OrderNode> random_order(std::size_t d, std::mt19937_64& engine) {
  std::vector<std::uint32_t> columns(d);
  std::iota(columns.begin(), columns.end(), 0u);
  std::ranges::shuffle(columns, engine);
  struct Open {
    std::size_t node;
    std::size_t begin;
    std::size_t end;  ///< the columns below the node
  };
  std::vector<OrderNode> nodes(1);
  std::vector<Open> open{{0, 0, d}};
  while (!open.empty()) {
    const Open it = open.back();
    open.pop_back();
    const std::size_t size = it.end - it.begin;
    if (size == 1 && engine() % 4 != 0) {
      nodes[it.node] = {OrderNode::Kind::key, columns[it.begin], 0};
      continue;
    }
    const std::size_t count = 1 + engine() % std::min<std::size_t>(size, 4);
    nodes[it.node] = {engine() % 2 == 0 ? OrderNode::Kind::pareto : OrderNode::Kind::prior,
                      static_cast<std::uint32_t>(nodes.size()), static_cast<std::uint32_t>(count)};
    for (std::size_t child = 0; child < count; ++child) {
      open.push_back({nodes.size(), it.begin + size * child / count, it.begin + size * (child + 1) / count});
      nodes.emplace_back();
    }
  }
  return nodes;
}

}  // namespace skyrank::kernels::tests
