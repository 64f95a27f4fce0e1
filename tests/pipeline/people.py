"""Filters that a person could have written over real data, and who matches them by DuckDB."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb

__all__ = ["DATA", "FLIGHTS", "QUAKES", "WEEK", "duck_pairs", "flight_filters", "quake_filters", "week_filters"]

DATA = Path(__file__).resolve().parent.parent.parent.parent / "shared" / "data"
QUAKES = DATA / "earthquakes" / "usgs-m55-1965-2016.csv"
WEEK = DATA / "earthquakes" / "usgs-all-week-2018.csv"
FLIGHTS = DATA / "flights" / "flights-20k.csv"


def _joined(rng: random.Random, parts: list[str]) -> str:
    chosen = rng.sample(parts, rng.randint(1, 3))
    text = " AND ".join(chosen)
    return text if rng.random() < 0.85 else f"{text} OR {rng.choice(parts)}"


def quake_filters(count: int, seed: int) -> list[str]:
    """Of strong quakes: somewhere, at some time, of some strength."""
    rng = random.Random(seed)  # noqa: S311  (texts for tests)
    found = []
    for _ in range(count):
        lat, lon, year = rng.randint(-60, 70), rng.randint(-175, 150), rng.randint(1966, 2014)
        parts = [
            f"Magnitude >= {rng.choice([5.5, 6, 6.5, 7, 7.5, 8])}",
            f"Magnitude BETWEEN {rng.choice([5.5, 5.6, 6])} AND {rng.choice([6.1, 6.4, 7])}",
            f"Latitude BETWEEN {lat} AND {lat + rng.randint(1, 15)}",
            f"Longitude BETWEEN {lon} AND {lon + rng.randint(1, 30)}",
            f"NOT Latitude > {lat}",
            f"Date >= '{year}-0{rng.randint(1, 9)}-01'",
            f"Date BETWEEN '{year}-01-01' AND '{year + rng.randint(1, 5)}-12-31'",
            f"(Longitude > {lon + 20} OR Longitude < {-lon})",
        ]
        found.append(_joined(rng, parts))
    return found


def week_filters(count: int, seed: int) -> list[str]:
    """Of one week's quakes, with cells that are missing and long names."""
    rng = random.Random(seed)  # noqa: S311
    found = []
    for _ in range(count):
        parts = [
            f"mag > {rng.choice([0, 1, 2.5, 4.5])}",
            f"depth_km <= {rng.choice([5, 10, 33.5, 100])}",
            "mag IS NULL",
            "nst IS NOT NULL",
            f"NOT (gap > {rng.choice([90, 180])})",
            f"(dmin < {rng.choice([0.05, 0.1])} OR dmin IS NULL)",
            f"net IN ({', '.join(repr(it) for it in rng.sample(['ak', 'ci', 'nc', 'us', 'hv'], 2))})",
            f"type = '{rng.choice(['earthquake', 'quarry blast', 'explosion'])}'",
            f"type <> '{rng.choice(['earthquake', 'quarry blast'])}'",
            f"type LIKE '{rng.choice(['earth%', 'earthquak%', 'quarry bl%', 'q%'])}'",
            f"NOT type LIKE '{rng.choice(['earthquak%', 'e%'])}'",
            f"type > '{rng.choice(['earthquake', 'explosion'])}'",
            f"type BETWEEN 'earthquake' AND '{rng.choice(['earthquakes', 'explosion', 'zzz'])}'",
            "type NOT IN ('earthquake', 'explosion')",
            f"time >= '2018-02-0{rng.randint(1, 6)} 12:00:00'",
            f"sig BETWEEN {rng.randint(0, 100)} AND {rng.randint(100, 400)}",
        ]
        found.append(_joined(rng, parts))
    return found


def flight_filters(count: int, seed: int) -> list[str]:
    """Of flights: late ones, from here to there."""
    rng = random.Random(seed)  # noqa: S311
    towns = ["LAX", "SFO", "DTW", "LAS", "PHX", "OAK", "HNL", "SEA", "BOS", "DFW"]
    found = []
    for _ in range(count):
        parts = [
            f"delay_min > {rng.choice([15, 30, 60, 120])}",
            f"origin = '{rng.choice(towns)}'",
            f"destination IN ({', '.join(repr(it) for it in rng.sample(towns, 3))})",
            f"origin LIKE '{rng.choice('SLDB')}%'",
            f"NOT destination LIKE '{rng.choice('SL')}%'",
            f"distance_mi BETWEEN {rng.randint(100, 900)} AND {rng.randint(900, 2500)}",
            f"date >= '2001-0{rng.randint(1, 3)}-1{rng.randint(0, 9)}'",
            f"delay_min BETWEEN -{rng.randint(1, 20)} AND 0",
        ]
        found.append(_joined(rng, parts))
    return found


_TABLES = {
    QUAKES: "coalesce(try_strptime(Date, '%m/%d/%Y'), try_cast(Date as timestamptz)::timestamp) as Date,"
    " Latitude::double as Latitude, Longitude::double as Longitude, Magnitude::double as Magnitude",
    WEEK: "depth_km::double as depth_km, epoch_ms(time::bigint) as time, mag::double as mag, sig::int as sig, nst::int as nst,"
    " dmin::double as dmin, gap::double as gap, net, type",
    FLIGHTS: "strptime(date, '%Y/%m/%d %H:%M') as date, delay_min::int as delay_min, distance_mi::int as distance_mi,"
    " origin, destination",
}


def duck_pairs(path: Path, filters: list[str]) -> list[tuple[int, int]]:
    """Lines of the file and of the filters, both from 1 (the file's first line are names), where DuckDB says true."""
    found = []
    with duckdb.connect() as session:
        session.execute("set timezone = 'UTC'")
        session.execute("set threads = 1")
        read = f"read_csv('{path}', all_varchar = true, parallel = false)"
        session.execute(f"create table t as select row_number() over () + 1 as line, {_TABLES[path]} from {read}")  # noqa: S608
        for n, text in enumerate(filters, 1):
            lines = session.execute(f"select line from t where {text}").fetchnumpy()["line"]  # noqa: S608
            found += [(int(line), n) for line in lines]
    return sorted(found)
