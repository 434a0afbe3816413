#pragma once

/// Marks functions that host and device code share.
#if defined(__CUDACC__)
#define SKYRANK_HD __host__ __device__
#else
#define SKYRANK_HD
#endif
