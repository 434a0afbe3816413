"""A DataFrame: the best rows by two criteria, found by the function and by the method that skyrank.pandas adds."""
# Needs: pandas, pyarrow

import pandas
import skyrank.pandas
from skyrank import Query, high, low

players = pandas.DataFrame(
    {"points": [31.1, 27.0, 29.5, 18.2], "rebounds": [5.2, 11.1, 8.0, 7.9], "turnovers": [3.5, 3.0, None, 1.2]},
    index=["Ann", "Bo", "Cy", "Di"],
)

# Row ids are positions, whatever the index is; the method keeps the labels.
front = skyrank.skyline(players, high=["points", "rebounds"], low="turnovers")
print(players.iloc[front.rows])
assert players.skyrank.skyline(high=["points", "rebounds"], low="turnovers").equals(players.iloc[front.rows])

query = Query().where("turnovers is not null").rank_by([high("points"), low("turnovers")]).limit(2).select("points", "turnovers")
print(players.skyrank.query(query))
