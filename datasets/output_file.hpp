#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace skyrank::datasets {

/// A file that appears complete or not at all: bytes go to a temporary file in the same folder, `commit` forces them to
/// the disk and gives them their name. Without `commit` the destructor removes the temporary file. What exists and is
/// no regular file (a device, a pipe) is written in place. ResourceError with path and reason on any failure.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path file);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  void commit();

 private:
  [[noreturn]] void fail(int error) const;
  void open_temporary();
  void close();

  std::filesystem::path file_;
  std::filesystem::path temporary_;  // empty when written in place
  int fd_ = -1;
};

}  // namespace skyrank::datasets
