#include "kernels/cuda/topk/bitonic_keys.cuh"

SKYRANK_INSTANTIATE_LEAST_OF_TILES(skyrank::kernels::cuda::ShortElements);
