#include "kernels/cuda/topk/batched/batched.hpp"

#include "kernels/cuda/topk/batched/segment_paths.hpp"

namespace skyrank::kernels::cuda::topk {

template <class E>
void least_of_segments(const E& elements, const Segments& segments, std::size_t k, RowId* rows, DeviceContext& device) {
  if (segments.count == 0) return;
  const bool of_one_length = segments.offsets == nullptr;
  const SegmentPath path = path_of(segments.rows, k, sizeof(typename E::Key));
  const auto may_have = [&](SegmentPath some) { return !of_one_length || path == some; };
  // Elements with complemented row ids are not in the order of the answer.
  const bool screened = may_have(SegmentPath::screened) && elements.complement == 0 &&
                        least_of_screened_segments(elements, segments, k, rows, device);
  if (k <= SegmentPolicy::kMaxNarrowedK && may_have(SegmentPath::narrowed)) {
    least_of_narrowed_segments(elements, segments, k, rows, device);
  }
  if (of_one_length && path == SegmentPath::narrowed) return;
  least_of_running_segments(elements, segments, k, screened, rows, device);
}

template void least_of_segments(const ShortElements&, const Segments&, std::size_t, RowId*, DeviceContext&);
template void least_of_segments(const LongElements&, const Segments&, std::size_t, RowId*, DeviceContext&);
template void least_of_segments(const ManyElements&, const Segments&, std::size_t, RowId*, DeviceContext&);

}  // namespace skyrank::kernels::cuda::topk
