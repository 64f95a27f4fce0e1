"""A program that judges, measures and streams one run on a Spark Connect server, for tests to start: ADDRESS RUN ROLLED OUT.

It says everything as one object.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import functions as F  # noqa: N812

from gossamer.pipeline import truth, workload
from gossamer.pipeline.measure import metrics
from gossamer.pipeline.session import session
from gossamer.pipeline.stream import Streaming, stream
from gossamer.pipeline.traces import find

__all__ = ["main"]


def main(words: list[str]) -> None:
    """Do it."""
    address, run, rolled, out = words[0], *map(Path, words[1:])
    found = find([run])
    scenario, seed = found[0].scenario, found[0].it.seed
    with session(master=address, conf={"spark.sql.shuffle.partitions": "1"}) as spark:
        wanted, published = workload.subscriptions(spark, scenario, seed), workload.events(spark, scenario, seed)
        matches = truth.matches(wanted, published).select(F.col("event"), "matches", "hash").collect()
        measured = metrics(spark, found).collect()
        streamed = stream(spark, rolled, run, out, Streaming(window_s=20, delay_s=40))
    told = {
        "matches": sorted(list(row) for row in matches),
        "metrics": {row.metric: row.value for row in measured},
        "streamed": streamed._asdict(),
    }
    print(f"told {json.dumps(told)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
