#include "kernels/papers/cuda/topk/bitonic/reduce.cuh"

SKYRANK_INSTANTIATE_REDUCE(Unsorted<LongElements>);
SKYRANK_INSTANTIATE_REDUCE(Unsorted<ManyElements>);
SKYRANK_INSTANTIATE_REDUCE(Sequences<LongElements::Element>);
