#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/cuda/topk/finish.hpp"
#include "tests/kernels/cuda/device_copies.hpp"

// Compares the rows that tie with the last of the k least elements with a stable sort of all rows.
namespace skyrank::kernels::tests {
namespace {

using cuda::DeviceContext;

/// The rows in their order, as far as the key of the k-th goes.
template <class Key>
std::vector<RowId> expected(const std::vector<Key>& keys, std::size_t k) {
  std::vector<RowId> rows(keys.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<RowId>(i);
  const auto key = [&](RowId row) { return keys[static_cast<std::size_t>(row)]; };
  std::ranges::stable_sort(rows, {}, key);
  std::size_t end = k;
  while (end < rows.size() && key(rows[end]) == key(rows[k - 1])) ++end;
  rows.resize(end);
  return rows;
}

/// Checks the ties of keys that begin `lead` keys behind an aligned place.
template <class E>
void expect_ties(const std::vector<typename E::Key>& keys, std::size_t k, std::size_t lead) {
  using Key = typename E::Key;
  std::vector<Key> moved(lead);
  moved.insert(moved.end(), keys.begin(), keys.end());
  DeviceContext device;
  const cuda::Lease lease(device);
  const auto there = on_device(moved, device);
  const std::vector<RowId> rows = expected(keys, k);
  std::vector<typename E::Element> least;
  for (std::size_t i = 0; i < k; ++i) {
    const auto row = static_cast<std::size_t>(rows[i]);
    least.push_back(E{}.of(keys[row], row));
  }
  const auto chosen = on_device(least, device);
  const auto found = cuda::topk::rows_with_ties(E{there.data() + lead, 0}, keys.size(), chosen.data(), k, device);
  EXPECT_EQ(on_host(found, device), rows) << k << " of " << keys.size() << " keys of " << sizeof(Key) << " bytes";
}

/// Few different keys, zero and the greatest among them; `different` of them.
template <class Key>
std::vector<Key> some_keys(std::size_t n, unsigned different) {
  std::mt19937_64 engine(n);
  std::vector<Key> keys(n);
  for (Key& key : keys) {
    const auto which = engine() % different;
    key = which == 1 ? static_cast<Key>(~Key{0}) : static_cast<Key>(which);
  }
  return keys;
}

template <class E>
void expect_ties_of_type() {
  for (const std::size_t n : {1, 15, 17, 511, 513, 2048, 2049, 5000, 70'001}) {
    for (const unsigned different : {1u, 2u, 5u, 200u}) {
      const auto keys = some_keys<typename E::Key>(n, different);
      for (const std::size_t k : {std::size_t{1}, n / 2 + 1, n - 1, n}) {
        if (k > 0) expect_ties<E>(keys, k, n % 3);
      }
    }
  }
}

TEST(Ties, OfBytes) { expect_ties_of_type<cuda::topk::ByteElements>(); }
TEST(Ties, OfTwoBytes) { expect_ties_of_type<cuda::topk::HalfElements>(); }
TEST(Ties, OfFourBytes) { expect_ties_of_type<cuda::topk::ShortElements>(); }
TEST(Ties, OfEightBytes) { expect_ties_of_type<cuda::topk::LongElements>(); }
TEST(Ties, OfManyRows) { expect_ties_of_type<cuda::topk::ManyElements>(); }

// Every value of a byte is found next to every other one.
TEST(Ties, BytesOfEveryValue) {
  std::vector<std::uint8_t> keys(3 * 65'536);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] = static_cast<std::uint8_t>(i % 3 == 0 ? i : i % 3 == 1 ? i / 256 : i / 768);
  }
  for (std::size_t k = 1; k < keys.size(); k += 7001) expect_ties<cuda::topk::ByteElements>(keys, k, 5);
}

}  // namespace
}  // namespace skyrank::kernels::tests
