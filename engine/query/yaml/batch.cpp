#include <skyrank/batch.hpp>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "engine/query/locations.hpp"
#include "engine/query/yaml/read.hpp"
#include "engine/text.hpp"

// Batches: the top level of the YAML text, its tables, and the checks between tables and queries (names that come
// twice, tables that nobody defines). read_query.cpp reads the queries.
namespace skyrank {
inline namespace v0 {
namespace {

using query::found;
using query::MapReader;
using query::YamlDocument;
using query::YamlNode;

constexpr std::int64_t kVersion = 1;

GeneratorSpec read_generator(const YamlDocument& document, const YamlNode& node) {
  const MapReader map(document, node, "'generate'", {"distribution", "rows", "dims", "seed"});
  GeneratorSpec spec;
  spec.distribution = query::read_text(document, map.require("distribution"), "'distribution'");
  spec.rows = query::read_integer(document, map.require("rows"), "'rows'", 0);
  if (const YamlNode* dims = map.find("dims")) {
    const std::int64_t value = query::read_integer(document, *dims, "'dims'", 1);
    if (value > std::numeric_limits<int>::max()) document.fail(*dims, "'dims' is out of range: " + found(*dims));
    spec.dims = static_cast<int>(value);
  }
  if (const YamlNode* seed = map.find("seed")) spec.seed = query::read_unsigned(document, *seed, "'seed'");
  return spec;
}

std::string read_file_name(const YamlDocument& document, const YamlNode& node) {
  std::string name = query::read_text(document, node, "'file'");
  if (name.find('\0') != std::string::npos) document.fail(node, "'file' holds a NUL character, which no path can");
  return name;
}

std::vector<std::string> read_files(const YamlDocument& document, const YamlNode& node) {
  if (!node.is_sequence()) return {read_file_name(document, node)};
  std::vector<std::string> files;
  for (const YamlNode& item : query::read_list(document, node, "'file'", "[a.csv, b.csv]")) {
    files.push_back(read_file_name(document, item));
  }
  return files;
}

// Spellings are texts even where YAML reads them as NULL or as numbers.
std::vector<std::string> read_null_spellings(const YamlDocument& document, const YamlNode& node) {
  std::vector<std::string> spellings;
  for (const YamlNode& item : query::read_list(document, node, "'nulls'", "[NA, '-']")) {
    if (!item.is_scalar() && item.text.empty()) {
      document.fail(item, "a spelling in 'nulls' needs a text, found " + found(item));
    }
    spellings.push_back(item.text);
  }
  return spellings;
}

std::map<std::string, std::string> read_types(const YamlDocument& document, const YamlNode& node) {
  std::map<std::string, std::string> types;
  for (const auto& [column, type] : query::read_map(document, node, "'types'")) {
    types.emplace(column.text, query::read_text(document, type, "the type of column " + found(column)));
  }
  return types;
}

TableSpec read_table(const YamlDocument& document, const YamlNode& name, const YamlNode& node) {
  const std::string what = "the table " + found(name);
  if (name.text.empty()) document.fail(name, "a table's name is empty");
  const MapReader map(document, node, what,
                      {"file", "format", "header", "delimiter", "decimal", "skip", "comment", "nulls", "encoding",
                       "records", "flatten", "types", "generate"},
                      MapReader::Unknown::goes_on);
  TableSpec source;
  source.name = name.text;
  source.location = document.place(name);
  const YamlNode* file = map.find("file");
  const YamlNode* generate = map.find("generate");
  if (file == nullptr && generate == nullptr && map.has_unknown()) throw query::MistakesCollected{};
  if ((file == nullptr) == (generate == nullptr)) {
    document.fail(name, what + " needs one of 'file' and 'generate'" + (file == nullptr ? "" : ", not both"));
  }
  map.with("file", [&](const YamlNode& value) { source.files = read_files(document, value); });
  map.with("generate", [&](const YamlNode& value) { source.generator = read_generator(document, value); });
  for (const char* key : {"format", "header", "delimiter", "decimal", "skip", "comment", "nulls", "encoding", "records",
                          "flatten", "types"}) {
    map.with(key, [&](const YamlNode& value) {
      if (generate != nullptr) document.fail(value, what + " is generated: '" + key + "' is for files");
    });
  }
  map.with("format", [&](const YamlNode& value) { source.format = query::read_text(document, value, "'format'"); });
  map.with("header", [&](const YamlNode& value) { source.csv.header = query::read_bool(document, value, "'header'"); });
  map.with("delimiter",
           [&](const YamlNode& value) { source.csv.delimiter = query::read_text(document, value, "'delimiter'"); });
  const auto with_text = [&](const char* key, std::string& text) {
    map.with(key, [&](const YamlNode& value) {
      text = query::read_text(document, value, "'" + std::string(key) + "'");
      if (text.empty()) document.fail(value, "'" + std::string(key) + "' is empty");
    });
  };
  with_text("decimal", source.csv.decimal);
  with_text("comment", source.csv.comment);
  with_text("encoding", source.encoding);
  with_text("records", source.records);
  map.with("flatten", [&](const YamlNode& value) { source.flatten = query::read_bool(document, value, "'flatten'"); });
  map.with("skip", [&](const YamlNode& value) { source.csv.skip = query::read_integer(document, value, "'skip'", 0); });
  map.with("nulls", [&](const YamlNode& value) { source.csv.null_spellings = read_null_spellings(document, value); });
  map.with("types", [&](const YamlNode& value) { source.types = read_types(document, value); });
  return source;
}

std::vector<TableSpec> read_tables(const YamlDocument& document, const YamlNode& node) {
  std::vector<TableSpec> tables;
  for (const query::YamlEntry& entry : query::read_map(document, node, "'tables'")) {
    TableSpec table;
    table.name = entry.key.text;  // known to queries also where it has mistakes
    document.attempt([&] { table = read_table(document, entry.key, entry.value); });
    tables.push_back(std::move(table));
  }
  return tables;
}

std::vector<int> read_devices(const YamlDocument& document, const YamlNode& node) {
  std::vector<int> devices;
  for (const YamlNode& item : query::read_list(document, node, "'devices'", "[0, 1]")) {
    const std::int64_t device = query::read_integer(document, item, "the number of a GPU in 'devices'", 0);
    if (device > std::numeric_limits<int>::max()) document.fail(item, "a GPU's number is out of range: " + found(item));
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) {
      document.fail(item, "GPU " + item.text + " is named twice in 'devices'");
    }
    devices.push_back(static_cast<int>(device));
  }
  return devices;
}

std::vector<Query> read_queries(const YamlDocument& document, const YamlNode& node, const query::TableNames& tables) {
  std::vector<Query> queries;
  std::map<std::string, Location> seen;
  for (const YamlNode& item : query::read_list(document, node, "'queries'", "[{name: cheap, from: hotels, ...}]")) {
    document.attempt([&] {
      Query read = query::read_query(document, item, tables);
      const auto [first, is_new] = seen.emplace(read.name(), query::location_of(read));
      if (!is_new) {
        document.fail(item, "the query name '" + read.name() + "' comes twice; the first is in line " +
                                std::to_string(first->second.line));
      }
      queries.push_back(std::move(read));
    });
  }
  return queries;
}

const std::string& name_of(const TableSpec& table) { return table.name; }
const std::string& name_of(const Query& query) { return query.name(); }

template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& list) {
  std::vector<std::string> names;
  for (const Named& item : list) names.push_back(name_of(item));
  return names;
}

query::TableNames table_names(const std::vector<TableSpec>& tables) {
  query::TableNames names{names_of(tables), {}};
  names.known.insert(names.listed.begin(), names.listed.end());
  return names;
}

template <class Named>
const Named& find_named(const std::vector<Named>& list, std::string_view name, const std::string& what) {
  const auto item = std::find_if(list.begin(), list.end(), [&](const Named& one) { return name_of(one) == name; });
  if (item != list.end()) return *item;
  const auto names = names_of(list);
  throw BindError("there is no " + what + " '" + std::string(name) + "' in the batch" +
                  query::did_you_mean(name, names) + (names.empty() ? "" : " (it has " + query::listed(names) + ")"));
}

// At most a little more than `max_bytes`: enough for the parser to see that there is too much.
std::string read_text_file(const std::filesystem::path& file, std::size_t max_bytes) {
  const auto failure = [&](const std::string& reason) {
    return ResourceError("cannot read the batch: " + reason, {file.string(), 0, 0});
  };
  const auto system_reason = [] { return std::generic_category().message(errno); };
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) throw failure("it is a directory");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw failure(system_reason());
  constexpr std::size_t kByteOrderMark = 3;
  std::string text;
  std::vector<char> chunk(std::size_t{1} << 16);
  while (stream && text.size() <= max_bytes + kByteOrderMark) {
    stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    text.append(chunk.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) throw failure(system_reason());
  return text;
}

/// Reads as much of a batch as there are no mistakes in.
void read_document(const YamlDocument& document, Batch& batch) {
  if (document.root().kind == YamlNode::Kind::null) {
    document.fail(document.root(), "the batch is empty; it needs the keys version, tables and queries");
  }
  const MapReader map(document, document.root(), "a batch", {"version", "timeout", "devices", "tables", "queries"},
                      MapReader::Unknown::goes_on);
  const YamlNode& version = map.require("version");
  if (query::read_integer(document, version, "'version'", 1) != kVersion) {
    document.fail(version,
                  "version " + version.text + " is not known; this program reads version " + std::to_string(kVersion));
  }
  batch.tables = read_tables(document, map.require("tables"));
  document.attempt([&] { batch.queries = read_queries(document, map.require("queries"), table_names(batch.tables)); });
  // Whoever opened a table whose rows have no place would report its mistakes again.
  const auto is_nowhere = [](const TableSpec& table) { return table.files.empty() && !table.generator; };
  std::set<std::string> nowhere;
  for (const TableSpec& table : batch.tables) {
    if (is_nowhere(table)) nowhere.insert(table.name);
  }
  std::erase_if(batch.queries, [&](const Query& query) { return nowhere.contains(query.from()); });
  std::erase_if(batch.tables, is_nowhere);
  map.with("devices", [&](const YamlNode& value) { batch.devices = read_devices(document, value); });
  map.with("timeout", [&](const YamlNode& value) {
    const std::chrono::milliseconds limit = query::read_duration(document, value, "'timeout'");
    for (Query& query : batch.queries) query.timeout(query.timeout().value_or(limit));
  });
}

/// The same of a text. Mistakes come in the order in which it is read.
Batch read_as_far(std::string_view yaml, const std::string& source, const BatchLimits& limits,
                  std::vector<QueryError>& mistakes) {
  Batch batch;
  try {
    YamlDocument document(yaml, source, limits);
    document.collect(mistakes);
    document.attempt([&] { read_document(document, batch); });
  } catch (const QueryError& mistake) {  // it is no YAML
    mistakes.push_back(mistake);
  }
  return batch;
}

}  // namespace

bool TableSpec::operator==(const TableSpec& other) const {
  return name == other.name && files == other.files && format == other.format && csv == other.csv &&
         encoding == other.encoding && records == other.records && flatten == other.flatten && types == other.types &&
         generator == other.generator;
}

const TableSpec& Batch::table(std::string_view name) const { return find_named(tables, name, "table"); }

const Query& Batch::query(std::string_view name) const { return find_named(queries, name, "query"); }

Batch parse_batch(std::string_view yaml, const std::string& source, const BatchLimits& limits) {
  std::vector<QueryError> mistakes;
  Batch batch = read_as_far(yaml, source, limits, mistakes);
  if (!mistakes.empty()) throw QueryError(mistakes.front());
  return batch;
}

Batch parse_batch(std::string_view yaml, const std::string& source, const BatchLimits& limits,
                  std::vector<QueryError>& mistakes) {
  Batch batch = read_as_far(yaml, source, limits, mistakes);
  std::ranges::stable_sort(mistakes, {}, [](const QueryError& mistake) {
    return std::pair(mistake.location().line, mistake.location().column);
  });
  return batch;
}

Batch read_batch(const std::filesystem::path& file, const BatchLimits& limits) {
  Batch batch = parse_batch(read_text_file(file, limits.max_bytes), file.string(), limits);
  batch.directory = file.parent_path();
  return batch;
}

Batch read_batch(const std::filesystem::path& file, const BatchLimits& limits, std::vector<QueryError>& mistakes) {
  Batch batch = parse_batch(read_text_file(file, limits.max_bytes), file.string(), limits, mistakes);
  batch.directory = file.parent_path();
  return batch;
}

}  // namespace v0
}  // namespace skyrank
