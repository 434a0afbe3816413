#include "engine/query/bind/keys.hpp"

#include <algorithm>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/query/bind/binding.hpp"
#include "engine/query/check.hpp"
#include "engine/query/written_names.hpp"
#include "engine/text.hpp"

namespace skyrank::query {
namespace {

void check_name(const GroupKey& key, const Table& table, const SchemaPlaces& places) {
  const bool unsupported =
      std::ranges::find(table.unsupported(), key.name, &UnsupportedColumn::name) != table.unsupported().end();
  if (!places.find(key.name) && !unsupported) return;
  if (key.name != output_name(key.expression)) {
    throw BindError("the table has a column " + in_quotes(key.name) + " already; name the key " +
                        key.expression.text() + " otherwise",
                    key.expression.location());
  }
  throw BindError("the table has a column named like the key " + key.name +
                      "; put the name in backquotes to mean the column, or rename it",
                  key.expression.location());
}

std::vector<BoundKey> bind_keys(const Query& query, const std::vector<GroupKey>& keys, const Table& table,
                                const NameTest& is_column) {
  const Schema schema = schema_of(table);
  const SchemaPlaces places(schema);
  if (query.where()) bind_expression(named(*query.where(), is_column), places);  // whose mistakes are reported first
  std::vector<BoundKey> bound;
  for (const GroupKey& key : keys) {
    if (key.is_column()) continue;
    check_name(key, table, places);
    bound.push_back({key.name, bind_expression(key.expression, places)});
  }
  return bound;
}

}  // namespace

KeyedQuery bind_with_keys(const Query& query, const Table& table) {
  query.validate();
  const NameTest is_column = names_of(table);
  Schema schema = schema_of(table);
  const TableKeys keys{named_keys(query, is_column), schema.fields.size()};
  refuse_unsupported(query, is_column, table.unsupported());
  std::vector<BoundKey> bound;
  if (!std::ranges::all_of(keys.keys, &GroupKey::is_column)) bound = bind_keys(query, keys.keys, table, is_column);
  // Values of an expression have the type that it is evaluated in, those of plain columns too.
  for (const BoundKey& key : bound) schema.fields.push_back({key.name, key.value.root->type});
  return {bind(query, keys, schema), std::move(bound)};
}

}  // namespace skyrank::query
