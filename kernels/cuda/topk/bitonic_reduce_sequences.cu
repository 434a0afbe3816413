#include "kernels/cuda/topk/bitonic_reduce.cuh"

SKYRANK_INSTANTIATE_REDUCE(Sequences<ShortElements::Element>);
