#include <iostream>
#include <string>
#include <vector>

#include <skyrank/skyrank.hpp>

int main() {
  using namespace skyrank;
  // Columns are read where they lie; `own` takes values over instead.
  const std::vector<double> price = {120, 80, 95, 150};
  const std::vector<double> rating = {4.5, 3.9, 4.2, 4.4};
  const Table hotels({Column::own("name", std::vector<std::string>{"Aurora", "Bristol", "Comfort", "Dronning"}),
                      Column::view<double>("price", price), Column::view<double>("rating", rating)});

  // Not beaten in both price and rating, best rating first.
  const Query query = Query::from("hotels").prefer({low("price"), high("rating")}).rank_by({high("rating")});
  const Result result = Engine().run(query, hotels);

  for (RowId row : result.rows) {
    std::cout << to_string(hotels.column("name").value(row)) << ": " << price[row] << ", rating " << rating[row]
              << '\n';
  }
}
