// Questions that users write, as YAML, over tables that the application holds.
#include <cstdio>

#include <skyrank/skyrank.hpp>

int main() {
  using namespace skyrank;
  const Table hotels({Column::own("name", std::vector<std::string>{"Aurora", "Bristol", "Comfort", "Dronning"}),
                      Column::own("city", std::vector<std::string>{"Oslo", "Bergen", "Oslo", "Oslo"}),
                      Column::own("price", std::vector<double>{120, 80, 95, 150}),
                      Column::own("rating", std::vector<double>{4.5, 3.9, 4.2, 4.4})});

  const Batch batch = parse_batch(R"(
version: 1
tables:
  hotels: {file: hotels.csv}   # the application decides what a name means; `skyrank run` reads the file
queries:
  - {name: cheapest, from: hotels, rank_by: {low: price}, limit: 1}
  - {name: best-deals, from: hotels, prefer: [{low: price}, {high: rating}], rank_by: {high: rating}}
  - {name: per-city, from: hotels, partition_by: [city], rank_by: {high: rating}, limit: 1}
)",
                                  "questions.yaml");

  const Engine engine;  // one for the whole program; any number of threads may ask it
  for (const Query& query : batch.queries) {
    try {
      const Result result = engine.run(query, hotels);
      std::printf("%s:", query.name().c_str());
      for (const RowId row : result.rows) std::printf(" %s", to_string(hotels.column("name").value(row)).c_str());
      std::printf("\n");
    } catch (const Error& error) {  // begins with the place: "questions.yaml:6:39: there is no column ..."
      std::fprintf(stderr, "%s\n", error.what());
    }
  }
}
