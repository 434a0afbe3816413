"""SQL, a skyline of its result, and SQL over the skyline, without a file or a copy in between."""
# Needs: duckdb, pyarrow

import duckdb
import skyrank

duckdb.sql("create table offers as select i as id, i * 7919 % 1009 as price, i * 104729 % 97 as rating from range(5000) t(i)")

relation = duckdb.sql("select * from offers where price > 100")
front = skyrank.skyline(relation, low="price", high="rating")

# DuckDB finds Python's variables by name in SQL; anything with __arrow_c_stream__ is a table.
print(duckdb.sql("select count(*) as offers, min(price) as cheapest, max(rating) as best from front"))
