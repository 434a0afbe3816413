#pragma once

#include "cub/block/block_scan.cuh"
#include "cub/device/device_radix_sort.cuh"
#include "cub/device/device_scan.cuh"
#include "cub/warp/warp_scan.cuh"
