#include "engine/operators/missing/missing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/expression/load.hpp"
#include "engine/expression/source.hpp"
#include "engine/row_error.hpp"
#include "engine/runtime/parallel.hpp"

// The rules `nan:` and `nulls:`.
namespace skyrank::exec {
namespace {

constexpr std::uint8_t kNull = 1;
constexpr std::uint8_t kNan = 2;

/// ors kNull or kNan into `flags` for the rows of a block where the value is missing so.
void flag_missing(const Source& source, std::int64_t begin, std::int64_t size, std::uint8_t* flags) {
  std::uint8_t validity[kBlockRows];
  const std::uint8_t* valid = load_validity(source.data(), source.rows, begin, size, validity);
  if (valid != nullptr) {
    for (std::int64_t i = 0; i < size; ++i) flags[i] = valid[i] == 0 ? kNull : flags[i];
  }
  if (!is_floating(source.type())) return;
  with_stored_type(source.type(), [&]<class T>(T) {
    T scratch[kBlockRows];
    const auto present = [&](std::int64_t i) { return valid == nullptr || valid[i] != 0; };
    if constexpr (std::is_floating_point_v<T>) {
      const T* values = load_values(source.data(), source.rows, begin, size, scratch);
      for (std::int64_t i = 0; i < size; ++i) flags[i] |= std::isnan(values[i]) && present(i) ? kNan : std::uint8_t{0};
    } else if constexpr (std::is_same_v<T, Float16>) {
      const T* values = load_values(source.data(), source.rows, begin, size, scratch);
      for (std::int64_t i = 0; i < size; ++i) {
        flags[i] |= (values[i].bits & 0x7fff) > 0x7c00 && present(i) ? kNan : std::uint8_t{0};
      }
    }
  });
}

[[noreturn]] void refuse(bool null, const query::BoundExpression& expression, RowId row) {
  throw RowError(std::string(null ? "NULL" : "NaN") + " in row ", row,
                 " of '" + expression.text + "', which '" + (null ? "nulls" : "nan") +
                     ": error' refuses; 'exclude' leaves such rows out",
                 expression.location);
}

}  // namespace

Vector<RowId> apply_missing_rules(const std::vector<const query::BoundExpression*>& expressions, const Table& table,
                                  const Rows& rows, Missing nan_rule, Missing null_rule) {
  Vector<RowId> ids(static_cast<std::size_t>(rows.n));
  if (!query::drops_or_refuses(nan_rule) && !query::drops_or_refuses(null_rule)) {
    for_chunks(rows.n, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ids[static_cast<std::size_t>(i)] = rows[i];
    });
    return ids;
  }
  std::vector<Source> sources;
  for (const query::BoundExpression* expression : expressions) sources.emplace_back(*expression, table, rows);
  const auto flags_of = [&](Missing rule) {
    return static_cast<std::uint8_t>((nan_rule == rule ? kNan : 0) | (null_rule == rule ? kNull : 0));
  };
  const std::uint8_t refused = flags_of(Missing::error);
  const std::uint8_t excluded = flags_of(Missing::exclude);

  Vector<std::int64_t> kept(static_cast<std::size_t>(num_chunks(rows.n)));
  for_chunks(rows.n, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    std::int64_t count = 0;
    for (std::int64_t at = begin; at < end; at += kBlockRows) {
      const std::int64_t size = std::min(kBlockRows, end - at);
      std::uint8_t dropped[kBlockRows] = {};
      std::int64_t first = size;
      std::size_t culprit = 0;
      bool null = false;
      for (std::size_t s = 0; s < sources.size(); ++s) {
        std::uint8_t flags[kBlockRows] = {};
        flag_missing(sources[s], at, size, flags);
        for (std::int64_t i = 0; i < size; ++i) dropped[i] |= flags[i] & excluded;
        const std::uint8_t* bad =
            std::find_if(flags, flags + first, [&](std::uint8_t flag) { return (flag & refused) != 0; });
        if (bad == flags + first) continue;
        first = bad - flags;
        culprit = s;
        null = *bad == kNull;
      }
      if (first < size) refuse(null, *expressions[culprit], rows[at + first]);
      for (std::int64_t i = 0; i < size; ++i) {
        ids[static_cast<std::size_t>(begin + count)] = rows[at + i];
        count += dropped[i] == 0 ? 1 : 0;
      }
    }
    kept[static_cast<std::size_t>(chunk)] = count;
  });
  // Each chunk left what it keeps at its beginning.
  auto out = ids.begin();
  for (std::size_t chunk = 0; chunk < kept.size(); ++chunk) {
    const auto from = ids.begin() + static_cast<std::ptrdiff_t>(chunk) * kChunkRows;
    out = out == from ? from + kept[chunk] : std::copy(from, from + kept[chunk], out);
  }
  ids.erase(out, ids.end());
  return ids;
}

namespace {

void add_values(const query::BoundPreference& preference, std::vector<const query::BoundExpression*>& expressions) {
  if (preference.children.empty() && preference.kind != Preference::Kind::where) {
    expressions.push_back(&preference.expression);
  }
  for (const query::BoundPreference& child : preference.children) add_values(child, expressions);
}

}  // namespace

std::vector<const query::BoundExpression*> value_expressions(const query::BoundQuery& query) {
  std::vector<const query::BoundExpression*> expressions;
  if (query.preference) add_values(*query.preference, expressions);
  for (const query::BoundRankTerm& term : query.ranking) {
    if (!term.measure) expressions.push_back(&term.expression);
  }
  return expressions;
}

}  // namespace skyrank::exec
