"""Metrics at scale: the definitions of ``measure``, over the traces of any number of runs at once.

    metrics(spark, find([Path("rings")]))                    # run, metric, value
    grouped(of_runs, runs(spark, found), ["population.nodes"])  # meant over the runs that share a setting

A metric has the dotted name it has in a run's ``run.json``, and the same value: counts exactly, shares to a rounding. What
is measured by event is summed by event first, then by run. Receipts that nobody has summed yet (a live swarm's, say) are put
beside the truth's pairs by ``summed``.

The surprising thing: sums of fractions are taken in decimals, or in the order of their values, so that how the rows were
partitioned cannot be seen in the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  (as everybody calls it)

from gossamer.arrays import NONE
from gossamer.pipeline.traces import Found, runs, table

__all__ = ["GROUPED", "METRICS", "SPREADS", "beside", "dissemination", "gathered", "grouped", "metrics", "summed"]

METRICS: Final = "run string, metric string, value double"
"""One number a row; null where a metric has no value (a cycle that never came)."""
GROUPED: Final = "<the settings asked for>, metric string, runs long, mean double, least double, most double"
SPREADS: Final = (
    "run string, event long, wanted long, delivered long, copies long, unwanted long, last_hop long, hops long, "
    "repaired long, control long"
)
"""Receipts summed up by event, as ``measure.delivery.Spread`` has them."""
_PAIR: Final = ["run", "event", "node"]
_FRACTION: Final = "decimal(38,18)"
_SHORT, _LONG, _QUICK, _P99 = 3, (128, 255), 5, 0.99
_FIT: Final = (2, 255)
_FEW: Final = 2 << 40
_SHARES: Final = {"links_0.999_at": ("links", 0.999), "rings_0.99_at": ("rings", 0.99), "rings_0.999_at": ("rings", 0.999)}


def metrics(spark: SparkSession, found: Sequence[Found]) -> DataFrame:
    """Every metric of ``measure.summary``, as METRICS."""
    of = {name: table(spark, found, name) for name in _PARTS if any(name in it.it.rows for it in found)}
    who = runs(spark, found)
    parts = [_long(who.select("run", F.col("rows")), ["run"])]
    for name, rows in of.items():
        parts += [part(rows, who) for part in _PARTS[name]]
    return reduce(DataFrame.unionByName, parts)


def summed(receipts: DataFrame, wanting: DataFrame, control: DataFrame | None = None) -> DataFrame:
    """Receipts beside the truth, as SPREADS: ``measure.delivery.summarise`` for any number of runs.

    receipts : run, event, node, hop, tick, repaired   every message received, in any order
    wanting  : run, event, node, staying               who wants what; those who left before it could come do not count
    control  : run, event, control                     messages that do not carry the event, where they were counted
    """
    return beside(gathered(receipts), wanting, control)


def gathered(receipts: DataFrame) -> DataFrame:
    """The copies a node received of an event: how many, and which counts as the first."""
    # What was spread comes before what repair brought, then the earliest, then fewest hops.
    first = F.min(F.struct(F.col("repaired"), F.col("tick"), F.col("hop").cast("long").alias("hop")))
    return receipts.groupBy(*_PAIR).agg(first.alias("first"), F.count("*").alias("copies"))


def beside(got: DataFrame, wanting: DataFrame, control: DataFrame | None = None) -> DataFrame:
    """Copies that were gathered, beside the truth, as SPREADS."""
    right = wanting.groupBy(*_PAIR).agg(F.max("staying").alias("staying"))
    both = got.join(right, _PAIR, "full_outer")
    delivered = F.col("staying") & F.col("first").isNotNull()
    hop = F.when(delivered & ~F.col("first.repaired"), F.col("first.hop"))
    by_event = both.groupBy("run", "event").agg(
        _whole(F.count_if("staying")).alias("wanted"),
        _whole(F.count_if(delivered)).alias("delivered"),
        _whole(F.sum("copies")).alias("copies"),
        _whole(F.sum(F.when(F.col("staying").isNull(), F.col("copies")))).alias("unwanted"),
        _whole(F.max(hop)).alias("last_hop"),
        _whole(F.sum(hop)).alias("hops"),
        _whole(F.count_if(delivered & F.col("first.repaired"))).alias("repaired"),
    )
    if control is None:
        return by_event.withColumn("control", F.lit(0).cast("long"))
    return by_event.join(control, ["run", "event"], "left").withColumn("control", _whole(F.col("control")))


def grouped(of_runs: DataFrame, who: DataFrame, by: Sequence[str]) -> DataFrame:
    """Metrics of runs, meant over those that share the settings ``by``, as GROUPED; a run that lacks one does not count."""
    keys = [F.coalesce(F.element_at("settings", name), F.lit("-")).alias(name) for name in by]
    named = of_runs.join(who.select("run", *keys), "run")
    folded = named.groupBy(*[F.col(f"`{name}`") for name in by], "metric").agg(
        F.count("value").alias("runs"),
        (F.sum(F.col("value").cast(_FRACTION)).cast("double") / F.count("value")).alias("mean"),
        F.min("value").alias("least"),
        F.max("value").alias("most"),
    )
    return folded.where("runs > 0")


def dissemination(spreads: DataFrame, keys: Sequence[str] = ("run",)) -> DataFrame:
    """How well events spread, and at what cost: a row for each value of the keys, a column a metric."""
    wanted, delivered, copies = F.col("wanted"), F.col("delivered"), F.col("copies")
    short, spread = delivered != wanted, delivered - F.col("repaired")
    return spreads.groupBy(*keys).agg(
        F.count("*").alias("events"),
        F.sum(delivered).alias("deliveries"),
        _mean_ratio(delivered / wanted, wanted > 0).alias("hit_ratio"),
        _mean_ratio(spread / wanted, wanted > 0).alias("hit_ratio_at_once"),
        (F.count_if(~short) / F.count("*")).alias("complete"),
        _mean_ratio(delivered / wanted, short).alias("hit_ratio_of_incomplete"),
        _ratio(F.col("unwanted"), copies).alias("spam"),
        _ratio(copies - F.col("unwanted") - delivered, copies).alias("duplicates"),
        _ratio(copies, delivered).alias("copies_per_delivery"),
        _ratio(F.col("control"), delivered).alias("control_per_delivery"),
        _ratio(F.col("hops"), spread).alias("mean_hops"),
        F.max("last_hop").alias("max_hops"),
    )


def _whole(column: Column) -> Column:
    return F.coalesce(column, F.lit(0)).cast("long")


def _mean_ratio(share: Column, among: Column) -> Column:
    """The mean of shares where it holds, 1 where it never does."""
    some = F.when(among, share.cast(_FRACTION))
    return F.coalesce(F.sum(some).cast("double") / F.when(F.count(some) > 0, F.count(some)), F.lit(1.0))


def _ratio(part: Column, whole: Column) -> Column:
    return F.when(F.sum(whole) > 0, F.sum(part) / F.sum(whole)).otherwise(0.0)


def _long(wide: DataFrame, keys: Sequence[str], prefix: str = "") -> DataFrame:
    """Columns as rows, with their names under a prefix, as METRICS."""
    names = [name for name in wide.columns if name not in keys]
    pairs = [F.struct(F.lit(prefix + name).alias("metric"), F.col(f"`{name}`").cast("double").alias("value")) for name in names]
    return wide.select("run", F.inline(F.array(*pairs)))


# ---------------------------------------------------------------------------------------------------- by kind of table


def _construction(links: DataFrame, _: DataFrame) -> DataFrame:
    """How far the rings are, and since when."""

    def share(right: str, wanted: str) -> Column:
        return F.when(F.col(wanted) > 0, F.col(right) / F.col(wanted)).otherwise(1.0)

    whole = links.select(
        "run",
        "cycle",
        share("links_right", "links_wanted").alias("links"),
        share("rings_complete", "rings_wanted").alias("rings"),
    )
    ordered = Window.partitionBy("run").orderBy("cycle")
    whole = whole.withColumn("next", F.lead("cycle").over(ordered))
    since = {"complete_at": ("rings", 1.0), **_SHARES}
    return _long(
        whole.groupBy("run").agg(
            F.max("cycle").alias("cycles"),
            F.max_by("links", "cycle").alias("links_in_place"),
            F.max_by("rings", "cycle").alias("rings_complete"),
            *(_since(F.col(of) >= least).alias(name) for name, (of, least) in since.items()),
        ),
        ["run"],
    )


def _since(holds: Column) -> Column:
    """The first cycle from which on it holds to the end; null where it does not at the end."""
    failing = F.when(~holds, F.col("cycle"))
    after = F.max_by("next", failing)  # null where the last one fails: nothing is next
    return F.when(F.count(failing) == 0, F.min("cycle")).otherwise(after)


def _gossip(exchanges: DataFrame, who: DataFrame) -> DataFrame:
    """Messages and bytes of each protocol, a row and cycle."""
    cycles = exchanges.groupBy("run").agg(F.count_distinct("cycle").alias("cycles"))
    done = exchanges.groupBy("run", "protocol").agg(F.sum("messages").alias("messages"), F.sum("bytes").alias("bytes"))
    each = done.join(cycles, "run").join(who.select("run", "rows"), "run")
    rate = [
        F.struct(
            F.concat(F.lit(f"{what}_per_row_cycle."), F.col("protocol")).alias("metric"),
            (F.col(what) / (F.col("rows") * F.col("cycles"))).alias("value"),
        )
        for what in ("messages", "bytes")
    ]
    return each.select("run", F.inline(F.array(*rate)))


def _dates(spreads: DataFrame, _: DataFrame) -> DataFrame:
    """Metrics of each date at which events spread, where there is more than one."""
    dates = spreads.groupBy("run").agg(F.count_distinct("cycle").alias("dates")).where("dates > 1").select("run")
    each = dissemination(spreads.join(dates, "run"), ["run", "cycle"])
    pairs = [
        F.struct(
            F.concat_ws(".", F.lit("dissemination"), F.col("cycle"), F.lit(name)).alias("metric"),
            F.col(name).cast("double").alias("value"),
        )
        for name in each.columns[2:]
    ]
    return each.select("run", F.inline(F.array(*pairs)))


def _at_last(spreads: DataFrame) -> DataFrame:
    """Events of the last date; all of them in a run where each spreads once."""
    once = spreads.groupBy("run").agg((F.count_distinct("event") == F.count("*")).alias("once"), F.max("cycle").alias("last"))
    return spreads.join(once, "run").where("once OR cycle = last")


def _last(spreads: DataFrame, _: DataFrame) -> DataFrame:
    """Metrics of the last date."""
    return _long(dissemination(_at_last(spreads)), ["run"])


def _spread_whole() -> Column:
    """Which events reached all without repair, whose receipts have no hops."""
    return (F.col("delivered") == F.col("wanted")) & (F.col("repaired") == 0)


def _lengths(spreads: DataFrame, _: DataFrame) -> DataFrame:
    """How many want an event, and what the hops come to in long rings."""
    last, wanted = _at_last(spreads), F.col("wanted")
    real = _spread_whole() & wanted.between(*_LONG)
    folded = last.groupBy("run").agg(
        F.min("wanted").alias("ring_length.min"),
        F.max("wanted").alias("ring_length.max"),
        (F.sum("wanted") / F.count("*")).alias("ring_length.mean"),
        F.median("wanted").alias("ring_length.median"),
        (F.count_if(wanted <= _SHORT) / F.count("*")).alias("ring_length.share_of_2_and_3"),
        (F.sum(F.when(real, F.col("last_hop"))) / F.when(F.count_if(real) > 0, F.count_if(real))).alias("hops.at_128_to_255"),
        F.max(F.when(real, F.col("last_hop"))).alias("hops.max_at_128_to_255"),
    )
    return _long(folded, ["run"])


def _fit(spreads: DataFrame, _: DataFrame) -> DataFrame:
    """Least squares of the last hop over the logarithm of a ring's length, each length counting once."""
    wanted = F.col("wanted")
    last = _at_last(spreads)
    real = last.where(_spread_whole() & wanted.between(*_FIT))
    means = real.groupBy("run", "wanted").agg((F.sum("last_hop") / F.count("*")).alias("y"))
    # Every length in order, whatever partition it came from: sums are then taken alike.
    ordered = Window.partitionBy("run").orderBy("wanted").rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    points = means.withColumn("x", F.log2("wanted"))
    points = points.withColumns({"mx": F.avg("x").over(ordered), "my": F.avg("y").over(ordered)})
    x, y = F.col("x") - F.col("mx"), F.col("y") - F.col("my")
    points = points.withColumns({"xy": F.sum(x * y).over(ordered), "xx": F.sum(x * x).over(ordered)})
    folded = points.groupBy("run").agg(
        *(F.max(name).alias(name) for name in ("mx", "my", "xy", "xx")), F.count("*").alias("lengths")
    )
    slope = F.when(F.col("lengths") > 1, F.col("xy") / F.col("xx"))
    fitted = folded.select("run", (F.col("my") - slope * F.col("mx")).alias("base"), slope.alias("per_doubling"))
    whole = last.select("run").distinct().join(fitted, "run", "left")
    return _long(whole, ["run"], "hops.")


def _load(nodes: DataFrame, _: DataFrame) -> DataFrame:
    """What nodes carry, for each event they want and in all."""
    wanted = F.col("wanted")
    burdens = [
        F.struct(F.lit(f"load.{name}").alias("what"), value.alias("value"))
        for of in ("receipts", "sends")
        for name, value in (
            (of, F.when(wanted > 0, F.col(of) / F.when(wanted > 0, wanted))),
            (f"{of}_total", F.col(of).cast("double")),
        )
    ]
    every = nodes.select("run", F.inline(F.array(*burdens)))
    shape = _shape(every.where("value IS NOT NULL"))
    each = shape.select("run", "what", "mean", "gini", "p99", F.col("most").alias("max"))
    # A burden that nobody has is 0 in all.
    return _named(every.select("run", "what").distinct().join(each, ["run", "what"], "left").na.fill(0.0))


def _joins(joins: DataFrame, _: DataFrame) -> DataFrame:
    """How long joining took."""
    infinite = F.lit(float("inf"))

    def took(*done: str) -> Column:
        ended = reduce(Column.__and__, [F.col(name) != NONE for name in done])
        return F.when(ended, (F.greatest(*done) if len(done) > 1 else F.col(done[0])) - F.col("begun")).otherwise(infinite)

    ways = {"links_from": took("done_from"), "links_to": took("done_to"), "both": took("done_from", "done_to")}
    kinds = {"subscriber": {f"joins.subscriber.{way}": it for way, it in ways.items()}}
    kinds["publisher"] = {"joins.publisher": ways["links_from"]}
    each = [
        joins.where(F.col("kind") == kind).select(
            "run", F.inline(F.array(*(F.struct(F.lit(what).alias("what"), it.alias("value")) for what, it in them.items())))
        )
        for kind, them in kinds.items()
    ]
    shape = _shape(each[0].unionByName(each[1]))
    names = ("p50", "p90", "p99", "max")
    finite = [F.when(F.col(of) < infinite, F.col(of)).alias(name) for name, of in zip(names, (*names[:3], "most"), strict=True)]
    within = F.when(F.col("what") == "joins.publisher", F.col("quick")).alias("within_5")
    wide = shape.select("run", "what", F.col("size").alias("tried"), F.col("ended").alias("done"), *finite, within)
    return _named(wide).where("NOT (metric LIKE '%subscriber%.within_5')")


def _nobody(publications: DataFrame, _: DataFrame) -> DataFrame:
    """Of the publishers of events that few want: how many said nobody does."""
    few = publications.where(F.col("event") >= _FEW)
    said = F.count_if(F.col("first") == NONE)
    each = few.groupBy("run", F.concat(F.lit("nobody."), F.col("wanted")).alias("what")).agg(
        F.count("*").alias("asked"), said.alias("said_nobody"), (said / F.count("*")).alias("share")
    )
    return _named(each)


def _shape(values: DataFrame) -> DataFrame:
    """How values are spread, by run and what they are: mean, Gini coefficient, quantiles.

    Equal values are counted first, so what is put in order is only how many different ones there are.
    """
    counted = values.groupBy("run", "what", "value").agg(F.count("*").alias("n"))
    of = Window.partitionBy("run", "what")
    rising = of.orderBy("value").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    ranked = counted.withColumns({"upto": F.sum("n").over(rising), "size": F.sum("n").over(of)})
    weight = F.col("n") * (2 * F.col("upto") - F.col("n") - F.col("size"))
    sums = ranked.withColumns(
        {"total": F.sum(F.col("value") * F.col("n")).over(rising), "leaning": F.sum(F.col("value") * weight).over(rising)}
    )

    def quantile(share: float) -> Column:
        return F.min(F.when(F.col("upto") >= F.greatest(F.ceil(F.col("size") * F.lit(share)), F.lit(1)), F.col("value")))

    folded = sums.groupBy("run", "what").agg(
        F.max("size").alias("size"),
        F.max_by("total", "value").alias("total"),
        F.max_by("leaning", "value").alias("leaning"),
        *(quantile(share).alias(name) for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", _P99))),
        F.max("value").alias("most"),
        F.sum(F.when(F.col("value") < float("inf"), F.col("n")).otherwise(0)).alias("ended"),
        F.sum(F.when(F.col("value") <= _QUICK, F.col("n")).otherwise(0)).alias("soon"),
    )
    gini = F.when(F.col("total") != 0, F.col("leaning") / (F.col("size") * F.col("total"))).otherwise(0.0)
    means = {"mean": F.col("total") / F.col("size"), "gini": gini, "quick": F.col("soon") / F.col("size")}
    return folded.withColumns(means)


def _named(wide: DataFrame) -> DataFrame:
    """Columns as rows, each under what it is of, as METRICS."""
    pairs = [
        F.struct(F.concat_ws(".", F.col("what"), F.lit(name)).alias("metric"), F.col(name).cast("double").alias("value"))
        for name in wide.columns
        if name not in {"run", "what"}
    ]
    return wide.select("run", F.inline(F.array(*pairs)))


_PARTS: Final[Mapping[str, tuple[Callable[[DataFrame, DataFrame], DataFrame], ...]]] = {
    "links": (_construction,),
    "exchanges": (_gossip,),
    "spreads": (_last, _dates, _lengths, _fit),
    "nodes": (_load,),
    "joins": (_joins,),
    "publications": (_nobody,),
}
