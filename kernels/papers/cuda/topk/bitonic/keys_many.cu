#include "kernels/papers/cuda/topk/bitonic/keys.cuh"

SKYRANK_INSTANTIATE_LEAST_OF_TILES(skyrank::kernels::cuda::topk::ManyElements);
