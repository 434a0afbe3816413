#pragma once

#include <string_view>

#include "kernels/common/problem.hpp"
#include "planner/choose.hpp"
#include "planner/cost/terms.hpp"
#include "planner/statistics.hpp"

// One cost model per algorithm, each in its file: what the algorithm does, as a sum of terms (README.md says how a
// model is written).
namespace skyrank::planner::cost {

using SkylineModel = Cost (*)(const kernels::SkylineShape&, const Statistics&, const Machine&);
using TopKModel = Cost (*)(const kernels::TopKShape&, const Statistics&, const Machine&);

Cost bnl(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine);
Cost sfs(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine);
Cost salsa(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine);
Cost blocked_bitmap(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine);
Cost skyalign(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine);
Cost bskytree(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine);
Cost hybrid(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine);
Cost cuda_gnl(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine);
Cost cuda_ggs(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine);
Cost cuda_skyalign(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine);
Cost cuda_blocked_bitmap(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine);
Cost sort(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine);
Cost stl_heap(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine);
Cost heap(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine);
Cost nth_element(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine);
Cost bitonic(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine);
Cost sampled_threshold(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine);
Cost cuda_dr_topk(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine);
Cost cuda_sampled_threshold(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine);
Cost cuda_sort(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine);
Cost cuda_radix_select(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine);
Cost cuda_bitonic(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine);
Cost cuda_bucket_select(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine);
Cost cuda_per_thread(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine);
Cost cuda_per_thread_registers(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine);
Cost cuda_randomized(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine);

/// The model of an algorithm by its registered name; null when it has none.
SkylineModel skyline_model(std::string_view algorithm);
TopKModel topk_model(std::string_view algorithm);

}  // namespace skyrank::planner::cost
