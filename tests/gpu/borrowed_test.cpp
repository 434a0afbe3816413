#include <skyrank/arrow_device.hpp>
#include <skyrank/dlpack.hpp>
#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/device/dlpack_structs.hpp"
#include "engine/device/resident.hpp"
#include "engine/runtime/device_values.hpp"
#include "kernels/cuda/device/stream.hpp"
#include "kernels/cuda/runtime/check.hpp"
#include "tests/build.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/semantics/expect_equal.hpp"
#include "tests/semantics/random_case.hpp"

// Tables of what a caller has in the memory of a GPU: Arrow's C device interface and DLPack.
namespace skyrank {
namespace {

using kernels::cuda::CurrentDevice;
using testing::HasSubstr;

/// Before the first call to the emulator.
const int two_devices = tests::kEmulated ? setenv("SKYRANK_EMULATED_DEVICES", "2", 0) : 0;

/// Memory of a GPU with a copy of the host's, of exactly its size.
class GpuMemory {
 public:
  explicit GpuMemory(const std::vector<std::byte>& bytes, int device = 0) {
    const CurrentDevice current(device);
    SKYRANK_CUDA_CALL(cudaMalloc(&data_, std::max<std::size_t>(bytes.size(), 1)));
    SKYRANK_CUDA_CALL(cudaMemcpy(data_, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    SKYRANK_CUDA_CALL(cudaDeviceSynchronize());
  }
  ~GpuMemory() { (void)cudaFree(data_); }
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span<const T>(values));
  return {bytes.begin(), bytes.end()};
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// ---- A producer of Arrow's structs ----

std::string format_of(DataType type) {
  switch (type.type) {
    case Type::boolean: return "b";
    case Type::int8: return "c";
    case Type::int16: return "s";
    case Type::int32: return "i";
    case Type::int64: return "l";
    case Type::uint8: return "C";
    case Type::uint16: return "S";
    case Type::uint32: return "I";
    case Type::uint64: return "L";
    case Type::float16: return "e";
    case Type::float32: return "f";
    case Type::float64: return "g";
    case Type::date: return "tdD";
    case Type::decimal64: return "d:" + std::to_string(type.precision) + "," + std::to_string(type.scale) + ",64";
    case Type::timestamp: return std::vector<std::string>{"tss:", "tsm:", "tsu:", "tsn:"}[static_cast<int>(type.unit)];
    case Type::decimal128:
    case Type::string: break;
  }
  return {};
}

/// A record batch on a GPU and its structs; counts how often they are released.
struct Producer {
  struct Field {
    std::string name;
    std::string format;
    ArrowSchema schema{};
    ArrowArray array{};
    std::vector<const void*> buffers;
  };

  std::deque<Field> fields;
  std::vector<std::unique_ptr<GpuMemory>> memory;
  std::vector<ArrowSchema*> schemas;
  std::vector<ArrowArray*> arrays;
  const void* no_buffers[1] = {nullptr};
  ArrowSchema schema{};
  ArrowDeviceArray device{};
  int arrays_released = 0;
  int schemas_released = 0;

  explicit Producer(std::int64_t rows, std::int64_t offset = 0, int ordinal = 0) {
    schema.format = "+s";
    schema.name = "";
    schema.private_data = this;
    schema.release = [](ArrowSchema* released) {
      ++static_cast<Producer*>(released->private_data)->schemas_released;
      released->release = nullptr;
    };
    device.array.length = rows;
    device.array.offset = offset;
    device.array.n_buffers = 1;
    device.array.buffers = no_buffers;
    device.array.private_data = this;
    device.array.release = [](ArrowArray* released) {
      ++static_cast<Producer*>(released->private_data)->arrays_released;
      released->release = nullptr;
    };
    device.device_id = ordinal;
    device.device_type = ARROW_DEVICE_CUDA;
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  const void* put(const std::vector<std::byte>& bytes) {
    memory.push_back(std::make_unique<GpuMemory>(bytes, static_cast<int>(device.device_id)));
    return memory.back()->data();
  }

  Field& add(std::string name, std::string format, std::int64_t length, std::vector<const void*> buffers,
             std::int64_t offset = 0) {
    Field& field = fields.emplace_back();
    field.name = std::move(name);
    field.format = std::move(format);
    field.buffers = std::move(buffers);
    field.schema.format = field.format.c_str();
    field.schema.name = field.name.c_str();
    field.schema.release = [](ArrowSchema* released) { released->release = nullptr; };
    field.array.length = length;
    field.array.null_count = field.buffers[0] == nullptr ? 0 : -1;
    field.array.offset = offset;
    field.array.n_buffers = static_cast<std::int64_t>(field.buffers.size());
    field.array.buffers = field.buffers.data();
    field.array.release = [](ArrowArray* released) { released->release = nullptr; };
    schemas.clear();
    arrays.clear();
    for (Field& each : fields) {
      schemas.push_back(&each.schema);
      arrays.push_back(&each.array);
    }
    schema.n_children = device.array.n_children = static_cast<std::int64_t>(fields.size());
    schema.children = schemas.data();
    device.array.children = arrays.data();
    return field;
  }

  template <class T>
  Field& add(const std::string& name, const std::vector<T>& values) {
    return add(name, format_of(type_of<T>()), static_cast<std::int64_t>(values.size()),
               {nullptr, put(bytes_of(values))});
  }

  Table table() { return import_arrow_device(&device, &schema); }
};

std::vector<std::byte> packed(const std::vector<bool>& flags) {
  std::vector<std::byte> bytes((flags.size() + 7) / 8);
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags[i]) bytes[i / 8] |= std::byte{1} << (i % 8);
  }
  return bytes;
}

/// Adds a column of the host, its rows behind `lead` others.
void add_column(Producer& producer, const Column& column, std::int64_t lead) {
  const ColumnData& data = column.data();
  const auto rows = static_cast<std::size_t>(column.size() + lead);
  const auto first = static_cast<std::size_t>(lead);
  std::vector<bool> valid(rows, true);
  for (std::size_t i = first; i < rows; ++i) valid[i] = !column.is_null(static_cast<std::int64_t>(i) - lead);
  std::vector<std::byte> values;
  if (column.type().type == Type::boolean) {
    std::vector<bool> truths(rows);
    for (std::size_t i = first; i < rows; ++i) {
      truths[i] = valid[i] && std::get<bool>(column.value(static_cast<std::int64_t>(i) - lead));
    }
    values = packed(truths);
  } else {
    const auto width = static_cast<std::size_t>(width_in_bytes(column.type().type));
    values.resize(rows * width, std::byte{0x5a});
    for (std::size_t i = first; i < rows; ++i) {
      std::memcpy(values.data() + i * width,
                  static_cast<const std::byte*>(data.values) + static_cast<std::int64_t>(i - first) * data.stride,
                  width);
    }
  }
  const void* bits = column.may_have_nulls() ? producer.put(packed(valid)) : nullptr;
  producer.add(column.name(), format_of(column.type()), static_cast<std::int64_t>(rows), {bits, producer.put(values)});
}

/// The same table, whose columns that can be are on a GPU.
Table on_gpu(const Table& table, Producer& producer) {
  const std::int64_t lead = producer.device.array.offset;
  for (const Column& column : table.columns()) {
    if (!format_of(column.type()).empty()) add_column(producer, column, lead);
  }
  const Table there = producer.table();
  std::vector<Column> columns;
  for (const Column& column : table.columns()) {
    columns.push_back(there.find(column.name()) ? there.column(column.name()) : column);
  }
  return Table(std::move(columns));
}

// ---- A producer of DLPack's structs ----

struct Tensor {
  std::unique_ptr<GpuMemory> memory;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  DLManagedTensor managed{};
  DLManagedTensorVersioned versioned{};
  int deleted = 0;

  template <class T>
  Tensor(const std::vector<T>& values, DLDataType type, std::vector<std::int64_t> sizes,
         std::vector<std::int64_t> steps = {})
      : memory(std::make_unique<GpuMemory>(bytes_of(values))), shape(std::move(sizes)), strides(std::move(steps)) {
    managed.dl_tensor = {.data = memory->data(),
                         .device = {kDLCUDA, 0},
                         .ndim = static_cast<std::int32_t>(shape.size()),
                         .dtype = type,
                         .shape = shape.data(),
                         .strides = strides.empty() ? nullptr : strides.data(),
                         .byte_offset = 0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) { ++static_cast<Tensor*>(self->manager_ctx)->deleted; };
    versioned.version = {1, 1};
    versioned.manager_ctx = this;
    versioned.deleter = [](DLManagedTensorVersioned* self) { ++static_cast<Tensor*>(self->manager_ctx)->deleted; };
    versioned.dl_tensor = managed.dl_tensor;
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
};

constexpr DLDataType kFloat32{kDLFloat, 32, 1};
constexpr DLDataType kInt64{kDLInt, 64, 1};

// ---- Tests ----

class BorrowedOnGpu : public gpu_testing::GpuTest {};

Engine engine_on(DeviceChoice device) { return Engine({.threads = 2, .device = device}); }

TEST_F(BorrowedOnGpu, RandomQueriesGiveTheRowsOfTheHost) {
  constexpr std::uint64_t kCases = !tests::kEmulated ? 600 : tests::kSanitized ? 6 : 24;
  for (std::uint64_t seed = 1000; seed < 1000 + kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase random = random_case(seed);
    if (random.query.ties() == Ties::any) random.query.ties(Ties::first);
    Result expected;
    const std::string error =
        message_of([&] { expected = engine_on(DeviceChoice::cpu).run(random.query, random.table); });
    for (const DeviceChoice device : {DeviceChoice::cuda, DeviceChoice::automatic, DeviceChoice::cpu}) {
      Producer producer(random.table.num_rows(), static_cast<std::int64_t>(seed % 11));
      {
        const Table table = on_gpu(random.table, producer);
        const Engine engine = engine_on(device);
        Result found;
        const std::string message = message_of([&] { found = engine.run(random.query, table); });
        if (message.find("no skyline algorithm fits") != std::string::npos) continue;  // of the CPU alone
        EXPECT_EQ(message, error);
        if (error.empty()) expect_equal(found, expected);
        if (error.empty()) expect_equal(engine.run(random.query, table), expected);
        Result merged;
        const std::string failed =
            message_of([&] { merged = engine.merge(random.query, {engine.partial(random.query, table, 0)}); });
        EXPECT_EQ(failed.empty(), error.empty()) << failed;
        if (error.empty()) expect_equal(merged, expected);
        EXPECT_EQ(producer.arrays_released, 0);
      }
      EXPECT_EQ(producer.arrays_released, 1);
      EXPECT_EQ(producer.schemas_released, 1);
    }
  }
}

std::vector<float> some_floats(std::size_t rows, unsigned seed = 3) {
  std::mt19937_64 random(seed);
  std::vector<float> values(rows);
  for (float& value : values) value = static_cast<float>(random() % 100'000) / 8;
  return values;
}

constexpr std::size_t kRows = !tests::kEmulated ? 2'000'000 : tests::kSanitized ? 5'000 : 20'000;

/// Bytes that operators above the answer's columns moved.
std::uint64_t moved_below_gather(const PlanNode& plan) {
  std::uint64_t bytes = 0;
  if (plan.op != "gather" && plan.transferred) bytes += plan.transferred->to_device;
  for (const PlanNode& child : plan.children) bytes += moved_below_gather(child);
  return bytes;
}

TEST_F(BorrowedOnGpu, ColumnsAreReadWhereTheyLie) {
  const std::vector<float> a = some_floats(kRows, 3);
  const std::vector<float> b = some_floats(kRows, 4);
  const Table host({Column::own("a", a), Column::own("b", b)});
  // Left to itself, the planner may take kernels of the CPU for so few keys, which are made on the GPU all the same.
  for (const DeviceChoice device : {DeviceChoice::cuda, DeviceChoice::automatic}) {
    Producer producer(kRows);
    producer.add("a", a);
    producer.add("b", b);
    const Table table = producer.table();
    const Engine engine = engine_on(device);
    for (const Query& query : {Query::from("t").rank_by({low("a")}).limit(10).ties(Ties::first),
                               Query::from("t").where("b > 100").rank_by({high("a + b")}).limit(7).ties(Ties::first),
                               Query::from("t").prefer({low("a"), high("b")}).rank_by({low("b")}).limit(3)}) {
      const Result found = engine.run(query, table);
      expect_equal(found, engine_on(DeviceChoice::cpu).run(query, host));
      EXPECT_THAT(to_string(found.plan), HasSubstr("cuda"));
      if (device == DeviceChoice::automatic) continue;
      EXPECT_EQ(moved_below_gather(found.plan), 0u) << to_string(found.plan);
      EXPECT_LT(found.transferred.to_device + found.transferred.from_device, kRows) << to_string(found.plan);
    }
    EXPECT_NE(exec::device_only_values(table.column("a").data()), nullptr);
    EXPECT_NE(exec::device_only_values(table.column("b").data()), nullptr);
  }
}

TEST_F(BorrowedOnGpu, ColumnsComeToTheHostOnceWhereItReadsThem) {
  const std::vector<float> a = some_floats(kRows);
  Producer producer(kRows);
  producer.add("a", a);
  const Table table = producer.table();
  const Engine engine = engine_on(DeviceChoice::cpu);
  const Query query = Query::from("t").rank_by({low("a")}).limit(10).ties(Ties::first);
  const Result first = engine.run(query, table);
  EXPECT_EQ(first.rows, engine.run(query, Table({Column::own("a", a)})).rows);
  EXPECT_EQ(exec::device_only_values(table.column("a").data()), nullptr);
  const Result second = engine.run(query, table);
  EXPECT_EQ(second.rows, first.rows);
  EXPECT_EQ(second.transferred, Transferred{});
}

TEST_F(BorrowedOnGpu, PartsOfGroupsAndPartitionsReadColumnsOnTheHost) {
  constexpr std::int64_t kFew = 20'000;  // samples bring no whole column of so many
  std::vector<std::int32_t> g(kFew);
  std::vector<std::int32_t> x(kFew);
  std::vector<float> f(kFew);
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = static_cast<std::int32_t>(i * i % 7);
  for (std::size_t i = 0; i < f.size(); ++i) f[i] = static_cast<float>(i * i % 11) / 4;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(i * 37 % 101);
  const Table host({Column::own("g", g), Column::own("x", x), Column::own("f", f)});
  for (const Query& query : {Query::from("t").partition_by({"g"}).rank_by({high("x")}).limit(3),
                             Query::from("t").partition_by({"f"}).rank_by({high("x")}).limit(3),
                             Query::from("t").partition_by({"f"}).prefer({low("x")}).rank_by({high("g")}).limit(3),
                             Query::from("t").group_by({"g"}).aggregate({count("n"), sum("s", "x"), max("m", "x")})}) {
    Producer producer(kFew);
    producer.add("g", g);
    producer.add("x", x);
    producer.add("f", f);
    const Table table = producer.table();
    const Engine engine = engine_on(DeviceChoice::cuda);
    const Partial part = engine.partial(query, table, 0);  // of a table that nothing has read before
    expect_equal(engine.merge(query, {part}), engine_on(DeviceChoice::cpu).run(query, host));
  }
}

TEST_F(BorrowedOnGpu, NothingHasToBeSent) {
  const std::vector<float> a = some_floats(100);
  Producer producer(100);
  producer.add("a", a);
  EXPECT_EQ(exec::residency_of({0}, producer.table(), false).unsent, 0);
  EXPECT_EQ(exec::residency_of({0}, Table({Column::own("a", a)}), false).unsent, 400);
}

TEST_F(BorrowedOnGpu, ValuesCanBePrintedExportedAndPinned) {
  Producer producer(3);
  producer.add("a", std::vector<std::int64_t>{7, 8, 9});
  const Table table = producer.table();
  const Table pinned = engine_on(DeviceChoice::cuda).pin(table);
  EXPECT_EQ(engine_on(DeviceChoice::cuda).run(Query::from("t").rank_by({high("a")}).limit(1), pinned).rows,
            std::vector<RowId>{2});
  ArrowArray array{};
  ArrowSchema schema{};
  export_arrow(table, &array, &schema);
  const Table again = import_arrow(&array, &schema);
  for (std::int64_t row = 0; row < 3; ++row) {
    EXPECT_EQ(std::get<std::int64_t>(again.column(0).value(row)), 7 + row);
    EXPECT_EQ(std::get<std::int64_t>(table.column(0).value(row)), 7 + row);
  }
}

TEST_F(BorrowedOnGpu, AnEventOfTheProducerIsWaitedFor) {
  const std::vector<float> values = some_floats(kRows);
  Producer producer(kRows);
  producer.add("a", std::vector<float>(kRows, 1e9F));
  void* const there = producer.memory.front()->data();
  const GpuMemory fresh(bytes_of(values));
  const kernels::cuda::Stream stream;
  cudaEvent_t event = nullptr;
  SKYRANK_CUDA_CALL(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  const auto late = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(300)); };
  SKYRANK_CUDA_CALL(cudaLaunchHostFunc(stream.get(), late, nullptr));
  SKYRANK_CUDA_CALL(
      cudaMemcpyAsync(there, fresh.data(), kRows * sizeof(float), cudaMemcpyDeviceToDevice, stream.get()));
  SKYRANK_CUDA_CALL(cudaEventRecord(event, stream.get()));
  producer.device.sync_event = &event;
  const Query query = Query::from("t").rank_by({low("a")}).limit(50).ties(Ties::first);
  {
    const Table table = producer.table();
    EXPECT_EQ(engine_on(DeviceChoice::cuda).run(query, table).rows,
              engine_on(DeviceChoice::cpu).run(query, Table({Column::own("a", values)})).rows);
  }
  SKYRANK_CUDA_CALL(cudaEventDestroy(event));
}

TEST_F(BorrowedOnGpu, TheStreamOfATensorIsWaitedFor) {
  const std::vector<float> values = some_floats(kRows);
  Tensor tensor(std::vector<float>(kRows, 1e9F), kFloat32, {static_cast<std::int64_t>(kRows)});
  const GpuMemory fresh(bytes_of(values));
  const kernels::cuda::Stream stream;
  const auto late = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(300)); };
  SKYRANK_CUDA_CALL(cudaLaunchHostFunc(stream.get(), late, nullptr));
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(tensor.memory->data(), fresh.data(), kRows * sizeof(float),
                                    cudaMemcpyDeviceToDevice, stream.get()));
  const Query query = Query::from("t").rank_by({low("c0")}).limit(50).ties(Ties::first);
  const Table table = import_dlpack(&tensor.managed, {}, stream.get());
  EXPECT_EQ(engine_on(DeviceChoice::cuda).run(query, table).rows,
            engine_on(DeviceChoice::cpu).run(query, Table({Column::own("c0", values)})).rows);
}

TEST_F(BorrowedOnGpu, TensorsOfOneAndTwoDimensions) {
  std::vector<float> values = some_floats(3 * 500);
  const auto element = [&](std::size_t row, std::size_t column, bool row_major) {
    return row_major ? values[row * 3 + column] : values[column * 500 + row];
  };
  const Query query = Query::from("t").prefer({low("a"), high("b"), low("c")});
  for (const bool row_major : {true, false}) {
    std::vector<std::vector<float>> columns(3);
    for (std::size_t row = 0; row < 500; ++row) {
      for (std::size_t c = 0; c < 3; ++c) columns[c].push_back(element(row, c, row_major));
    }
    const Table host({Column::own("a", columns[0]), Column::own("b", columns[1]), Column::own("c", columns[2])});
    const Result expected = engine_on(DeviceChoice::cpu).run(query, host);
    for (const DeviceChoice device : {DeviceChoice::cuda, DeviceChoice::cpu}) {
      const std::vector<std::int64_t> strides =
          row_major ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{1, 500};
      Tensor tensor(values, kFloat32, {500, 3}, strides);
      {
        const Table table = import_dlpack(&tensor.versioned, {"a", "b", "c"});
        expect_equal(engine_on(device).run(query, table), expected);
        EXPECT_EQ(tensor.deleted, 0);
      }
      EXPECT_EQ(tensor.deleted, 1);
    }
  }
  Tensor backwards(std::vector<std::int64_t>{5, 1, 9, 4}, kInt64, {2}, {-2});
  backwards.managed.dl_tensor.byte_offset = 2 * sizeof(std::int64_t);
  const Table table = import_dlpack(&backwards.managed);
  EXPECT_EQ(engine_on(DeviceChoice::cuda).run(Query::from("t").rank_by({low("c0")}), table).rows,
            (std::vector<RowId>{1, 0}));
  EXPECT_EQ(std::get<std::int64_t>(table.column("c0").value(0)), 9);
}

TEST_F(BorrowedOnGpu, AnotherGpuCopiesFromItsPeer) {
  if (found().devices.size() < 2) GTEST_SKIP() << "one GPU";
  const std::vector<float> values = some_floats(kRows);
  const Query query = Query::from("t").rank_by({low("a")}).limit(20).ties(Ties::first);
  const Result expected = engine_on(DeviceChoice::cpu).run(query, Table({Column::own("a", values)}));
  Producer producer(kRows, 0, 1);
  producer.add("a", values);
  const Table table = producer.table();
  const Result found = engine_on(DeviceChoice::cuda).run(query, table);
  expect_equal(found, expected);
  EXPECT_GE(found.transferred.to_device, kRows * sizeof(float));
  const Engine there({.threads = 2, .device = DeviceChoice::cuda, .devices = {1}});
  const Result in_place = there.run(query, table);
  expect_equal(in_place, expected);
  EXPECT_LT(in_place.transferred.to_device, kRows);
  const Engine both({.threads = 2, .device = DeviceChoice::cuda, .devices = {0, 1}});
  expect_equal(both.run(query, table), expected);
  expect_equal(both.run(query, both.pin(table)), expected);
}

TEST_F(BorrowedOnGpu, WhatCannotBeReadOnAGpuIsToldWhereAQueryNamesIt) {
  Producer producer(2);
  producer.add("a", std::vector<float>{1, 2});
  producer.add("s", "u", 2, {nullptr, nullptr, nullptr});
  producer.add("d", "d:20,2", 2, {nullptr, nullptr});
  const Table table = producer.table();
  EXPECT_EQ(engine_on(DeviceChoice::cuda).run(Query::from("t").rank_by({high("a")}).limit(1), table).rows,
            std::vector<RowId>{1});
  EXPECT_EQ(table.unsupported().size(), 2u);
  EXPECT_THAT(
      message_of([&] { engine_on(DeviceChoice::cuda).run(Query::from("t").rank_by({high("s")}), table); }),
      HasSubstr("in the memory of a GPU only numbers of up to 64 bits, booleans, dates and timestamps are read; "
                "copy the column to the CPU"));
}

TEST_F(BorrowedOnGpu, HostMemoryTakesThePathOfTheHost) {
  Producer producer(3);
  std::vector<std::int32_t> values{3, 1, 2};
  producer.add("a", "i", 3, {nullptr, values.data()});
  producer.device.device_type = ARROW_DEVICE_CPU;
  producer.device.device_id = -1;
  {
    const Table table = producer.table();
    EXPECT_EQ(table.column("a").data().values, values.data());
    EXPECT_EQ(producer.arrays_released, 0);
  }
  EXPECT_EQ(producer.arrays_released, 1);
  Tensor tensor(values, {kDLInt, 32, 1}, {3});
  tensor.managed.dl_tensor.data = values.data();
  tensor.managed.dl_tensor.device = {kDLCPU, 0};
  EXPECT_EQ(import_dlpack(&tensor.managed).column("c0").data().values, values.data());
  EXPECT_EQ(tensor.deleted, 1);
}

/// An error of an import, after which everything must have been released once.
void expect_error(const std::function<void(Producer&)>& spoil, const std::string& message) {
  Producer producer(4);
  producer.add("a", std::vector<float>{1, 2, 3, 4});
  spoil(producer);
  EXPECT_EQ(message_of([&] { producer.table(); }), message);
  EXPECT_EQ(producer.arrays_released, 1) << message;
  EXPECT_EQ(producer.schemas_released, 1) << message;
  EXPECT_EQ(producer.device.array.release, nullptr);
}

TEST_F(BorrowedOnGpu, BadArraysAreToldAndReleased) {
  const std::vector<float> host{1, 2, 3, 4};
  const std::string gpus = found().devices.size() == 1
                               ? "is only GPU 0"
                               : "are only GPUs 0 to " + std::to_string(found().devices.size() - 1);
  expect_error(
      [](Producer& p) { p.device.device_type = ARROW_DEVICE_METAL; },
      "Arrow device array lies on a device of type 8, which cannot be read; what can: the CPU (1) and CUDA (2, "
      "3 and 13)");
  expect_error([](Producer& p) { p.device.device_id = 99; }, "Arrow device array lies on GPU 99, but there " + gpus);
  expect_error([](Producer& p) { p.fields[0].buffers[1] = nullptr; }, "Arrow column 'a' has no buffer 1");
  expect_error([&](Producer& p) { p.fields[0].buffers[1] = host.data(); },
               "Arrow column 'a' has its values in memory of the host, not of GPU 0, on which it is said to be");
  expect_error(
      [&](Producer& p) {
        p.fields[0].buffers[0] = host.data();
        p.fields[0].array.null_count = -1;
      },
      "Arrow column 'a' has its bits of NULLs in memory of the host, not of GPU 0, on which it is said to be");
  expect_error([](Producer& p) { p.fields[0].array.null_count = 2; },
               "Arrow column 'a' has NULLs but no validity bitmap");
  expect_error([](Producer& p) { p.fields[0].array.length = 3; },
               "Arrow column 'a' has 3 rows where its parent needs 4");
  expect_error([](Producer& p) { p.fields[0].array.n_buffers = 3; },
               "Arrow column 'a' has 3 buffers; its format needs 2");
  expect_error([](Producer& p) { p.device.array.offset = -1; }, "Arrow struct has the negative offset -1");
  expect_error([](Producer& p) { p.schema.format = "i"; },
               "Arrow schema has the format 'i'; a table needs a struct, '+s'");
  expect_error(
      [](Producer& p) {
        p.device.device_type = ARROW_DEVICE_CPU;
        p.device.sync_event = &p;
      },
      "Arrow device array is the CPU's and has an event of a GPU");
  expect_error([](Producer& p) { p.fields[0].buffers[1] = static_cast<const std::byte*>(p.fields[0].buffers[1]) + 1; },
               "Arrow column 'a' has values of 4 bytes that do not lie at multiples of 4 bytes");
  EXPECT_EQ(message_of([] { import_arrow_device(nullptr, nullptr); }),
            "Arrow device array is a null pointer or was released already");
}

TEST_F(BorrowedOnGpu, RowsBeyondTheMemoryAreTold) {
  Producer producer(std::int64_t{1} << 40);
  producer.add("a", std::vector<float>{1, 2, 3, 4}).array.length = std::int64_t{1} << 40;
  EXPECT_EQ(message_of([&] { producer.table(); }),
            "Arrow column 'a' has 1099511627776 rows, but its values in the memory of GPU 0 end before the last one");
  EXPECT_EQ(producer.arrays_released, 1);
}

void expect_bad_tensor(const std::function<void(DLTensor&)>& spoil, const std::string& message,
                       std::vector<std::string> names = {}) {
  Tensor tensor(std::vector<float>{1, 2, 3, 4}, kFloat32, {4});
  spoil(tensor.managed.dl_tensor);
  EXPECT_EQ(message_of([&] { import_dlpack(&tensor.managed, names); }), message);
  EXPECT_EQ(tensor.deleted, 1) << message;
}

TEST_F(BorrowedOnGpu, BadTensorsAreToldAndDeleted) {
  expect_bad_tensor([](DLTensor& t) { t.ndim = 3; },
                    "DLPack tensor has 3 dimensions; a table needs one (a column) or two (rows, columns)");
  expect_bad_tensor(
      [](DLTensor& t) {
        t.dtype = {kDLBfloat, 16, 1};
      },
      "DLPack tensor has values of the type bfloat16, which cannot be read; what can: bool, int8..64, "
      "uint8..64 and float16..64");
  expect_bad_tensor(
      [](DLTensor& t) { t.dtype.lanes = 4; },
      "DLPack tensor has values of the type float32 in vectors of 4, which cannot be read; what can: bool, "
      "int8..64, uint8..64 and float16..64");
  expect_bad_tensor(
      [](DLTensor& t) { t.device.device_type = 10; },
      "DLPack tensor lies on a device of type 10, which cannot be read; what can: the CPU (1) and CUDA (2, "
      "3 and 13)");
  expect_bad_tensor([](DLTensor& t) { t.shape[0] = -4; }, "DLPack tensor has the negative size -4");
  expect_bad_tensor([](DLTensor& t) { t.shape = nullptr; }, "DLPack tensor has no shape");
  expect_bad_tensor([](DLTensor& t) { t.data = nullptr; }, "DLPack tensor has values at a null pointer");
  expect_bad_tensor([](DLTensor& t) { t.shape[0] = std::numeric_limits<std::int64_t>::max(); },
                    "DLPack tensor has a shape or strides beyond 64 bits");
  expect_bad_tensor([](DLTensor&) {}, "DLPack tensor has 1 columns, for which there are 2 names", {"a", "b"});
  Tensor newer(std::vector<float>{1}, kFloat32, {1});
  newer.versioned.version = {2, 0};
  EXPECT_EQ(message_of([&] { import_dlpack(&newer.versioned); }),
            "DLPack tensor is of DLPack version 2.0; what can be read: 1");
  EXPECT_EQ(newer.deleted, 1);
}

/// Structs in which one member is wrong at random: an error, or a table over which queries run; released once.
TEST_F(BorrowedOnGpu, RandomlyWrongStructsNeverCrash) {
  std::mt19937_64 random(5);
  const auto any = [&] {
    const std::vector<std::int64_t> numbers{
        -1, 0, 1, 2, 3, 5, 1 << 20, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
    return numbers[random() % numbers.size()];
  };
  const std::vector<const char*> formats{"", "i", "g", "u", "b", "+l", "d:5,2,64", "d:5,2", "tsn:", "tdD", "zz"};
  for (int round = 0; round < (!tests::kEmulated ? 2000 : tests::kSanitized ? 100 : 400); ++round) {
    Producer producer(4);
    producer.add("a", std::vector<float>{4, 2, 3, 1});
    producer.add("b", std::vector<std::int64_t>{1, 2, 3, 4});
    Producer::Field& field = producer.fields[random() % 2];
    switch (random() % 10) {
      case 0: producer.device.array.length = any(); break;
      case 1: producer.device.array.offset = any(); break;
      case 2: producer.device.array.n_children = any(); break;
      case 3: field.array.length = any(); break;
      case 4: field.array.offset = any(); break;
      case 5: field.array.null_count = any(); break;
      case 6: field.array.n_buffers = any(); break;
      case 7: field.buffers[random() % 2] = random() % 2 == 0 ? nullptr : field.buffers[1]; break;
      case 8: field.schema.format = formats[random() % formats.size()]; break;
      default: producer.device.device_id = any(); break;
    }
    {
      const Engine engine = engine_on(DeviceChoice::cuda);
      message_of([&] {
        const Table table = producer.table();
        if (table.num_columns() > 0 && table.find("a")) engine.run(Query::from("t").rank_by({low("a")}), table);
      });
    }
    ASSERT_EQ(producer.arrays_released, 1) << round;
    ASSERT_EQ(producer.schemas_released, 1) << round;
  }
}

}  // namespace
}  // namespace skyrank
