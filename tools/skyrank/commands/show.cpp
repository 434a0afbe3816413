#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/text.hpp"
#include "tools/skyrank/commands.hpp"
#include "tools/skyrank/dialects/dialects.hpp"
#include "tools/skyrank/tables/batch_input.hpp"

namespace skyrank::tools {
namespace {

std::string text_of(const Query& query, const std::string& dialect) {
  return dialect == "sql" ? to_sql(query) + ";\n" : to_cpp(query);
}

}  // namespace

int show(const ShowArguments& arguments, Console& console) {
  const std::vector<std::string> dialects = {"sql", "yaml", "cpp"};
  const std::string& dialect = arguments.dialect;
  if (std::find(dialects.begin(), dialects.end(), dialect) == dialects.end()) {
    throw UsageError(fmt::format("--as: '{}' is not one of {}{}", dialect, fmt::join(dialects, ", "),
                                 query::did_you_mean(dialect, dialects)));
  }
  const Batch batch = open_batch(arguments.batch);
  if (dialect == "yaml") {
    console.print(to_yaml(batch));
  } else {
    for (const Query& query : batch.queries) {
      console.print((&query == &batch.queries.front() ? "" : "\n") + text_of(query, dialect));
    }
  }
  console.flush();
  return success;
}

}  // namespace skyrank::tools
