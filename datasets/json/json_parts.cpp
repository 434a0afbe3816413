#include "datasets/json/json_parts.hpp"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/io/interfaces.h>
#include <arrow/type.h>
#include <arrow/util/value_parsing.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <optional>
#include <skyrank/error.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "datasets/arrow/number_text.hpp"
#include "datasets/input/input.hpp"
#include "engine/stop.hpp"
#include "engine/threads.hpp"

// Parts end before lines that begin with a bracket, where a record begins in nearly all texts. If one ends within a
// record nevertheless, this record is parsed again together with the parts behind it, until it ends.
namespace skyrank::datasets {
namespace {

/// The values of a target.
class JsonValues final : public JsonSink {
 public:
  /// Makes room for `rows` values, about.
  JsonValues(const JsonTarget& target, const std::string& file, std::int64_t rows) : target_(target), file_(file) {
    check(arrow::MakeBuilder(arrow::default_memory_pool(), target.type, &builder_), file, "values");
    check(builder_->Reserve(rows), file, "values");
  }

  void take(std::int64_t record, JsonKind kind, std::string_view token) override {
    if (kind == JsonKind::null || !fits_) return;
    pad(record);
    switch (target_.type->id()) {
      case arrow::Type::BOOL: return append<arrow::BooleanBuilder>(parse_boolean(kind, token));
      case arrow::Type::INT64: return append<arrow::Int64Builder>(parse_integer<std::int64_t>(token));
      case arrow::Type::UINT64: return append<arrow::UInt64Builder>(parse_integer<std::uint64_t>(token));
      case arrow::Type::DOUBLE: return append<arrow::DoubleBuilder>(parse_float(kind, token));
      default: append<arrow::StringBuilder>(text_of(kind, token));
    }
  }

  /// Returns the values; null where one is not of the target's type.
  std::shared_ptr<arrow::Array> finish(std::int64_t rows) {
    if (!fits_) return nullptr;
    pad(rows);
    auto built = builder_->Finish();
    check(built.status(), file_, "values");
    return *std::move(built);
  }

 private:
  /// Adds NULL for the records before one that has the key.
  void pad(std::int64_t rows) {
    if (rows > rows_) require(builder_->AppendNulls(rows - rows_));
    rows_ = rows;
  }

  template <class Builder, class Value>
  void append(const std::optional<Value>& value) {
    fits_ = value.has_value();
    if (!fits_) return;
    require(static_cast<Builder&>(*builder_).Append(*value));
    ++rows_;
  }

  void require(const arrow::Status& status) const {
    if (!status.ok()) check(status, file_, "values");
  }

  static std::optional<bool> parse_boolean(JsonKind kind, std::string_view token) {
    if (kind != JsonKind::boolean) return std::nullopt;
    return token.starts_with('t');
  }

  static std::optional<double> parse_float(JsonKind kind, std::string_view token) {
    double value = 0;
    const bool is_number = kind == JsonKind::number || kind == JsonKind::word;
    const bool is_parsed =
        is_number && arrow::internal::ParseValue<arrow::DoubleType>(token.data(), token.size(), &value);
    return is_parsed ? std::optional(value) : std::nullopt;
  }

  std::optional<std::string_view> text_of(JsonKind kind, std::string_view token) {
    const bool is_text = kind == JsonKind::string || kind == JsonKind::word;
    if (!is_text && !target_.is_spelled) return std::nullopt;
    if (!is_text || token.find('\\') == std::string_view::npos) return token;
    unescaped_ = unescaped(token);
    return unescaped_;
  }

  const JsonTarget& target_;
  const std::string& file_;
  std::unique_ptr<arrow::ArrayBuilder> builder_;
  std::int64_t rows_ = 0;
  std::string unescaped_;
  bool fits_ = true;
};

/// One pass over a text.
class PartParser {
 public:
  PartParser(const JsonText& text, std::vector<JsonTarget> targets, const std::function<void(const JsonPart&)>& take)
      : text_(text), take_(take), place_(text.first) {
    set_targets(std::move(targets));
  }

  /// Parses the first part, chooses the targets by its keys and starts over.
  void look_at_first_part(const ChooseTargets& choose) {
    Slot first;
    if (!cut(first)) return;
    parse_alone(first);
    set_targets(choose(first.part.keys));
    next_ = 0;
  }

  void run() {
    if (text_.threads == 1 || text_.size <= text_.part_bytes) {
      for (Slot slot; cut(slot); add(slot)) parse_alone(slot);
      return;
    }
    const WorkerThreads workers(text_.threads);
    tbb::task_arena arena(workers.count());
    const int slots = 2 * arena.max_concurrency();
    arena.execute([&] { run_in_arena(static_cast<std::size_t>(slots)); });
  }

 private:
  struct Slot {
    JsonPart part;
    std::int64_t line_breaks = 0;
    bool is_whole = false;     // all its records are objects that end there
    bool is_too_long = false;  // no record ends there
    std::int64_t whole = 0;    // bytes of its whole records if it is cut short
    JsonTokens tokens;
    std::shared_ptr<arrow::ResizableBuffer> memory;  // of the bytes, for one part after another
  };

  void set_targets(std::vector<JsonTarget> targets) {
    targets_ = std::move(targets);
    for (std::size_t i = 0; i < targets_.size(); ++i) target_of_key_.emplace(targets_[i].name, i);
  }

  void run_in_arena(std::size_t count) {
    // Not passed on as tokens: when a stop ends a pipeline, TBB forgets the tokens that wait.
    std::vector<Slot> slots(count);
    std::size_t parts = 0;
    const auto cut_next = [&](tbb::flow_control& control) {
      Slot& slot = slots[parts++ % slots.size()];
      if (!cut(slot)) control.stop();
      return &slot;
    };
    const auto parse_slot = [&](Slot* slot) {
      parse_alone(*slot);
      return slot;
    };
    tbb::parallel_pipeline(slots.size(), tbb::make_filter<void, Slot*>(tbb::filter_mode::serial_in_order, cut_next) &
                                             tbb::make_filter<Slot*, Slot*>(tbb::filter_mode::parallel, parse_slot) &
                                             tbb::make_filter<Slot*, void>(tbb::filter_mode::serial_in_order,
                                                                           [&](Slot* slot) { add(*slot); }));
  }

  /// Returns the bytes before the last line that begins with a bracket, else those of all whole lines.
  static std::int64_t size_of_records(std::string_view bytes) {
    std::size_t end = bytes.rfind("\n{");
    if (end == std::string_view::npos) end = bytes.rfind('\n');
    return static_cast<std::int64_t>(end + 1);  // npos + 1 is 0
  }

  bool cut(Slot& slot) {
    if (text_.stop.stop_requested() || query_stop_.stop_requested()) {
      throw CancelledError("reading " + text_.name + " was cancelled");
    }
    slot.part = {};
    slot.part.begin = next_;
    for (std::int64_t wanted = text_.part_bytes; next_ < text_.size; wanted *= 2) {
      const std::int64_t size = std::min(wanted, text_.size - next_);
      read(slot, next_, size);
      const bool is_last = next_ + size == text_.size;
      const std::int64_t whole = is_last ? size : size_of_records(std::string_view(*slot.part.bytes));
      slot.part.bytes = arrow::SliceBuffer(slot.part.bytes, 0, whole);
      next_ += whole;
      slot.is_too_long = whole == 0 && 2 * size > text_.max_record_bytes;
      if (whole > 0 || slot.is_too_long) return true;
    }
    return false;
  }

  /// Reads some bytes into the memory of a slot.
  void read(Slot& slot, std::int64_t begin, std::int64_t size) const {
    if (slot.memory == nullptr) {
      auto memory = arrow::AllocateResizableBuffer(0);
      check(memory.status(), text_.name, "memory");
      slot.memory = *std::move(memory);
    }
    check(slot.memory->Resize(size + kJsonPadding, /*shrink_to_fit=*/false), text_.name, "memory");
    check(text_.file->ReadAt(begin, size, slot.memory->mutable_data()).status(), text_.name, "cannot be read");
    slot.part.bytes = arrow::SliceBuffer(slot.memory, 0, size);
  }

  /// Parses the part in a slot. Returns false if its last record goes on behind it.
  bool parse(Slot& slot) const {
    JsonPart& part = slot.part;
    constexpr std::int64_t kMinBytes = 4;  // of a value with its key, unless they are left out
    const std::int64_t most = part.bytes->size() / (kMinBytes * (static_cast<std::int64_t>(targets_.size()) + 1));
    std::vector<std::unique_ptr<JsonValues>> values;
    for (const JsonTarget& target : targets_) {
      values.push_back(std::make_unique<JsonValues>(target, text_.name, std::min(slot.line_breaks, most)));
    }
    const auto sink_of = [&](const std::string& key) -> JsonSink* {
      const auto target = target_of_key_.find(key);
      return target == target_of_key_.end() ? nullptr : values[target->second].get();
    };
    JsonScanner scanner(slot.tokens, std::string_view(*part.bytes), text_.name, part.first, text_.max_keys, sink_of,
                        text_.flatten);
    try {
      while (scanner.next()) {
      }
    } catch (const DataError&) {
      if (!scanner.is_cut_short() || part.end() == text_.size) throw;
      slot.whole = scanner.records() > 1 ? static_cast<std::int64_t>(scanner.record_end()) : 0;
      return false;
    }
    part.rows = scanner.records();
    part.keys = scanner.take_keys();
    part.values.clear();
    for (const auto& column : values) part.values.push_back(column->finish(part.rows));
    return true;
  }

  /// Parses a part as if it began with a record, of a line that is not known yet. Mistakes are for `add` to find.
  void parse_alone(Slot& slot) const {
    if (slot.is_too_long) return;
    const exec::StopScope heard(query_stop_);
    slot.part.first = slot.part.begin == 0 ? text_.first : TextPlace{text_.first.line + 1, 1};
    slot.line_breaks = count_lines(std::string_view(*slot.part.bytes));
    slot.is_whole = false;
    try {
      slot.is_whole = parse(slot);
    } catch (const DataError&) {
    } catch (const ResourceError&) {
    }
  }

  void add(Slot& slot) {
    JsonPart& part = slot.part;
    if (slot.is_too_long) refuse_long_record({text_.name, place_.line, 0}, text_.max_record_bytes);
    if (open_ < 0 && slot.is_whole) {
      for (JsonKey& key : part.keys) move_lines(key, place_.line - part.first.line);
      part.first = place_;
    } else if (!parse_with_open(slot)) {
      return;
    }
    place_ = place_behind(std::string_view(*part.bytes), place_, slot.line_breaks);
    take_(part);
    if (text_.on_read) text_.on_read(static_cast<std::uint64_t>(part.bytes->size()));
  }

  /// Parses a part again, with the records before it that went on and with the line that they begin in, up to the last
  /// record if that goes on too. Returns false where there is no other. A record costs twice its bytes at most, as the
  /// parts are more each time.
  bool parse_with_open(Slot& slot) {
    JsonPart& part = slot.part;
    if (open_ < 0) open_ = part.begin;
    const std::int64_t end = part.end();
    const std::int64_t size = end - open_;
    if (size < 2 * tried_ && end < text_.size) return false;
    tried_ = size;
    part.begin = open_;
    part.first = place_;
    read(slot, open_, size);
    slot.line_breaks = count_lines(std::string_view(*part.bytes));
    if (!parse(slot)) {
      if (slot.whole == 0) {
        if (2 * size > text_.max_record_bytes) refuse_long_record({text_.name, place_.line, 0}, text_.max_record_bytes);
        return false;
      }
      part.bytes = arrow::SliceBuffer(part.bytes, 0, slot.whole);
      slot.line_breaks = count_lines(std::string_view(*part.bytes));
      static_cast<void>(parse(slot));
    }
    open_ = part.end() < end ? part.end() : -1;
    tried_ = 0;
    return true;
  }

  const JsonText& text_;
  std::vector<JsonTarget> targets_;
  const std::function<void(const JsonPart&)>& take_;
  std::unordered_map<std::string_view, std::size_t> target_of_key_;
  const std::stop_token query_stop_ = exec::current_stop();  // others than the query's thread parse
  std::int64_t next_ = 0;                                    // offset of the next part
  TextPlace place_;                                          // place of the first byte that `take_` does not have
  std::int64_t open_ = -1;                                   // offset of this byte if its part ended within a record
  std::int64_t tried_ = 0;                                   // bytes from there on that were parsed
};

}  // namespace

std::int64_t JsonPart::end() const { return begin + bytes->size(); }

void parse_parts(const JsonText& text, std::vector<JsonTarget> targets,
                 const std::function<void(const JsonPart&)>& take, const ChooseTargets& choose) {
  PartParser parser(text, std::move(targets), take);
  if (choose) parser.look_at_first_part(choose);
  parser.run();
}

TextPlace place_of_value(const JsonText& text, const std::string& key, std::int64_t record) {
  TextPlace place;
  std::int64_t rows = 0;
  parse_parts(text, {}, [&](const JsonPart& part) {
    if (record >= rows && record < rows + part.rows) {
      JsonTokens tokens;
      JsonScanner scanner(tokens, std::string_view(*part.bytes), text.name, part.first, text.max_keys, {},
                          text.flatten);
      while (scanner.records() <= record - rows && scanner.next()) {
      }
      for (const JsonKey& it : scanner.keys()) {
        if (it.name == key) place = scanner.place_of(it.last_value);
      }
    }
    rows += part.rows;
  });
  return place;
}

}  // namespace skyrank::datasets
