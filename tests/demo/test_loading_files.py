from pyarrow import parquet

from monitor.demo import load_flights


def test_the_bundled_flights_are_complete() -> None:
    rows = {
        name: parquet.read_metadata(load_flights.flights_directory() / f"{name}.parquet").num_rows
        for name in ("predictions", "labels", "reference")
    }

    assert rows == {"predictions": 171_122, "labels": 167_388, "reference": 31_142}
