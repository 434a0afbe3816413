#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstddef>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

#include "engine/runtime/column_cache.hpp"
#include "kernels/cuda/device/device.hpp"
#include "tests/build.hpp"

// One engine and one table for many callers. What the table learns from queries (zone maps, samples, columns on a GPU)
// is learnt anew in each round, by all callers at once. For the thread sanitizer above all.
namespace skyrank {
namespace {

constexpr int kRounds = tests::kSanitized ? 2 : 8;
constexpr std::int64_t kRows = 140'000;  // of fewer no zone maps are made
constexpr std::size_t kCallers = 6;

Table make_table() {
  std::mt19937_64 random(3);
  std::vector<float> x;
  std::vector<std::int64_t> y;
  std::vector<std::int32_t> p;
  std::vector<std::string> s;
  for (std::int64_t i = 0; i < kRows; ++i) {
    x.push_back(static_cast<float>(random() % 1'000'003));
    y.push_back(static_cast<std::int64_t>(random() % 10'007));
    p.push_back(static_cast<std::int32_t>(random() % 100));
    s.push_back("s" + std::to_string(random() % 10));
  }
  return Table({Column::own("x", x), Column::own("y", y), Column::own("p", p), Column::own("s", s)});
}

std::vector<Query> queries() {
  const Query from = Query::from("t");
  return {Query(from).rank_by({high("x")}).limit(1),
          Query(from).rank_by({high("x")}).limit(20),
          Query(from).rank_by({low("x")}).limit(5).ties(Ties::all),
          Query(from).rank_by({low("y")}).limit(30).ties(Ties::last),
          Query(from).where("p < 50 and s != 's3'").rank_by({high("x")}).limit(10),
          Query(from).prefer({low("x"), high("y")}).rank_by({low("p")}),
          Query(from).where("s = 's1'").prefer({low("x"), low("y"), low("p")}).levels(2),
          Query(from).partition_by({"p"}).prefer({low("x"), high("y")}),
          Query(from).group_by({"p", "s"}).aggregate({sum("a", "y"), max("m", "x")}).rank_by({high("a")}).limit(7)};
}

/// Every caller asks every question, each in its own order, of tables that `fresh` makes.
template <class Fresh>
void ask_all_at_once(const Engine& engine, const Fresh& fresh) {
  const std::vector<Query> all = queries();
  std::vector<std::vector<RowId>> expected;
  const Engine alone({.threads = 1});
  const Table known = make_table();
  for (const Query& query : all) expected.push_back(alone.run(query, known).rows);
  EXPECT_NE(exec::cache_of(known.column("x").data())->zone_map(true), nullptr) << "too few rows for zone maps";
  for (int round = 0; round < kRounds; ++round) {
    const Table table = fresh();
    std::atomic<int> wrong = 0;
    std::barrier start(kCallers);
    std::vector<std::jthread> callers;
    for (std::size_t caller = 0; caller < kCallers; ++caller) {
      callers.emplace_back([&, caller] {
        start.arrive_and_wait();
        for (std::size_t i = 0; i < all.size(); ++i) {
          const std::size_t q = (i + caller / 2) % all.size();  // two callers begin with the same
          if (engine.run(all[q], table).rows != expected[q]) ++wrong;
          if (i == caller) engine.explain(all[q], table);
        }
      });
    }
    callers.clear();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Concurrency, CallersShareATableThatKnowsNothingYet) { ask_all_at_once(Engine({.threads = 2}), make_table); }

TEST(Concurrency, CallersShareAPinnedTable) {
  const kernels::cuda::Devices gpus = kernels::cuda::find_devices();
  if (gpus.devices.empty()) GTEST_SKIP() << gpus.reason;
  const Engine engine({.threads = 2, .device = DeviceChoice::cuda});
  ask_all_at_once(engine, [&] { return engine.pin(make_table(), PinTime::on_use); });
}

TEST(Concurrency, OneCallerStopsAndTheOthersDoNotNotice) {
  const Engine engine({.threads = 2});
  const Table table = make_table();
  const Query query = Query::from("t").prefer({low("x"), high("y")}).at_least(kRows / (tests::kSanitized ? 40 : 8));
  const std::vector<RowId> expected = engine.run(query, table).rows;
  std::atomic<int> wrong = 0;
  std::vector<std::stop_source> sources(4);
  std::vector<std::jthread> callers;
  for (std::stop_source& source : sources) {
    callers.emplace_back([&, stopped = callers.size() % 2 == 1] {
      std::jthread stopper;
      if (stopped) {
        stopper = std::jthread([&source] {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          source.request_stop();
        });
      }
      try {
        if (engine.run(query, table, {.count_work = false, .stop = source.get_token()}).rows != expected) ++wrong;
      } catch (const CancelledError&) {
        if (!stopped) ++wrong;
      }
    });
  }
  callers.clear();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace skyrank
