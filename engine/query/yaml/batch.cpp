#include <skyrank/batch.hpp>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <map>
#include <system_error>
#include <utility>

#include "engine/query/yaml/read.hpp"
#include "engine/query/yaml/read_query.hpp"
#include "engine/text.hpp"

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

TableSource read_table(const YamlDocument& document, const YamlNode& name, const YamlNode& node) {
  const std::string what = "the table " + found(name);
  if (name.text.empty()) document.fail(name, "a table's name is empty");
  const MapReader map(document, node, what, {"file", "format", "header", "delimiter", "nulls", "generate"});
  TableSource source;
  source.name = name.text;
  source.location = document.place(name);
  const YamlNode* file = map.find("file");
  const YamlNode* generate = map.find("generate");
  if ((file == nullptr) == (generate == nullptr)) {
    document.fail(name, what + " needs one of 'file' and 'generate'" + (file == nullptr ? "" : ", not both"));
  }
  if (file != nullptr) source.files = read_files(document, *file);
  if (generate != nullptr) source.generator = read_generator(document, *generate);
  for (const char* key : {"format", "header", "delimiter", "nulls"}) {
    if (generate != nullptr && map.find(key) != nullptr) {
      document.fail(*map.find(key), what + " is generated: '" + key + "' is for files");
    }
  }
  if (const YamlNode* format = map.find("format")) source.format = query::read_text(document, *format, "'format'");
  if (const YamlNode* header = map.find("header")) source.header = query::read_bool(document, *header, "'header'");
  if (const YamlNode* mark = map.find("delimiter")) source.delimiter = query::read_text(document, *mark, "'delimiter'");
  if (const YamlNode* nulls = map.find("nulls")) source.null_spellings = read_null_spellings(document, *nulls);
  return source;
}

std::vector<TableSource> read_tables(const YamlDocument& document, const YamlNode& node) {
  std::vector<TableSource> tables;
  for (const auto& [name, table] : query::need_map(document, node, "'tables'").entries) {
    tables.push_back(read_table(document, name, table));
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

std::vector<Query> read_queries(const YamlDocument& document, const YamlNode& node,
                                const std::vector<std::string>& tables) {
  std::vector<Query> queries;
  std::map<std::string, Location> seen;
  for (const YamlNode& item : query::read_list(document, node, "'queries'", "[{name: cheap, from: hotels, ...}]")) {
    Query read = query::read_query(document, item, tables);
    const auto [first, is_new] = seen.emplace(read.name(), read.location());
    if (!is_new) {
      document.fail(item, "the query name '" + read.name() + "' comes twice; the first is in line " +
                              std::to_string(first->second.line));
    }
    queries.push_back(std::move(read));
  }
  return queries;
}

const std::string& name_of(const TableSource& table) { return table.name; }
const std::string& name_of(const Query& query) { return query.name(); }

template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& list) {
  std::vector<std::string> names;
  for (const Named& item : list) names.push_back(name_of(item));
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

}  // namespace

bool TableSource::operator==(const TableSource& other) const {
  return name == other.name && files == other.files && format == other.format && header == other.header &&
         delimiter == other.delimiter && null_spellings == other.null_spellings && generator == other.generator;
}

const TableSource& Batch::table(std::string_view name) const { return find_named(tables, name, "table"); }

const Query& Batch::query(std::string_view name) const { return find_named(queries, name, "query"); }

Batch parse_batch(std::string_view yaml, const std::string& source, const BatchLimits& limits) {
  const YamlDocument document(yaml, source, limits);
  if (document.root().kind == YamlNode::Kind::null) {
    document.fail(document.root(), "the batch is empty; it needs the keys version, tables and queries");
  }
  const MapReader map(document, document.root(), "a batch", {"version", "timeout", "devices", "tables", "queries"});
  const YamlNode& version = map.require("version");
  if (query::read_integer(document, version, "'version'", 1) != kVersion) {
    document.fail(version,
                  "version " + version.text + " is not known; this program reads version " + std::to_string(kVersion));
  }
  Batch batch;
  batch.tables = read_tables(document, map.require("tables"));
  batch.queries = read_queries(document, map.require("queries"), names_of(batch.tables));
  if (const YamlNode* node = map.find("devices")) batch.devices = read_devices(document, *node);
  if (const YamlNode* node = map.find("timeout")) {
    const std::chrono::milliseconds limit = query::read_duration(document, *node, "'timeout'");
    for (Query& query : batch.queries) query.timeout(query.timeout().value_or(limit));
  }
  return batch;
}

Batch read_batch(const std::filesystem::path& file, const BatchLimits& limits) {
  Batch batch = parse_batch(read_text_file(file, limits.max_bytes), file.string(), limits);
  batch.directory = file.parent_path();
  return batch;
}

}  // namespace v0
}  // namespace skyrank
