"""Write the flights of the demo into a bucket as Delta tables, a version a day: scores and outcomes."""

import os
import sys

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs as pafs

from monitor.demo.load_flights import flights_directory

TABLES = {"scores": ("predictions", "event_time"), "outcomes": ("labels", "reported_at")}


def main(endpoint: str, last: str = "2013-04-10") -> None:
    """Fill the bucket `lake` of a service; what is there already is left as it is."""
    key, secret = os.environ["LAKE_ACCESS_KEY"], os.environ["LAKE_SECRET_KEY"]
    scheme, _, host = endpoint.partition("://")
    files = pafs.S3FileSystem(
        access_key=key,
        secret_key=secret,
        endpoint_override=host,
        scheme=scheme,
        region="us-east-1",
        allow_bucket_creation=True,
    )
    files.create_dir("lake")
    options = {
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }
    for name, (file, by) in TABLES.items():
        if files.get_file_info(f"lake/ml/{name}/_delta_log").type is pafs.FileType.Directory:
            continue
        rows = pq.read_table(flights_directory() / f"{file}.parquet")
        days = pc.strftime(rows[by].cast(pa.timestamp("us")), "%Y-%m-%d")
        for day in sorted(one for one in set(days.to_pylist()) if one < last):
            part = rows.filter(pc.equal(days, day))
            deltalake.write_deltalake(f"s3://lake/ml/{name}", part, mode="append", storage_options=options)


if __name__ == "__main__":
    main(*sys.argv[1:])
