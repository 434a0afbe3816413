#include "tools/skyrank/answers/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <skyrank/warnings.hpp>
#include <stdexcept>
#include <streambuf>
#include <tuple>
#include <utility>

#include "datasets/write/writer.hpp"
#include "engine/query/left_out_columns.hpp"

namespace skyrank::tools {
namespace {

/// A stream buffer over the console. A stream takes the exceptions of its buffer for itself and goes bad; the console's
/// next flush throws them again.
class ConsoleBuffer : public std::streambuf {
 public:
  explicit ConsoleBuffer(Console& console) : console_(console) {}

 protected:
  std::streamsize xsputn(const char* text, std::streamsize n) override {
    print(std::string_view(text, static_cast<std::size_t>(n)));
    return n;
  }
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char one = traits_type::to_char_type(c);
    print(std::string_view(&one, 1));
    return c;
  }
  virtual void print(std::string_view text) { console_.print(text); }

 private:
  Console& console_;
};

/// Turns JSON lines into the elements of an array: a comma after every line but the last.
class JsonLinesBuffer : public ConsoleBuffer {
 public:
  using ConsoleBuffer::ConsoleBuffer;

 protected:
  void print(std::string_view text) override {
    while (!text.empty()) {
      if (line_ended_) ConsoleBuffer::print(",");
      const std::size_t end = text.find('\n');
      line_ended_ = end != std::string_view::npos;
      if (at_line_start_) ConsoleBuffer::print("\n    ");
      at_line_start_ = line_ended_;
      ConsoleBuffer::print(text.substr(0, end));
      text.remove_prefix(line_ended_ ? end + 1 : text.size());
    }
  }

 private:
  bool line_ended_ = false;
  bool at_line_start_ = true;
};

template <class Write>
void print_through(Console& console, ConsoleBuffer& buffer, Write write) {
  std::ostream out(&buffer);
  try {
    write(out);
  } catch (const ResourceError&) {
    console.flush();  // throws what really happened
    throw;
  }
}

}  // namespace

void ErrorReport::add(const std::exception& error) {
  status_ = worse(status_, exit_status(error));
  if (console_.is_logging()) return;  // the log has the errors of queries
  if (messages_.insert(error.what()).second && messages_.size() <= kMaxShown) console_.complain(error.what());
}

void ErrorReport::finish() const {
  if (messages_.size() > kMaxShown) console_.complain(fmt::format("and {} more", messages_.size() - kMaxShown));
}

void SortedErrors::add(const Error& error) {
  errors_.emplace_back(error.location(), error.what());
  status_ = worse(status_, exit_status(error));
}

ExitStatus SortedErrors::show(Console& console) {
  std::ranges::stable_sort(errors_, {}, [](const auto& error) {
    const Location& place = error.first;
    return std::tuple(place.line, place.column);
  });
  ErrorReport report(console);
  for (const auto& [place, message] : errors_) report.add(std::runtime_error(message));
  report.finish();
  return status_;
}

void print_warnings(Console& console, const Query& query) {
  for (const Warning& warning : warnings_of(query)) console.warn(to_string(warning));
}

void print_left_out(Console& console, const Query& query, const Table& table, bool& told) {
  const auto warning = query::left_out_columns(query, table);
  if (warning && !std::exchange(told, true)) console.warn(to_string(*warning));
}

void print_table(Console& console, const Table& table, std::int64_t max_rows) {
  ConsoleBuffer buffer(console);
  print_through(console, buffer, [&](std::ostream& out) {
    datasets::write_text(table, out, {.max_rows = max_rows, .stop = console.stop()});
  });
}

void print_rows(Console& console, const Table& table, datasets::Format format) {
  ConsoleBuffer buffer(console);
  print_through(console, buffer,
                [&](std::ostream& out) { datasets::write(table, out, format, {.stop = console.stop()}); });
}

void print_json_rows(Console& console, const Table& table) {
  JsonLinesBuffer buffer(console);
  print_through(console, buffer, [&](std::ostream& out) {
    datasets::write(table, out, datasets::Format::jsonl, {.stop = console.stop()});
  });
}

}  // namespace skyrank::tools
