#include "datasets/file/folder_columns.hpp"

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/util.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/cast.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/utf8.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <skyrank/error.hpp>
#include <string_view>
#include <utility>

#include "datasets/arrow/text_types.hpp"
#include "datasets/input/input.hpp"
#include "datasets/input/uri.hpp"

namespace skyrank::datasets {
namespace {

constexpr std::string_view kNull = "__HIVE_DEFAULT_PARTITION__";

// Numbers with leading zeros or a plus sign are rather codes, which would not keep their spelling.
bool is_plain_integer(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && std::to_string(value) == text;
}

template <class Array>
Array checked(arrow::Result<Array> result, const std::string& column) {
  check(result.status(), "folders", "column '" + column + "'");
  return *std::move(result);
}

std::shared_ptr<arrow::Array> text_array(const std::vector<std::optional<std::string>>& values,
                                         const std::string& column) {
  arrow::StringBuilder builder;
  for (const auto& value : values) check(value ? builder.Append(*value) : builder.AppendNull(), "folders", column);
  return checked(builder.Finish(), column);
}

}  // namespace

/// A column with one value a file.
struct FolderColumns::Values {
  std::string name;
  std::shared_ptr<arrow::Array> of_files;    // int64 or date32; of text, places in the dictionary
  std::shared_ptr<arrow::Array> dictionary;  // of text; else null

  Values(std::string column, const std::vector<std::optional<std::string>>& values, const StatedType* stated,
         const std::vector<std::string>& files)
      : name(std::move(column)) {
    const auto text = text_array(values, name);
    if (stated != nullptr && stated->type.type != Type::string) {
      of_files = as_stated(*text, *stated, files);
    } else if (stated != nullptr) {
      encode(values);
    } else if (all_integers(values)) {
      of_files = checked(arrow::compute::Cast(*text, arrow::int64()), name);
    } else if (auto dates = arrow::compute::Cast(*text, arrow::date32()); dates.ok() && has_values(values)) {
      of_files = *std::move(dates);
    } else {
      encode(values);
    }
  }

 private:
  std::shared_ptr<arrow::Array> as_stated(const arrow::Array& text, const StatedType& stated,
                                          const std::vector<std::string>& files) const {
    const auto parsed = parse_texts(arrow::ChunkedArray(arrow::ArrayVector{text.Slice(0)}), type_choices(stated));
    if (parsed.values != nullptr) return parsed.values->chunk(0);
    const auto& texts = static_cast<const arrow::StringArray&>(text);
    throw DataError(files[static_cast<std::size_t>(parsed.wrong_row)] + ": column '" + name + "' of its folders " +
                    no_value_of(texts.GetString(parsed.wrong_row), stated.name));
  }

  static bool has_values(const std::vector<std::optional<std::string>>& values) {
    return std::any_of(values.begin(), values.end(), [](const auto& value) { return value.has_value(); });
  }
  static bool all_integers(const std::vector<std::optional<std::string>>& values) {
    return has_values(values) && std::all_of(values.begin(), values.end(),
                                             [](const auto& value) { return !value || is_plain_integer(*value); });
  }

  void encode(const std::vector<std::optional<std::string>>& values) {
    std::map<std::string, std::int32_t> places;
    std::vector<std::optional<std::string>> distinct;
    arrow::Int32Builder indices;
    for (const auto& value : values) {
      if (!value) {
        check(indices.AppendNull(), "folders", name);
        continue;
      }
      const auto [place, inserted] = places.emplace(*value, static_cast<std::int32_t>(distinct.size()));
      if (inserted) distinct.push_back(value);
      check(indices.Append(place->second), "folders", name);
    }
    of_files = checked(indices.Finish(), name);
    dictionary = text_array(distinct, name);
  }
};

std::vector<FolderValue> folder_values(const std::filesystem::path& file, const std::filesystem::path& root) {
  const std::filesystem::path folders = file.parent_path();
  auto component = folders.begin();
  const auto [rest, root_end] = std::mismatch(folders.begin(), folders.end(), root.begin(), root.end());
  const bool below_root = root_end == root.end() || (root_end->empty() && std::next(root_end) == root.end());
  if (below_root) component = rest;
  std::vector<FolderValue> values;
  arrow::util::InitializeUTF8();
  for (; component != folders.end(); ++component) {
    const std::string folder = component->string();
    const std::size_t equals = folder.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    FolderValue value{decode_percent(folder.substr(0, equals)), std::nullopt};
    const std::string text = folder.substr(equals + 1);
    if (text != kNull) value.value = decode_percent(text);
    if (!arrow::util::ValidateUTF8(value.key) || (value.value && !arrow::util::ValidateUTF8(*value.value))) {
      throw DataError(file.string() + ": the name of folder '" + folder + "' is not valid UTF-8");
    }
    if (std::any_of(values.begin(), values.end(), [&](const auto& other) { return other.key == value.key; })) {
      throw DataError(file.string() + ": two of its folders give a value for column '" + value.key + "'");
    }
    values.push_back(std::move(value));
  }
  return values;
}

FolderColumns::FolderColumns(const std::vector<std::vector<FolderValue>>& values, const std::vector<std::string>& files,
                             const std::map<std::string, StatedType>& types)
    : num_files_(values.size()) {
  if (values.empty()) return;
  const auto has = [](const std::vector<FolderValue>& of_file, const std::string& key) {
    return std::find_if(of_file.begin(), of_file.end(), [&](const auto& value) { return value.key == key; });
  };
  for (std::size_t file = 1; file < values.size(); ++file) {
    for (const auto& [one, other] : {std::pair(file, std::size_t{0}), std::pair(std::size_t{0}, file)}) {
      for (const FolderValue& value : values[one]) {
        if (has(values[other], value.key) != values[other].end()) continue;
        throw DataError(files[other] + ": lies in no folder '" + value.key + "=...', but " + files[one] +
                        " does; all files of a table need the same keys");
      }
    }
  }
  for (const FolderValue& first : values.front()) {
    std::vector<std::optional<std::string>> of_files;
    for (const auto& of_file : values) of_files.push_back(has(of_file, first.key)->value);
    names_.push_back(first.key);
    const auto stated = types.find(first.key);
    columns_.push_back(
        std::make_shared<const Values>(first.key, of_files, stated == types.end() ? nullptr : &stated->second, files));
  }
}

std::optional<std::size_t> FolderColumns::find(const std::string& name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names_.begin());
}

std::shared_ptr<arrow::ChunkedArray> FolderColumns::rows_of(std::size_t column, std::size_t file,
                                                            std::int64_t rows) const {
  const Values& values = *columns_[column];
  const auto value = checked(values.of_files->GetScalar(static_cast<std::int64_t>(file)), values.name);
  auto repeated = checked(arrow::MakeArrayFromScalar(*value, rows), values.name);
  if (values.dictionary != nullptr) {
    repeated = checked(arrow::DictionaryArray::FromArrays(arrow::dictionary(arrow::int32(), arrow::utf8()), repeated,
                                                          values.dictionary),
                       values.name);
  }
  return std::make_shared<arrow::ChunkedArray>(std::move(repeated));
}

}  // namespace skyrank::datasets
