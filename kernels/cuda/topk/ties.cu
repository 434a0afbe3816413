#include "kernels/cuda/topk/ties.hpp"

#include <cstdint>

#include "kernels/common/host_device.hpp"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/select.cuh"

// All ties with the last of the k least elements. These have the lowest row ids of their key, so what is missing are
// the rows behind the last one's that have the same key, in the order of the rows: nothing has to be sorted.
//
// Floor: one read of the keys behind the last row, and, if there are ties, a second one.
namespace skyrank::kernels::cuda::topk {
namespace {

template <class Key>
struct HasKey {
  const Key* keys;
  Key key;

  SKYRANK_HD std::uint32_t operator()(std::size_t place) const { return keys[place] == key ? 1 : 0; }
};

template <class Element>
__global__ void least_rows(const Element* least, std::size_t k, Element row_mask, RowId* rows) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < k) rows[i] = static_cast<RowId>(least[i] & row_mask);
}

}  // namespace

template <class Key>
std::size_t count_ties(const Key* keys, std::size_t begin, std::size_t n, Key key, DeviceContext& device) {
  return count_where(HasKey<Key>{keys + begin, key}, n - begin, device);
}

template <class Key>
void list_ties(const Key* keys, std::size_t begin, std::size_t n, Key key, const RowId* ids, RowId* rows,
               DeviceContext& device) {
  const HasKey<Key> has_key{keys + begin, key};
  if (ids == nullptr) {
    list_where(has_key, n - begin, places_from<RowId>(begin), rows, device);
  } else {
    list_where(has_key, n - begin, ids + begin, rows, device);
  }
}

template <class E>
Buffer<RowId> rows_with_ties(const E& elements, std::size_t n, const typename E::Element* least, std::size_t k,
                             DeviceContext& device) {
  const typename E::Element last = value_at(least + k - 1, device);
  const std::size_t begin = elements.row(last) + 1;
  const std::size_t ties = count_ties(elements.keys, begin, n, E::key(last), device);
  auto rows = device.allocate<RowId>(k + ties);
  launch("least_rows", least_rows<typename E::Element>, one_each(k), device.stream(), least, k, E::kRowMask,
         rows.data());
  if (ties > 0) list_ties(elements.keys, begin, n, E::key(last), nullptr, rows.data() + k, device);
  return rows;
}

template std::size_t count_ties(const std::uint32_t*, std::size_t, std::size_t, std::uint32_t, DeviceContext&);
template std::size_t count_ties(const std::uint64_t*, std::size_t, std::size_t, std::uint64_t, DeviceContext&);
template void list_ties(const std::uint32_t*, std::size_t, std::size_t, std::uint32_t, const RowId*, RowId*,
                        DeviceContext&);
template void list_ties(const std::uint64_t*, std::size_t, std::size_t, std::uint64_t, const RowId*, RowId*,
                        DeviceContext&);

#define SKYRANK_INSTANTIATE(E) \
  template Buffer<RowId> rows_with_ties(const E&, std::size_t, const E::Element*, std::size_t, DeviceContext&);
SKYRANK_INSTANTIATE(ByteElements)
SKYRANK_INSTANTIATE(HalfElements)
SKYRANK_INSTANTIATE(ShortElements)
SKYRANK_INSTANTIATE(LongElements)
SKYRANK_INSTANTIATE(ManyElements)
#undef SKYRANK_INSTANTIATE

}  // namespace skyrank::kernels::cuda::topk
