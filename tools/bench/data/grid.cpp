#include "tools/bench/data/grid.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <system_error>

#include <skyrank/error.hpp>

#include "datasets/generate/generate.hpp"
#include "engine/query/yaml/read.hpp"
#include "kernels/registry.hpp"

namespace skyrank::bench {
namespace {

using query::MapReader;
using query::YamlDocument;
using query::YamlNode;

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMaxCells = 10'000;
constexpr std::int64_t kMaxThreads = 1024;
constexpr std::int64_t kMaxRuns = 10'000;

// NOLINTBEGIN(bugprone-throwing-static-initialization): a process that has no memory for them cannot begin
const std::vector<std::string> kKeys = {
    "op",         "distribution", "file",    "columns", "order", "n",        "d",
    "k",          "type",         "ties",    "where",   "seed",  "threads",  "residency",
    "algorithms", "parameters",   "warmups", "repeats", "seeds", "budget_s", "enough_s"};

const query::Choices<Op> kOps = {{"skyline", Op::skyline}, {"top-k", Op::topk}};
const query::Choices<kernels::TieRule> kTies = {{"first", kernels::TieRule::first},
                                                {"last", kernels::TieRule::last},
                                                {"all", kernels::TieRule::all},
                                                {"any", kernels::TieRule::any}};
const query::Choices<bool> kOrders = {{"low", false}, {"high", true}};
const query::Choices<bool> kSeeds = {{"one", false}, {"each_run", true}};
const query::Choices<kernels::Memory> kResidencies = {{"sent", kernels::Memory::host},
                                                      {"resident", kernels::Memory::device}};
const query::Choices<Type> kTypes = {{"float32", Type::float32}, {"float64", Type::float64}, {"uint8", Type::uint8},
                                     {"uint16", Type::uint16},   {"uint32", Type::uint32},   {"uint64", Type::uint64}};
// NOLINTEND(bugprone-throwing-static-initialization)

/// Names that stand for themselves.
template <class Names>
query::Choices<std::string> name_choices(const Names& names) {
  query::Choices<std::string> choices;
  for (const auto& named : names) {
    std::string name;
    if constexpr (requires { named->name; }) {
      name = named->name;
    } else {
      name = named.name;
    }
    choices.emplace_back(name, name);
  }
  return choices;
}

/// Parameters of the algorithms for `op` that are among `names`, or of all of them if there are none.
std::vector<std::span<const kernels::Parameter>> declared_parameters(Op op, const std::vector<std::string>& names) {
  std::vector<std::span<const kernels::Parameter>> declared;
  const auto add = [&](const auto& algorithms) {
    for (const auto* algorithm : algorithms) {
      const bool wanted = names.empty() || std::ranges::find(names, algorithm->name) != names.end();
      if (wanted) declared.push_back(algorithm->parameters);
    }
  };
  if (op == Op::skyline) {
    add(kernels::skyline_algorithms());
  } else {
    add(kernels::topk_algorithms());
  }
  return declared;
}

query::Choices<std::string> algorithm_choices(Op op) {
  return op == Op::skyline ? name_choices(kernels::skyline_algorithms()) : name_choices(kernels::topk_algorithms());
}

/// `k`, as a number or as a share of n.
struct Count {
  std::int64_t rows = 0;
  std::int64_t divisor = 0;  ///< 0: `rows` counts
};

/// Reads the map of one block of cells.
class BlockReader {
 public:
  /// Relative names of files are names in `folder`.
  BlockReader(const YamlDocument& document, const YamlNode& node, std::filesystem::path folder)
      : document_(document), node_(node), map_(document, node, "a cell", kKeys), folder_(std::move(folder)) {}

  std::vector<Cell> read() {
    Cell base;
    base.op = query::read_choice(document_, map_.require("op"), "'op'", kOps);
    if (base.op == Op::skyline) refuse_for_skylines({"k", "ties", "where"});
    if (const YamlNode* node = map_.find("algorithms")) base.algorithms = read_names(*node, base.op);
    base.warmups = static_cast<int>(read_or("warmups", base.warmups, 0, kMaxRuns));
    base.repeats = static_cast<int>(read_or("repeats", base.repeats, 1, kMaxRuns));
    if (const YamlNode* node = map_.find("seeds"))
      base.seed_each_run = query::read_choice(document_, *node, "'seeds'", kSeeds);
    if (const YamlNode* order = map_.find("order")) {
      base.high = query::read_choice(document_, *order, "'order'", kOrders);
    }
    if (const YamlNode* node = map_.find("budget_s"))
      base.budget_s = read_positive(*node, "'budget_s'", "a number of seconds");
    if (const YamlNode* node = map_.find("enough_s"))
      base.enough_s = read_positive(*node, "'enough_s'", "a number of seconds");
    const YamlNode* const file = map_.find("file");
    if (file != nullptr) read_file(*file, base);
    cells_ = {base};
    vary_data(base.op, file != nullptr);
    if (base.op == Op::topk) vary_ranking();
    vary("residency", false, choices(kResidencies),
         [](Cell& cell, kernels::Memory residency) { cell.residency = residency; });
    vary("threads", false, integers(0, kMaxThreads),
         [](Cell& cell, std::int64_t threads) { cell.threads = static_cast<int>(threads); });
    if (const YamlNode* node = map_.find("parameters")) vary_parameters(*node, base);
    return std::move(cells_);
  }

 private:
  using ReadInteger = std::function<std::int64_t(const YamlNode&, const std::string&)>;

  void read_file(const YamlNode& node, Cell& cell) const {
    refuse({"distribution", "d", "type", "seed"}, "is for generated data, not for a file");
    cell.file = folder_ / query::read_text(document_, node, "'file'");
    cell.distribution = cell.file.filename().string();
    const YamlNode& columns = map_.require("columns");
    if (columns.is_sequence()) {
      for (const YamlNode& name : query::read_list(document_, columns, "'columns'", "[a, b]")) {
        cell.columns.push_back(query::read_text(document_, name, "a name in 'columns'"));
      }
    } else {
      cell.columns.push_back(query::read_text(document_, columns, "'columns'"));
    }
    if (cell.columns.size() > kernels::kMaxDims) {
      document_.fail(columns, "'columns' has more than " + std::to_string(kernels::kMaxDims) + " names");
    }
    cell.d = static_cast<int>(cell.columns.size());
  }

  void vary_data(Op op, bool of_file) {
    if (!of_file) {
      refuse({"columns"}, "is for a file, and there is none");
      const auto distributions = name_choices(datasets::distributions());
      vary("distribution", true, choices(distributions),
           [](Cell& cell, const std::string& name) { cell.distribution = name; });
    }
    vary("n", true, integers(1, std::numeric_limits<std::int64_t>::max()),
         [](Cell& cell, std::int64_t n) { cell.n = n; });
    if (of_file) return;
    vary("d", op == Op::skyline, integers(1, kernels::kMaxDims),
         [](Cell& cell, std::int64_t d) { cell.d = static_cast<int>(d); });
    vary("type", false, choices(kTypes), [](Cell& cell, Type type) { cell.type = type; });
    const auto read_seed = [this](const YamlNode& node, const std::string& what) {
      return query::read_unsigned(document_, node, what);
    };
    vary("seed", false, read_seed, [](Cell& cell, std::uint64_t seed) { cell.seed = seed; });
  }

  void vary_ranking() {
    const auto read = [this](const YamlNode& node, const std::string& what) { return read_count(node, what); };
    const YamlNode& place = map_.require("k");
    vary("k", true, read, [&](Cell& cell, const Count& count) {
      cell.k = count.divisor > 0 ? std::max<std::int64_t>(1, cell.n / count.divisor) : count.rows;
      if (cell.k > cell.n) {
        document_.fail(
            place, "'k' is " + std::to_string(cell.k) + ", more than the " + std::to_string(cell.n) + " rows of 'n'");
      }
    });
    vary("ties", false, choices(kTies), [](Cell& cell, kernels::TieRule ties) { cell.ties = ties; });
    const auto read_share = [this](const YamlNode& node, const std::string& what) {
      const double share = read_positive(node, what, "a share");
      if (share > 1) document_.fail(node, what + " must be at most 1");
      return share;
    };
    vary("where", false, read_share, [](Cell& cell, double share) { cell.where = share; });
  }

  /// Combines the cells with the values of each parameter in turn.
  void vary_parameters(const YamlNode& node, const Cell& base) {
    for (const auto& [key, value] : query::read_map(document_, node, "'parameters'")) {
      const std::string name = query::read_text(document_, key, "a name in 'parameters'");
      const auto read = [&](const YamlNode& one, const std::string& what) {
        const std::int64_t number = query::read_integer(document_, one, what, std::numeric_limits<std::int64_t>::min());
        check_parameter(one, base, {{name, number}});
        return number;
      };
      vary_values("'" + name + "'", value, read,
                  [&](Cell& cell, std::int64_t number) { cell.parameters[name] = number; });
    }
    for (const Cell& cell : cells_) check_parameter(node, base, cell.parameters);
  }

  /// Complains if no algorithm of the cell takes such parameters.
  void check_parameter(const YamlNode& node, const Cell& base, const Parameters& parameters) const {
    std::string fault;
    for (const auto declared : declared_parameters(base.op, base.algorithms)) {
      const std::string wrong = kernels::check_parameters(declared, parameters);
      if (wrong.empty()) return;
      // A message about the value says more than one about an unknown name.
      if (fault.empty() || wrong.starts_with("parameter ")) fault = wrong;
    }
    const bool one = base.algorithms.size() == 1;
    document_.fail(node,
                   (one ? "'" + base.algorithms.front() + "': " : "no algorithm of the cell takes this: ") + fault);
  }

  void refuse_for_skylines(const std::vector<std::string>& keys) const {
    refuse(keys, "is for top-k, not for skylines");
  }

  void refuse(const std::vector<std::string>& keys, const std::string& why) const {
    for (const std::string& key : keys) {
      if (const YamlNode* node = map_.find(key)) document_.fail(*node, "'" + key + "' " + why);
    }
  }

  /// Replaces the cells by all combinations of them with the values of `key`, if it is given.
  template <class Read, class Set>
  void vary(const std::string& key, bool required, const Read& read, const Set& set) {
    if (!required && map_.find(key) == nullptr) return;
    vary_values("'" + key + "'", map_.require(key), read, set);
  }

  template <class Read, class Set>
  void vary_values(const std::string& what, const YamlNode& node, const Read& read, const Set& set) {
    const std::vector<YamlNode>& values =
        node.is_sequence() ? query::read_list(document_, node, what, "[a, b]") : std::vector<YamlNode>{node};
    if (values.size() * cells_.size() > kMaxCells) {
      document_.fail(node_, "these are more than " + std::to_string(kMaxCells) + " cells");
    }
    std::vector<Cell> combined;
    for (const Cell& cell : cells_) {
      for (const YamlNode& value : values) set(combined.emplace_back(cell), read(value, what));
    }
    cells_ = std::move(combined);
  }

  template <class Choice>
  std::function<Choice(const YamlNode&, const std::string&)> choices(const query::Choices<Choice>& list) const {
    return [this, list](const YamlNode& node, const std::string& what) {
      return query::read_choice(document_, node, what, list);
    };
  }

  ReadInteger integers(std::int64_t at_least, std::int64_t at_most) const {
    return [this, at_least, at_most](const YamlNode& node, const std::string& what) {
      const std::int64_t value = query::read_integer(document_, node, what, at_least);
      if (value > at_most) {
        document_.fail(node, what + " must be at most " + std::to_string(at_most) + ", found " + std::to_string(value));
      }
      return value;
    };
  }

  std::int64_t read_or(const std::string& key, std::int64_t otherwise, std::int64_t at_least, std::int64_t at_most) {
    const YamlNode* node = map_.find(key);
    return node == nullptr ? otherwise : integers(at_least, at_most)(*node, "'" + key + "'");
  }

  Count read_count(const YamlNode& node, const std::string& what) const {
    constexpr std::string_view kShare = "n/";
    if (!node.is_scalar() || !node.text.starts_with(kShare)) return {query::read_integer(document_, node, what, 1), 0};
    YamlNode divisor = node;
    divisor.text.erase(0, kShare.size());
    divisor.offset += kShare.size();
    return {0, query::read_integer(document_, divisor, "the divisor in " + what, 1)};
  }

  double read_positive(const YamlNode& node, const std::string& what, const std::string& kind) const {
    const Value value = query::read_value(document_, node, what);
    double number = 0;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) number = static_cast<double>(*whole);
    if (const auto* fraction = std::get_if<double>(&value)) number = *fraction;
    if (!(number > 0)) document_.fail(node, what + " needs " + kind + " above 0, found " + query::found(node));
    return number;
  }

  std::vector<std::string> read_names(const YamlNode& node, Op op) const {
    const auto known = algorithm_choices(op);
    if (!node.is_sequence()) return {query::read_choice(document_, node, "'algorithms'", known)};
    std::vector<std::string> names;
    for (const YamlNode& item : query::read_list(document_, node, "'algorithms'", "[a, b]")) {
      names.push_back(query::read_choice(document_, item, "'algorithms'", known));
    }
    return names;
  }

  const YamlDocument& document_;
  const YamlNode& node_;
  MapReader map_;
  std::filesystem::path folder_;
  std::vector<Cell> cells_;
};

std::string read_text_file(const std::filesystem::path& file) {
  std::error_code error;
  const auto kind = std::filesystem::status(file, error).type();
  if (kind == std::filesystem::file_type::not_found) throw QueryError("no such file", {file.string()});
  if (kind == std::filesystem::file_type::directory) {
    throw QueryError("is a folder; a grid is a YAML file", {file.string()});
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (!stream) {
    throw ResourceError("cannot read the grid: " + std::generic_category().message(errno), {file.string()});
  }
  return text;
}

template <class Enum>
std::string_view name_in(const query::Choices<Enum>& choices, Enum value) {
  for (const auto& [name, choice] : choices) {
    if (choice == value) return name;
  }
  return {};
}

}  // namespace

Grid parse_grid(std::string_view yaml, const std::string& source) {
  const YamlDocument document(yaml, source, {});
  if (document.root().kind == YamlNode::Kind::null) {
    document.fail(document.root(), "the grid is empty; it needs the keys version and cells");
  }
  const MapReader map(document, document.root(), "a grid", {"version", "cells"});
  const YamlNode& version = map.require("version");
  if (query::read_integer(document, version, "'version'", 1) != kVersion) {
    document.fail(version,
                  "version " + version.text + " is not known; this program reads version " + std::to_string(kVersion));
  }
  Grid grid{std::filesystem::path(source).stem().string(), {}};
  const std::string example = "[{op: skyline, distribution: independent, n: 100000, d: 8}]";
  for (const YamlNode& block : query::read_list(document, map.require("cells"), "'cells'", example)) {
    const std::vector<Cell> cells = BlockReader(document, block, std::filesystem::path(source).parent_path()).read();
    grid.cells.insert(grid.cells.end(), cells.begin(), cells.end());
  }
  return grid;
}

Grid read_grid(const std::filesystem::path& file) { return parse_grid(read_text_file(file), file.string()); }

std::string to_string(const Parameters& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters) {
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  }
  return text;
}

std::string_view to_string(Op op) { return name_in(kOps, op); }

std::string_view to_string(kernels::TieRule ties) { return name_in(kTies, ties); }

}  // namespace skyrank::bench
