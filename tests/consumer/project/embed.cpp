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

  for (RowId row : {0, 2, 1}) {
    std::cout << to_string(hotels.column("name").value(row)) << ": " << to_string(hotels.column("price").value(row))
              << ", rating " << to_string(hotels.column("rating").value(row)) << '\n';
  }
}
