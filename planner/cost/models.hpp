#pragma once

#include <string_view>

#include "kernels/common/problem.hpp"
#include "planner/choose.hpp"

// One cost model per algorithm, each in its file: predicted seconds from counts of operations. Without statistics the
// data are taken for independent and in random order. The constants are the authors' measurements on one x86-64
// machine, not fitted to the one at hand.
namespace skyrank::planner::cost {

using SkylineModel = double (*)(const kernels::SkylineShape&, const Machine&);
using TopKModel = double (*)(const kernels::TopKShape&, const Machine&);

double bnl(const kernels::SkylineShape& shape, const Machine& machine);
double sfs(const kernels::SkylineShape& shape, const Machine& machine);
double salsa(const kernels::SkylineShape& shape, const Machine& machine);
double blocked_bitmap(const kernels::SkylineShape& shape, const Machine& machine);
double skyalign(const kernels::SkylineShape& shape, const Machine& machine);
double bskytree(const kernels::SkylineShape& shape, const Machine& machine);
double hybrid(const kernels::SkylineShape& shape, const Machine& machine);
double cuda_gnl(const kernels::SkylineShape& shape, const Machine& machine);
double sort(const kernels::TopKShape& shape, const Machine& machine);
double stl_heap(const kernels::TopKShape& shape, const Machine& machine);
double heap(const kernels::TopKShape& shape, const Machine& machine);
double nth_element(const kernels::TopKShape& shape, const Machine& machine);
double bitonic(const kernels::TopKShape& shape, const Machine& machine);
double sampled_threshold(const kernels::TopKShape& shape, const Machine& machine);
double cuda_dr_topk(const kernels::TopKShape& shape, const Machine& machine);
double cuda_sampled_threshold(const kernels::TopKShape& shape, const Machine& machine);
double cuda_sort(const kernels::TopKShape& shape, const Machine& machine);
double cuda_radix_select(const kernels::TopKShape& shape, const Machine& machine);
double cuda_bitonic(const kernels::TopKShape& shape, const Machine& machine);
double cuda_bucket_select(const kernels::TopKShape& shape, const Machine& machine);
double cuda_per_thread(const kernels::TopKShape& shape, const Machine& machine);
double cuda_per_thread_registers(const kernels::TopKShape& shape, const Machine& machine);
double cuda_randomized(const kernels::TopKShape& shape, const Machine& machine);

/// The model of an algorithm by its registered name; null when it has none.
SkylineModel skyline_model(std::string_view algorithm);
TopKModel topk_model(std::string_view algorithm);

}  // namespace skyrank::planner::cost
