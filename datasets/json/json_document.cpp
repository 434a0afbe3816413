#include "datasets/json/json_document.hpp"

#include <arrow/buffer.h>
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "datasets/input/input.hpp"
#include "datasets/json/json_scan.hpp"

// simdjson walks the document and finds where each record begins and ends. What a record holds is for the scanner of
// JSON lines to read and to check.
namespace skyrank::datasets {
namespace {

using Document = simdjson::ondemand::document;
using DocumentArray = simdjson::ondemand::array;
using DocumentType = simdjson::ondemand::json_type;
using DocumentValue = simdjson::ondemand::value;

/// Replaces the records of one document by themselves with spaces around.
class DocumentRecords {
 public:
  DocumentRecords(std::string_view text, std::string name, char* out)
      : text_(text), name_(std::move(name)), out_(out) {}

  void run(Document& root, const std::vector<std::string>& path) {
    if (path.empty()) {
      run_at(root, "the file");
      const char* behind = nullptr;
      if (root.current_location().get(behind) == simdjson::SUCCESS) {
        fail(static_cast<std::size_t>(behind - text_.data()), "something follows the array of records");
      }
    } else {
      DocumentValue at;
      std::string walked = path.front();
      require(root.find_field_unordered(path.front()).get(at), walked);
      for (std::size_t i = 1; i < path.size(); ++i) {
        walked += "." + path[i];
        require(at.find_field_unordered(path[i]).get(at), walked);
      }
      run_at(at, "'" + walked + "'");
    }
    blank(text_.size());
  }

 private:
  template <class Value>
  void run_at(Value& at, const std::string& what) {
    DocumentType type{};
    require(at.type().get(type), what);
    if (type == DocumentType::object) return keep(at);
    if (type != DocumentType::array) fail(0, what + " is no array of records and no object");
    DocumentArray items;
    require(at.get_array().get(items), what);
    for (auto item : items) {
      DocumentValue record;
      require(item.get(record), what);
      keep(record);
    }
  }

  /// Keeps a record. Others than objects are kept too, for the scanner to refuse at their places.
  template <class Value>
  void keep(Value& record) {
    std::string_view raw;
    DocumentType type{};
    require(record.type().get(type), "a record");
    if (type == DocumentType::object) {
      simdjson::ondemand::object found;
      require(record.get_object().get(found), "a record");
      require(found.raw_json().get(raw), "a record");
    } else if (type == DocumentType::array) {
      DocumentArray found;
      require(record.get_array().get(found), "a record");
      require(found.raw_json().get(raw), "a record");
    } else if constexpr (std::is_same_v<Value, DocumentValue>) {
      raw = record.raw_json_token();
    }
    while (!raw.empty() && static_cast<unsigned char>(raw.back()) <= ' ') raw.remove_suffix(1);
    const auto begin = static_cast<std::size_t>(raw.data() - text_.data());
    blank(begin);
    std::memcpy(out_ + begin, raw.data(), raw.size());
    done_ = begin + raw.size();
  }

  /// Blanks what is between the last record and `end`. Its line breaks come last, so that parts of the text can begin
  /// there.
  void blank(std::size_t end) {
    if (end < done_) fail(done_, "the records are not valid JSON");
    const std::string_view between = text_.substr(done_, end - done_);
    const auto breaks = static_cast<std::size_t>(std::ranges::count(between, '\n'));
    std::memset(out_ + done_, ' ', between.size() - breaks);
    std::memset(out_ + end - breaks, '\n', breaks);
    done_ = end;
  }

  void require(simdjson::error_code error, const std::string& what) {
    if (error == simdjson::SUCCESS) return;
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    if (error == simdjson::NO_SUCH_FIELD)
      fail(0, "there is nothing at '" + what + "'; 'records' names a path such as data.items");
    if (error == simdjson::INCORRECT_TYPE) fail(0, "there is no object around '" + what + "'");
    fail(done_, std::string("the file is not valid JSON behind this place: ") + simdjson::error_message(error));
  }

  [[noreturn]] void fail(std::size_t offset, const std::string& message) const {
    const std::string_view passed = text_.substr(0, offset);
    const TextPlace place = place_behind(passed, {1, 1}, count_lines(passed));
    throw DataError(message, {name_, offset == 0 ? 0 : place.line, offset == 0 ? 0 : place.column});
  }

  std::string_view text_;
  std::string name_;
  char* out_;
  std::size_t done_ = 0;
};

}  // namespace

std::vector<std::string> parse_json_path(std::string_view path, const Location& where) {
  std::vector<std::string> keys;
  for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = path.find('.', begin);
    keys.emplace_back(path.substr(begin, end - begin));
    if (keys.back().empty()) {
      throw DataError("'records' is a path such as data.items, found '" + std::string(path) + "'", where);
    }
  }
  return keys;
}

bool begins_with_array(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '[';
}

std::shared_ptr<arrow::Buffer> records_of_document(const arrow::Buffer& text, const std::string& name,
                                                   const std::vector<std::string>& path) {
  constexpr std::size_t kMark = 3;
  std::string_view json(text);
  const bool has_mark = json.starts_with("\xEF\xBB\xBF");
  const auto size = static_cast<std::int64_t>(json.size());
  auto padded = arrow::AllocateBuffer(size + kJsonPadding);
  auto records = arrow::AllocateBuffer(size);
  check(padded.status(), name, "memory");
  check(records.status(), name, "memory");
  auto* const begin = reinterpret_cast<char*>((*padded)->mutable_data());
  if (size > 0) std::memcpy(begin, json.data(), json.size());
  if (has_mark) std::memset(begin, ' ', kMark);
  std::memset(begin + size, 0, static_cast<std::size_t>(kJsonPadding));
  simdjson::ondemand::parser parser;
  Document root;
  const auto error = parser.iterate(begin, json.size(), json.size() + static_cast<std::size_t>(kJsonPadding)).get(root);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error != simdjson::SUCCESS)
    throw DataError(std::string("the file is not valid JSON: ") + simdjson::error_message(error), {name, 0, 0});
  DocumentRecords(std::string_view(begin, json.size()), name, reinterpret_cast<char*>((*records)->mutable_data()))
      .run(root, path);
  return std::shared_ptr<arrow::Buffer>(*std::move(records));
}

}  // namespace skyrank::datasets
