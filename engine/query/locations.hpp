#pragma once

#include <map>
#include <string>
#include <utility>

#include <skyrank/query.hpp>

// Gives the places of queries and their parts in the text that they were read from, for error messages.
namespace skyrank {

/// Reaches the places of a query and of its parts in the text that it was read from, which the public headers hide.
struct QueryAccess {
  static Location& location(Query& query) { return query.location_; }
  static const Location& location(const Query& query) { return query.location_; }
  static std::map<std::string, Location>& path_locations(Query& query) { return query.path_locations_; }
  static const std::map<std::string, Location>& path_locations(const Query& query) { return query.path_locations_; }
};

namespace query {

/// Places of the names in a forced path, by name.
using PathLocations = std::map<std::string, Location>;

/// A forced path, and where its names are.
struct PlacedPath {
  ForcedPath path;
  PathLocations locations;
};

/// Returns the place of a query in its batch or statement.
inline const Location& location_of(const Query& query) { return QueryAccess::location(query); }

/// Sets the place of a query.
inline void set_location(Query& query, Location place) { QueryAccess::location(query) = std::move(place); }

/// Returns the places of the names in a query's forced path; empty for a path that no text states.
inline const PathLocations& path_locations_of(const Query& query) { return QueryAccess::path_locations(query); }

/// Forces a path whose names have places.
inline void set_path(Query& query, PlacedPath placed) {
  query.using_path(std::move(placed.path));
  QueryAccess::path_locations(query) = std::move(placed.locations);
}

}  // namespace query
}  // namespace skyrank
