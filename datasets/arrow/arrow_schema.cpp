#include "datasets/arrow/arrow_schema.hpp"

#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/utf8.h>

#include <skyrank/error.hpp>

#include "datasets/arrow/arrow_types.hpp"

namespace skyrank::datasets {
namespace {

bool is_utf8(std::string_view text) {
  arrow::util::InitializeUTF8();
  return arrow::util::ValidateUTF8(text);
}

void check_type(const arrow::DataType& type, int level, const std::string& file);

void check_field(const arrow::Field& field, int level, const std::string& file) {
  if (level > kMaxSchemaLevels) refuse_levels(file);
  if (!is_utf8(field.name())) {
    throw DataError(file + ": the column name " + quoted_name(field.name()) +
                    " is not UTF-8; write the file again with another name");
  }
  check_type(*field.type(), level, file);
}

/// Checks what a field of `level` has within it.
void check_type(const arrow::DataType& type, int level, const std::string& file) {
  if (level > kMaxSchemaLevels) refuse_levels(file);
  if (type.id() == arrow::Type::DICTIONARY) check_type(type_of_values(type), level + 1, file);
  if (type.id() == arrow::Type::EXTENSION) {
    check_type(*static_cast<const arrow::ExtensionType&>(type).storage_type(), level + 1, file);
  }
  for (const auto& field : type.fields()) check_field(*field, level + 1, file);
}

}  // namespace

void refuse_levels(const std::string& file) {
  throw DataError(file + ": its schema has fields within fields of more than " + std::to_string(kMaxSchemaLevels) +
                  " levels; store the parts of nested columns as columns of their own");
}

std::string quoted_name(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const bool is_text = is_utf8(name);
  std::string quoted = "'";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_text || byte < 0x80) {
      quoted += c;
    } else {
      (quoted += "\\x").append({kDigits[byte >> 4U], kDigits[byte & 15U]});
    }
  }
  return quoted += '\'';
}

void check_schema(const arrow::Schema& schema, const std::string& file) {
  for (const auto& field : schema.fields()) {
    check_field(*field, 1, file);
    // The texts of types have names of zones and of extensions, and are shown for columns that are left out.
    if (normal_type(field->type()) == nullptr && !is_utf8(field->type()->ToString())) {
      throw DataError(file + ": the type of column " + quoted_name(field->name()) + " has text that is not UTF-8");
    }
  }
}

}  // namespace skyrank::datasets
