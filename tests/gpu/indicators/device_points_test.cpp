#include <skyrank/error.hpp>
#include <skyrank/indicators.hpp>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "kernels/cuda/device/stream.hpp"
#include "kernels/cuda/runtime/check.hpp"
#include "tests/gpu/gpu_test.hpp"

// Indicators of points in the memory of a GPU, beside those of the same points on the host.
namespace skyrank {
namespace {

using DevicePoints = skyrank::gpu_testing::GpuTest;

/// Values in the memory of a GPU.
template <class T>
class DeviceValues {
 public:
  explicit DeviceValues(const std::vector<T>& values, int device = 0) {
    const kernels::cuda::CurrentDevice current(device);
    SKYRANK_CUDA_CALL(cudaMalloc(&data_, values.size() * sizeof(T)));
    SKYRANK_CUDA_CALL(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    SKYRANK_CUDA_CALL(cudaDeviceSynchronize());
  }
  ~DeviceValues() { (void)cudaFree(data_); }
  DeviceValues(const DeviceValues&) = delete;
  DeviceValues& operator=(const DeviceValues&) = delete;

  /// Returns a view of the host's values as one of these.
  Points there(Points points, const std::vector<T>& values) const {
    const auto* const first = reinterpret_cast<const std::byte*>(values.data());
    points.values = static_cast<const std::byte*>(data_) + (static_cast<const std::byte*>(points.values) - first);
    return points;
  }

 private:
  void* data_ = nullptr;
};

template <class T>
Points rows_of(const std::vector<T>& values, std::size_t columns, Type type) {
  return {.values = values.data(),
          .type = type,
          .rows = static_cast<std::int64_t>(values.size() / columns),
          .columns = static_cast<std::int64_t>(columns),
          .row_stride = static_cast<std::int64_t>(columns * sizeof(T)),
          .column_stride = sizeof(T)};
}

template <class T>
std::vector<T> random_values(std::mt19937_64& generator, std::size_t size) {
  std::uniform_int_distribution<int> value(1, 40);
  std::vector<T> values(size);
  for (T& number : values) number = static_cast<T>(value(generator));
  return values;
}

const std::vector<double> kReference = {38};

/// Expects whole numbers, of which floating point has volumes exactly as long as they are below 2^53.
template <class T>
void expect_same(const Points& host, const std::vector<T>& values, const IndicatorOptions& options) {
  const DeviceValues<T> device(values);
  const Points there = device.there(host, values);
  const std::vector<double> reference = options.maximise.empty() ? kReference : std::vector<double>{2};
  const double volume = hypervolume(host, reference, options);
  EXPECT_NEAR(hypervolume(there, reference, options, nullptr), volume, 1e-12 * volume);
  for (const auto dominated : {DominatedPoints::ignored, DominatedPoints::counted}) {
    const std::vector<double> expected = hypervolume_contributions(host, reference, dominated, options);
    const std::vector<double> found = hypervolume_contributions(there, reference, dominated, options, nullptr);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12 * volume) << "point " << i;
  }
  EXPECT_EQ(igd(there, there, options, nullptr), 0);
}

TEST_F(DevicePoints, HaveTheIndicatorsOfTheHost) {
  std::mt19937_64 generator(1);
  for (std::size_t dims = 1; dims <= 12; ++dims) {
    const std::size_t size = dims < 9 ? 40 : 14;
    const auto values = random_values<double>(generator, size * dims);
    expect_same(rows_of(values, dims, Type::float64), values, {});
    expect_same(rows_of(values, dims, Type::float64), values, {.maximise = {true}});
  }
}

TEST_F(DevicePoints, OfAllTypesAndStrides) {
  std::mt19937_64 generator(2);
  constexpr std::size_t kDims = 6;
  const auto floats = random_values<float>(generator, 30 * kDims);
  expect_same(rows_of(floats, kDims, Type::float32), floats, {});
  const auto narrow = random_values<std::int32_t>(generator, 30 * kDims);
  expect_same(rows_of(narrow, kDims, Type::int32), narrow, {});
  const auto unsigned_values = random_values<std::uint32_t>(generator, 30 * kDims);
  expect_same(rows_of(unsigned_values, kDims, Type::uint32), unsigned_values, {});
  const auto wide = random_values<std::uint64_t>(generator, 30 * kDims);
  expect_same(rows_of(wide, kDims, Type::uint64), wide, {});
  const auto values = random_values<std::int64_t>(generator, 30 * kDims);
  expect_same({values.data(), Type::int64, 30, kDims, 8, 30 * 8}, values, {});  // by column
  expect_same({values.data() + 29 * kDims, Type::int64, 30, kDims, -8 * static_cast<int>(kDims), 8}, values, {});
  expect_same({values.data(), Type::int64, 15, kDims - 1, 16 * kDims, 8}, values, {});  // a part
}

TEST_F(DevicePoints, PairsOfLargeSets) {
  std::mt19937_64 generator(3);
  const auto points = random_values<double>(generator, 3 * 1500);
  const auto references = random_values<double>(generator, 3 * 2300);
  const DeviceValues<double> own(points);
  const DeviceValues<double> other(references);
  const Points host = rows_of(points, 3, Type::float64);
  const Points host_references = rows_of(references, 3, Type::float64);
  const Points there = own.there(host, points);
  const Points references_there = other.there(host_references, references);
  for (const IndicatorOptions& options : {IndicatorOptions{}, IndicatorOptions{.maximise = {false, true, false}}}) {
    EXPECT_EQ(igd(there, references_there, options, nullptr), igd(host, host_references, options));
    EXPECT_EQ(igd_plus(there, references_there, options, nullptr), igd_plus(host, host_references, options));
    EXPECT_EQ(epsilon_additive(there, references_there, options, nullptr),
              epsilon_additive(host, host_references, options));
    EXPECT_EQ(epsilon_multiplicative(there, references_there, options, nullptr),
              epsilon_multiplicative(host, host_references, options));
  }
}

/// The emulator has two devices in this program (borrowed_test.cpp).
TEST_F(DevicePoints, OfAnotherDevice) {
  if (found().devices.size() < 2) GTEST_SKIP() << "there is one GPU";
  std::mt19937_64 generator(4);
  const auto values = random_values<double>(generator, 30 * 5);
  const DeviceValues<double> device(values, 1);
  const Points host = rows_of(values, 5, Type::float64);
  const double volume = hypervolume(host, kReference);
  EXPECT_NEAR(hypervolume(device.there(host, values), kReference, {}, nullptr), volume, 1e-12 * volume);
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const DataError& error) {
    return error.what();
  }
  return {};
}

TEST_F(DevicePoints, RefusedAsThoseOfTheHost) {
  for (const double wrong : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    const std::vector<double> values = {1, 2, 3, 4, wrong, 6};
    const DeviceValues<double> device(values);
    const Points host = rows_of(values, 2, Type::float64);
    const Points there = device.there(host, values);
    const std::string message = refusal_of([&] { hypervolume(host, kReference); });
    EXPECT_NE(message, "");
    EXPECT_EQ(refusal_of([&] { hypervolume(there, kReference, {}, nullptr); }), message);
    EXPECT_EQ(refusal_of([&] { hypervolume_contributions(there, kReference, DominatedPoints::ignored, {}, nullptr); }),
              message);
  }
  const std::vector<double> values = {1, 2, 3, 4};
  const Points host = rows_of(values, 2, Type::float64);
  EXPECT_EQ(refusal_of([&] { hypervolume(host, kReference, {}, nullptr); }),
            "points lie in the memory of the host, not of a GPU");
  Points wrong = host;
  wrong.type = Type::float16;
  EXPECT_EQ(refusal_of([&] { hypervolume(wrong, kReference, {}, nullptr); }),
            refusal_of([&] { hypervolume(wrong, kReference); }));
}

TEST_F(DevicePoints, OfNoneAndOne) {
  const Points none{.values = nullptr, .rows = 0, .columns = 5};
  EXPECT_EQ(hypervolume(none, kReference, {}, nullptr), 0);
  EXPECT_TRUE(hypervolume_contributions(none, kReference, DominatedPoints::ignored, {}, nullptr).empty());
  const std::vector<double> one(5, 36);
  const DeviceValues<double> device(one);
  const Points there = device.there(rows_of(one, 5, Type::float64), one);
  EXPECT_EQ(hypervolume(there, kReference, {}, nullptr), 32);
  EXPECT_EQ(igd(none, there, {}, nullptr), std::numeric_limits<double>::infinity());
  EXPECT_EQ(refusal_of([&] { igd(there, none, {}, nullptr); }), "the reference set has no points");
}

TEST_F(DevicePoints, StopWhereAsked) {
  std::mt19937_64 generator(5);
  const auto values = random_values<double>(generator, 30 * 5);
  const DeviceValues<double> device(values);
  std::stop_source source;
  source.request_stop();
  IndicatorOptions options;
  options.stop = source.get_token();
  EXPECT_THROW(hypervolume(device.there(rows_of(values, 5, Type::float64), values), kReference, options, nullptr),
               CancelledError);
}

}  // namespace
}  // namespace skyrank
