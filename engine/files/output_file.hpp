#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace skyrank::exec {

/// A file that appears complete or not at all: bytes go to a file without a name in the same folder, `commit` forces
/// them to the disk and names it. Nothing is left when the process is killed before; filesystems that know no files
/// without a name get a hidden temporary one, which the destructor removes.
///
/// A new file honours the umask. One that exists keeps its mode, and its owner and group where the system allows that;
/// it must be writable, as for a program that writes in place. A symbolic link stays: the file it points to is
/// replaced. Anything but a regular file (a device, a pipe) is written in place, and so are the descriptors that
/// /dev/stdout, /dev/stderr, /dev/fd/N and /proc/self/fd/N name. ResourceError with path and reason on any failure;
/// CancelledError soon after a stop is requested, also while nobody reads from a pipe.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path file, std::stop_token stop = {});
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  void commit();

 private:
  /// A descriptor that is closed with the object.
  class Descriptor {
   public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor();
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&& other) noexcept;

    int get() const { return fd_; }
    bool is_open() const { return fd_ >= 0; }
    int close();  ///< errno of the system's close, or 0

   private:
    int fd_ = -1;
  };

  [[noreturn]] void fail(int error) const;
  void check_stop() const;
  void open_in_place();
  void open_beside();
  void open_named(mode_t mode);
  std::size_t write_some(std::string_view bytes);
  void start_writeback();
  void keep_owner_and_mode() const;
  void give_name();
  int link_as(const std::filesystem::path& name) const;
  std::filesystem::path temporary_name(int attempt) const;

  std::filesystem::path file_;         // as the caller spells it
  std::filesystem::path target_;       // what its links lead to
  std::optional<struct stat> before_;  // of the file that is replaced
  std::filesystem::path temporary_;    // to remove; empty while there is none
  std::stop_token stop_;
  std::int64_t written_ = 0;
  std::int64_t sent_ = 0;  // of `written_`, bytes whose way to the disk has begun
  bool in_place_ = false;
  Descriptor descriptor_;
};

/// Removes the temporary files of all OutputFiles of the process, and keeps any more from being made. For a process
/// that is about to end without leaving its scopes; may be called from any thread.
void remove_temporary_files() noexcept;

}  // namespace skyrank::exec
