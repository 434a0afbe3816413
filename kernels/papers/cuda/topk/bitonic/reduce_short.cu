#include "kernels/papers/cuda/topk/bitonic/reduce.cuh"

SKYRANK_INSTANTIATE_REDUCE(Unsorted<ShortElements>);
