"""A DataFrame: the best rows by two criteria, found by position and by column."""
# Needs: pandas, pyarrow

import pandas
import skyrank
from skyrank import Query, high, low

players = pandas.DataFrame(
    {"points": [31.1, 27.0, 29.5, 18.2], "rebounds": [5.2, 11.1, 8.0, 7.9], "turnovers": [3.5, 3.0, None, 1.2]},
    index=["Ann", "Bo", "Cy", "Di"],
)

# Row ids are positions, whatever the index is.
front = skyrank.skyline(players, high=["points", "rebounds"], low="turnovers")
print(players.iloc[front.rows])

query = Query().where("turnovers is not null").rank_by([high("points"), low("turnovers")]).limit(2).select("points", "turnovers")
print(skyrank.query(players, query).to_pandas())
