#include "engine/keys/special_keys.hpp"

#include <algorithm>
#include <utility>

#include "engine/column_traits.hpp"
#include "engine/expression/load.hpp"
#include "engine/keys/ranks.hpp"
#include "engine/runtime/parallel.hpp"
#include "kernels/cpu/parallel_sort.hpp"

// Makes keys of strings. Whatever is computed of a text is computed once for each entry of a dictionary, where there is
// one.
namespace skyrank::exec {
namespace {

/// A string and its first eight bytes as a number, which tell most strings apart without a look at their memory.
struct Text {
  std::uint64_t head = 0;
  std::string_view bytes;

  explicit Text(std::string_view text = {}) : bytes(text) {
    for (std::size_t i = 0; i < sizeof(head); ++i) {
      head = head << 8 | (i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0U);
    }
  }

  bool operator<(const Text& other) const { return head != other.head ? head < other.head : bytes < other.bytes; }
};

/// Returns true if a look at each entry of a dictionary is less than one at each row.
bool has_few_entries(const Source& source) {
  const ColumnData& data = source.data();
  return data.layout == Layout::dictionary && data.dictionary->length <= source.rows.n;
}

/// Calls `f(begin, size, valid)` for blocks of all rows, in parallel; `valid` as load_validity gives it.
template <class F>
void for_validity(const Source& source, const F& f) {
  for_chunks(source.rows.n, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    std::uint8_t validity[kBlockRows];
    for (std::int64_t at = begin; at < end; at += kBlockRows) {
      const std::int64_t size = std::min(kBlockRows, end - at);
      f(at, size, load_validity(source.data(), source.rows, at, size, validity));
    }
  });
}

/// Keys that `fill(begin, size, valid, out)` makes of the values of a block, and those of NULL.
template <class Fill>
Keys keys_of_blocks(const Source& source, const NullableCodes& codes, const Fill& fill) {
  return with_width(width_for(codes.last), [&]<class Key>(Key) {
    KeyMemory<Key> keys(source.rows.n);
    for_validity(source, [&](std::int64_t begin, std::int64_t size, const std::uint8_t* valid) {
      Key* out = keys.data() + begin;
      fill(begin, size, valid, out);
      write_null(valid, size, static_cast<Key>(codes.null), out);
    });
    return std::move(keys).keys();
  });
}

/// Keys of a dictionary's rows by those of its entries, of which there is one more: rows that are NULL look up entry 0,
/// even of an empty dictionary.
Keys keys_of_entries(const Source& source, const NullableCodes& codes, const Vector<std::uint64_t>& entries) {
  return keys_of_blocks(
      source, codes, [&](std::int64_t begin, std::int64_t size, const std::uint8_t* valid, auto* out) {
        std::int64_t scratch[kBlockRows];
        const std::int64_t* indices = load_indices(source.data(), source.rows, begin, size, valid, scratch);
        for (std::int64_t i = 0; i < size; ++i) {
          const std::uint64_t code = entries[static_cast<std::size_t>(indices[i])];
          out[i] = static_cast<std::remove_reference_t<decltype(*out)>>(codes.first + code);
        }
      });
}

/// Ranks of a dictionary's rows. Entries that are equal have one rank.
Keys ranks_of_entries(const Source& source, ValueOrder order) {
  const ColumnData& dictionary = *source.data().dictionary;
  Vector<std::pair<Text, std::int64_t>> sorted;
  for (std::int64_t i = 0; i < dictionary.length; ++i) {
    if (dictionary.validity(i)) sorted.emplace_back(Text(dictionary.string_at(i)), i);
  }
  const auto before = [&](const auto& a, const auto& b) { return order.high ? b.first < a.first : a.first < b.first; };
  kernels::parallel_sort(sorted.begin(), sorted.end(), before, kernels::Context{.stop = current_stop()});
  Vector<std::uint64_t> entries(static_cast<std::size_t>(dictionary.length) + 1, 0);
  std::uint64_t rank = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && before(sorted[i - 1], sorted[i])) ++rank;
    entries[static_cast<std::size_t>(sorted[i].second)] = rank;
  }
  return keys_of_entries(source, {rank, source.column.may_have_nulls(), order.nulls_first}, entries);
}

/// Ranks of rows whose strings lie anywhere.
Keys ranks_of_texts(const Source& source, ValueOrder order) {
  Vector<Text> texts(static_cast<std::size_t>(source.rows.n));
  Vector<std::uint8_t> present(texts.size(), 1);
  for_validity(source, [&](std::int64_t begin, std::int64_t size, const std::uint8_t* valid) {
    std::string_view scratch[kBlockRows];
    const std::string_view* values = load_strings(source.data(), source.rows, begin, size, valid, scratch);
    for (std::int64_t i = 0; i < size; ++i) {
      const auto row = static_cast<std::size_t>(begin + i);
      present[row] = valid == nullptr || valid[i] != 0 ? 1 : 0;
      if (present[row] != 0) texts[row] = Text(values[i]);
    }
  });
  return ranks_of_present(present, order.nulls_first, [&](RowId a, RowId b) {
    const Text& x = texts[static_cast<std::size_t>(a)];
    const Text& y = texts[static_cast<std::size_t>(b)];
    return order.high ? y < x : x < y;
  });
}

}  // namespace

Keys string_value_keys(const Source& source, ValueOrder order) {
  if (const auto categories = order_of(source.data())) {
    const std::uint64_t last = std::max<std::size_t>(categories->texts().size(), 1) - 1;
    return string_code_keys(source, last, order.nulls_first, [&](std::string_view text) {
      const std::uint64_t rank = categories->rank(text).value_or(0);
      return order.high ? last - rank : rank;
    });
  }
  return has_few_entries(source) ? ranks_of_entries(source, order) : ranks_of_texts(source, order);
}

Keys string_code_keys(const Source& source, std::uint64_t max_code, bool nulls_first,
                      const std::function<std::uint64_t(std::string_view)>& code) {
  const NullableCodes codes(max_code, source.column.may_have_nulls(), nulls_first);
  if (has_few_entries(source)) {
    const ColumnData& dictionary = *source.data().dictionary;
    Vector<std::uint64_t> entries(static_cast<std::size_t>(dictionary.length) + 1, 0);
    for (std::int64_t i = 0; i < dictionary.length; ++i) {
      if (dictionary.validity(i)) entries[static_cast<std::size_t>(i)] = code(dictionary.string_at(i));
    }
    return keys_of_entries(source, codes, entries);
  }
  return keys_of_blocks(
      source, codes, [&](std::int64_t begin, std::int64_t size, const std::uint8_t* valid, auto* out) {
        std::string_view scratch[kBlockRows];
        const std::string_view* values = load_strings(source.data(), source.rows, begin, size, valid, scratch);
        for (std::int64_t i = 0; i < size; ++i) {
          out[i] = static_cast<std::remove_reference_t<decltype(*out)>>(codes.first + code(values[i]));
        }
      });
}

}  // namespace skyrank::exec
