"""What several models share is said once by the fleet's page, by `status` and by its JSON, and they agree."""

import json
from pathlib import Path

from looked_at import looking
from serving import model, predictions, sqlite_bench

from monitor.core.clock import from_iso, to_iso

START, END = from_iso("2024-03-01"), from_iso("2024-03-03")
OPTIONS = 'every = "1d"\nwindows = ["1d"]\nhorizon = "4d"\nsettle_after = "1d"\nresamples = 20'
RULE = '\n[[models.alerts]]\nname = "busy"\nmeasure = "records"\nabove = 10\nseverity = "critical"\n'
HEADLINE = "Records are above your limit since 2 Mar: 50 a day, limit 10 (rule busy)"
SENTENCE = (
    f"{HEADLINE}. The same in 2 models: late and other. What that costs is not known yet: too few labels "
    "have come. Next: check what they share."
)
FEW = f"{HEADLINE}, as in 1 other model."


def test_what_happened_to_the_records_of_two_models_is_one_sentence(tmp_path: Path) -> None:
    models = [model(name, options=OPTIONS) + RULE for name in ("late", "other")]
    bench = sqlite_bench(tmp_path, predictions(100, START, END), *models)
    bench.cycle(END)

    plain = json.loads(bench.monitor("status", "--format", "json", "--as-of", to_iso(END)).stdout)
    status = bench.monitor("status", "--as-of", to_iso(END)).stdout
    with looking(bench, END) as pages:
        fleet, of_one = pages.at("/").words, pages.at("/models/late").words

    assert {one["model"]: one["incidents"][0]["shared_with"] for one in plain} == {
        "late": ["other"],
        "other": ["late"],
    }
    told = " ".join(status.split())
    assert (told.count(SENTENCE), told.count(FEW)) == (1, 2)
    assert fleet.count("2 models · probably one cause") == 1
    assert HEADLINE in of_one
