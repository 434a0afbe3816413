#pragma once

#include "planner/cost/models.hpp"

// Cost models of the algorithms in kernels/papers, which builds with SKYRANK_PAPERS have.
namespace skyrank::planner::cost {

Cost salsa(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
           const Values& values);
Cost bskytree(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
              const Values& values);
Cost hybrid(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
            const Values& values);
Cost pskyline(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
              const Values& values);
Cost divide_and_conquer(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
                        const Values& values);
Cost stl_heap(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
              const Values& values);
Cost bitonic(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
             const Values& values);
Cost dr_topk(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
             const Values& values);
Cost block_max_wand(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                    const Values& values);
Cost cuda_gnl(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
              const Values& values);
Cost cuda_ggs(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
              const Values& values);
Cost cuda_sort(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
               const Values& values);
Cost cuda_dr_topk(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                  const Values& values);
Cost cuda_radix_in_place(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                         const Values& values);
Cost cuda_radix_select(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                       const Values& values);
Cost cuda_bucket_select(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                        const Values& values);
Cost cuda_bitonic(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                  const Values& values);
Cost cuda_per_thread(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                     const Values& values);
Cost cuda_per_thread_registers(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                               const Values& values);
Cost cuda_randomized(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                     const Values& values);
Cost cuda_thrust_sort(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                      const Values& values);
Cost cuda_bit_by_bit(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                     const Values& values);
Cost cuda_cutting_plane(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                        const Values& values);

std::span<const Values> cuda_ggs_candidates(const kernels::SkylineShape& shape);
std::span<const Values> cuda_bitonic_candidates(const kernels::TopKShape& shape);
std::span<const Values> cuda_bucket_select_candidates(const kernels::TopKShape& shape);
std::span<const Values> cuda_dr_topk_candidates(const kernels::TopKShape& shape);
std::span<const Values> cuda_radix_select_candidates(const kernels::TopKShape& shape);
std::span<const Values> cuda_randomized_candidates(const kernels::TopKShape& shape);

}  // namespace skyrank::planner::cost
