#include "kernels/cuda/topk/ties.cuh"

#include <cstdint>

#include "kernels/cuda/device/launch.cuh"

// All ties with the last of the k least elements. These have the lowest row ids of their key, so what is missing are
// the rows behind the last one's that have the same key, in the order of the rows: nothing has to be sorted.
//
// Floor: one read of the keys behind the last row, and, if there are ties, a second one.
namespace skyrank::kernels::cuda::topk {
namespace {

template <class Element>
__global__ void least_rows(const Element* least, std::size_t k, Element row_mask, RowId* rows) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < k) rows[i] = static_cast<RowId>(least[i] & row_mask);
}

}  // namespace

template <class E>
Buffer<RowId> rows_with_ties(const E& elements, std::size_t n, const typename E::Element* least, std::size_t k,
                             DeviceContext& device) {
  const typename E::Element last = value_at(least + k - 1, device);
  const std::size_t begin = elements.row(last) + 1;
  const Selection ties(HasKey<typename E::Key>{elements.keys + begin, E::key(last)}, n - begin, device);
  auto rows = device.allocate<RowId>(k + ties.count());
  launch("least_rows", least_rows<typename E::Element>, one_each(k), device.stream(), least, k, E::kRowMask,
         rows.data());
  if (rows.size() > k) ties.list(IdAt{.first = begin}, rows.data() + k);
  return rows;
}

#define SKYRANK_INSTANTIATE(E) \
  template Buffer<RowId> rows_with_ties(const E&, std::size_t, const E::Element*, std::size_t, DeviceContext&);
SKYRANK_INSTANTIATE(ByteElements)
SKYRANK_INSTANTIATE(HalfElements)
SKYRANK_INSTANTIATE(ShortElements)
SKYRANK_INSTANTIATE(LongElements)
SKYRANK_INSTANTIATE(ManyElements)
#undef SKYRANK_INSTANTIATE

}  // namespace skyrank::kernels::cuda::topk
