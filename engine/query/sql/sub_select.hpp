#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/query.hpp>

// Sub-selects in FROM. One that only chooses rows, computes columns, groups or numbers rows needs no query of its own:
// the statement around it is read with the expressions of the sub-select in place of its columns, and with its
// conditions and groups. Every other sub-select is left to SQL engines.
namespace skyrank::query {

/// Holds what a sub-select says.
struct SubSelect {
  std::size_t begin = 0;  ///< the place of its '('
  std::size_t end = 0;    ///< behind its ')'
  std::string from;
  Location table;
  std::optional<Expression> where;
  std::optional<Expression> having;
  std::vector<GroupKey> group_by;
  std::vector<Aggregate> aggregates;
  std::vector<SelectItem> selected;  ///< empty: every column

  /// The name of ROW_NUMBER() OVER (...), and its clauses.
  std::optional<std::string> number;
  std::vector<GroupKey> partition_by;
  std::vector<RankTerm> ranking;
  std::vector<std::size_t> nulls_first;
  std::vector<std::size_t> nulls_last;

  bool has_groups() const { return !group_by.empty() || !aggregates.empty(); }
};

/// The FROM clause of a statement, found by its tokens.
struct FromClause {
  std::size_t table_begin = 0;  ///< a name, a quoted text or '('
  std::size_t table_end = 0;
  bool is_sub_select = false;
  std::size_t alias_begin = 0;  ///< begins with AS or the name; equal to `alias_end` where there is no alias
  std::size_t alias_end = 0;
  std::vector<std::string> names;  ///< by which columns may be qualified
};

/// Finds the clause; nothing where there is none, and where its bracket does not end.
std::optional<FromClause> find_from(std::string_view text);

/// A column that a name of a table qualifies, such as h.price: the place of the name, and of the column.
struct Qualifier {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string name;
};

/// Finds the qualifiers of a statement, but for that of its table.
std::vector<Qualifier> find_qualifiers(std::string_view text, const FromClause& from);

}  // namespace skyrank::query
