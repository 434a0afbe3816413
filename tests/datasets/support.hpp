#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/table.hpp>

namespace skyrank::datasets::test {

/// A fresh folder that goes away with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "skyrank-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

  std::filesystem::path write(const std::string& name, std::string_view content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }

  /// Names of everything in the folder, sorted.
  std::vector<std::string> content() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// "name:type" of each column.
inline std::vector<std::string> schema_of(const Table& table) {
  std::vector<std::string> schema;
  for (const Column& column : table.columns()) schema.push_back(column.name() + ":" + to_string(column.type()));
  return schema;
}

/// Values of a column as text, NULL spelled out.
inline std::vector<std::string> values_of(const Table& table, std::string_view column) {
  std::vector<std::string> values;
  const Column& c = table.column(column);
  for (std::int64_t row = 0; row < c.size(); ++row) values.push_back(c.is_null(row) ? "NULL" : to_string(c.value(row)));
  return values;
}

/// The what() of the error of type E that `run` throws; a failure and "" where it throws none or another.
template <class E, class Run>
std::string error_of(Run run) {
  try {
    run();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "an error of another kind: " << error.what();
    return {};
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace skyrank::datasets::test
