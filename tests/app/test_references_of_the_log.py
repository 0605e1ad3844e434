"""A reference that is a range of the log, and columns that the log has not."""

from pathlib import Path

from serving import model, predictions, sqlite_bench

from monitor.core.clock import from_iso

START, END = from_iso("2024-03-01"), from_iso("2024-03-03")
LATE = model(options='every = "1h"\nwindows = ["1d"]\nsettle_after = "1d"\nsegments = ["grupe"]\n').replace(
    'table = "reference"', 'from = "2024-03-01"\nto = "2024-03-02"'
)
SAID = (
    "the reference from 2024-03-01T00:00:00Z to 2024-03-02T00:00:00Z "
    'has no column "grupe" (segment); did you mean "group"?'
)


def test_a_segment_that_the_range_of_the_log_has_not_is_named(tmp_path: Path) -> None:
    bench = sqlite_bench(tmp_path, predictions(100, START, END), LATE, labelled=END)

    cycled = bench.monitor("cycle", "--as-of", "2024-03-03")
    checked = bench.monitor("check")

    assert (cycled.exit_code, cycled.stderr) == (
        1,
        f'monitor: model "late" as of 2024-03-03T00:00:00Z: {SAID}\n',
    )
    warned = 'model "late": table "predictions" has no column "grupe" (segment); did you mean "group"?'
    assert (checked.exit_code, checked.stderr) == (2, f'warning: {warned}\nmodel "late": {SAID}\n')
