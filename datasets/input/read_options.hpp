#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/source.hpp>
#include <skyrank/table.hpp>

#include "datasets/input/files.hpp"

// How a table is to be read, as all layers of reading know it.
namespace skyrank::datasets {

/// Keeps the content of pipes, so that each is read once.
class PipeCache;

/// Thrown for a text that is too large to be read as a whole. It may be read in blocks.
class TextTooLarge : public ResourceError {
 public:
  using ResourceError::ResourceError;
};

/// Returns how many bytes of text queries within a limit of memory read at a time: several threads hold a block, its
/// columns and what they are made of.
std::int64_t text_block_bytes(std::size_t memory_bytes);

/// Makes an empty cache, which all tables that one run reads share.
std::shared_ptr<PipeCache> make_pipe_cache();

/// Receives the progress of reading, from any thread but never from two at once. `bytes_total` is the size of all files
/// of the table; it grows when text must be read again, such as when the type guessed first would lose digits.
using Progress = std::function<void(std::uint64_t bytes_done, std::uint64_t bytes_total)>;

struct ReadOptions {
  std::optional<Format> format;   ///< format of all files; nothing: by extension, else by their first bytes
  std::optional<char> delimiter;  ///< CSV: nothing means recognised, and a comma, of .tsv a tab, if in doubt
  std::optional<bool> header;     ///< CSV: true if the first record holds the names; else they are c0, c1, ...; nothing
                                  ///< means recognised
  std::optional<char> decimal;    ///< CSV: decimal sign, '.' or ','; nothing means recognised
  std::optional<std::int64_t> skip;     ///< CSV: lines before the header; nothing means recognised
  std::string comment;                  ///< CSV: beginning of lines that are no records; empty: none are
  std::optional<std::string> encoding;  ///< text: as iconv names it, empty for UTF-8; nothing means recognised
  std::vector<std::string> records;     ///< JSON: path of the records; empty: recognised
  bool flatten = false;                 ///< JSON: members of objects within records are columns, such as address.city
  std::vector<std::string> null_spellings;          ///< CSV: besides the empty field; empty means NULL, null, NA, N/A
  std::map<std::string, StatedType> types;          ///< by column, in place of those that text would get
  std::optional<std::vector<std::string>> columns;  ///< read only these, in this order; nothing means all
  /// For column_names: chooses of the names that the first records show those columns that `read` will read. Their
  /// values may be read along, and kept in `pipes`. Null: only names are read.
  std::function<std::vector<std::string>(const std::vector<std::string>& names)> choose_columns;
  bool skip_unsupported = false;                     ///< leave those of `columns` that cannot be read out
  int threads = 0;                                   ///< 0: all cores the process may use
  std::optional<std::filesystem::path> folder_root;  ///< folders `key=value` below it are columns; nothing: no folders
  std::int64_t block_bytes = 0;      ///< for open_source: text is read in blocks of about this size; 0: as a whole
  std::size_t memory_bytes = 0;      ///< memory that reading may take; 0: half of what the process may use
  std::shared_ptr<PipeCache> pipes;  ///< shared by calls that read several tables; null: one for this call
  std::function<void(const std::string&)> on_note;  ///< told once of each file that was recognised as unusual
  Progress progress;
  std::stop_token stop;  ///< CancelledError soon after a stop is requested
};

/// The columns of a table, by name.
struct ColumnNames {
  std::vector<std::string> names;              ///< readable columns, in the file's order
  std::vector<UnsupportedColumn> unsupported;  ///< the others, as far as types tell
};

}  // namespace skyrank::datasets
