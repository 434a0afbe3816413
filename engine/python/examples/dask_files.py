"""Files on the workers of a Dask cluster: a skyline that no single machine needs to hold."""
# Needs: dask, distributed, pyarrow

import numpy
import pyarrow
import pyarrow.parquet
import skyrank.dask
from distributed import Client, LocalCluster
from skyrank import Query, high, low


def write_files():
    for month in range(1, 5):
        generator = numpy.random.default_rng(month)
        offers = {"price": generator.random(20000) * 300, "rating": generator.random(20000) * 5}
        pyarrow.parquet.write_table(pyarrow.table(offers), f"offers-{month}.parquet")


if __name__ == "__main__":  # the workers import this file
    write_files()
    best = Query().prefer([low("price"), high("rating")]).rank_by("rating")
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        answer = skyrank.dask.query("offers-*.parquet", best)
    print(answer)
    assert answer.rows.tolist() == skyrank.query("offers-*.parquet", best).rows.tolist()
