#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <skyrank/table.hpp>

#include "tests/engine/operator_test.hpp"

namespace skyrank::exec {

/// A column of each layout, with n rows of which some are NULL, as `Column::value` reads them.
inline std::vector<Column> layouts(std::int64_t n) {
  Random random(7);
  const auto rows = static_cast<std::size_t>(n);
  std::vector<bool> valid;
  std::vector<bool> flags;
  std::vector<std::string> texts;
  std::vector<std::int32_t> ints;
  for (std::size_t i = 0; i < rows; ++i) {
    valid.push_back(random.below(5) != 0);
    flags.push_back(random.below(2) != 0);
    texts.push_back("text " + std::to_string(random.below(50)));
    ints.push_back(static_cast<std::int32_t>(random.next()));
  }
  std::vector<Column> columns;
  columns.push_back(Column::own("plain", ints));
  columns.push_back(Column::own("nulls", ints, valid));
  columns.push_back(Column::own("bits", flags, valid));
  columns.push_back(Column::own("strings", texts, valid));

  struct Fields {
    float f;
    double d;
    std::uint16_t u;
  };
  auto structs = std::make_shared<std::vector<Fields>>();
  auto bytes = std::make_shared<std::vector<std::uint8_t>>(rows + 1);
  auto unaligned = std::make_shared<std::vector<std::byte>>(8 * rows + 1);
  auto views = std::make_shared<std::vector<std::string_view>>();
  auto kept_texts = std::make_shared<std::vector<std::string>>(texts);
  auto validity = std::make_shared<std::vector<std::uint8_t>>((rows + 20) / 8 + 1);
  for (std::size_t i = 0; i < rows; ++i) {
    structs->push_back({static_cast<float>(random.below(1000)), static_cast<double>(random.next()),
                        static_cast<std::uint16_t>(random.next())});
    (*bytes)[i] = static_cast<std::uint8_t>(random.below(2));
    const std::uint64_t bits = random.next();
    std::memcpy(unaligned->data() + 1 + 8 * i, &bits, sizeof bits);
    views->push_back((*kept_texts)[i]);
    if (random.below(3) != 0) (*validity)[(i + 13) / 8] |= static_cast<std::uint8_t>(1 << ((i + 13) % 8));
  }
  structs->emplace_back();  // so that there is a first one to point at
  const auto add = [&](std::string name, DataType type, Layout layout, const void* values, std::int64_t stride,
                       std::shared_ptr<const void> owner) {
    ColumnData data;
    data.type = type;
    data.layout = layout;
    data.length = n;
    data.values = values;
    data.stride = stride;
    data.bit_offset = 5;
    data.validity = {validity->data(), 13};
    data.owner = std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(owner, validity);
    columns.emplace_back(std::move(name), data);
  };
  auto packed = std::make_shared<std::vector<std::uint8_t>>((rows + 5) / 8 + 1);
  for (std::size_t i = 0; i < rows; ++i) {
    if (flags[i]) (*packed)[(i + 5) / 8] |= static_cast<std::uint8_t>(1 << ((i + 5) % 8));
  }
  add("floats", Type::float32, Layout::plain, &structs->data()->f, sizeof(Fields), structs);
  add("doubles", Type::float64, Layout::plain, &structs->data()->d, sizeof(Fields), structs);
  add("shorts", Type::uint16, Layout::plain, &structs->data()->u, sizeof(Fields), structs);
  add("unaligned", Type::int64, Layout::plain, unaligned->data() + 1, 8, unaligned);
  add("bytes", Type::boolean, Layout::plain, bytes->data(), 1, bytes);
  add("offset_bits", Type::boolean, Layout::bits, packed->data(), 0, packed);
  add("views", Type::string, Layout::views, views->data(), sizeof(std::string_view),
      std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(views, kept_texts));
  auto offsets = std::make_shared<std::vector<std::int64_t>>(1, 0);
  auto characters = std::make_shared<std::string>();
  for (const std::string& text : texts) {
    *characters += text;
    offsets->push_back(static_cast<std::int64_t>(characters->size()));
  }
  ColumnData large;
  large.type = Type::string;
  large.layout = Layout::large_utf8;
  large.length = n;
  large.values = characters->data();
  large.offsets64 = offsets->data();
  large.owner =
      std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(offsets, characters);
  columns.emplace_back("large", large);
  return columns;
}

}  // namespace skyrank::exec
