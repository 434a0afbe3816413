"""A step of a Polars pipeline: the best offers of each city, then on in Polars."""
# Needs: polars

import polars
import skyrank.polars  # gives frames the methods of `frame.skyrank`

offers = polars.DataFrame(
    {
        "city": ["Oslo", "Oslo", "Oslo", "Bergen", "Bergen"],
        "hotel": ["Aurora", "Bristol", "Comfort", "Dronning", "Eidsvoll"],
        "price": [120, 80, 95, 150, 140],
        "rating": [4.5, 3.9, 3.7, 4.4, 4.6],
    }
)

best = (
    offers.filter(polars.col("price") < 160)
    .skyrank.skyline(low="price", high="rating", partition_by="city")
    .group_by("city", maintain_order=True)
    .agg(polars.col("hotel"), polars.col("price").min())
)
print(best)
assert best["hotel"].to_list() == [["Aurora", "Bristol"], ["Eidsvoll"]]
