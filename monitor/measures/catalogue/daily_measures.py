"""Days, judged against what the weeks before lead one to expect: formulas in `evidence/`."""

from functools import partial

from monitor.measures.catalogue.measure import Measure, MeasureExposure, MeasureFamily, MeasureUnit

EVIDENCE, CHANGE, DETECTABLE = "evidence", "change", "detectable_change"
ALERTS, BUDGET = "alerts_30d", "false_alert_budget"
REMEMBERED_DAYS = 56  # that a day is judged by
FEWEST_DAYS = 14  # learned, below which nothing is judged
FEWEST_RECORDS = 20  # of a day, or labels, below which nothing is judged of them
_SHIRYAEV = "Shiryaev (1963), Theory Probab. Appl. 8:22; Shin, Ramdas & Rinaldo (2023), arXiv:2203.03532"
_UNITS = (
    "Of features, score and prediction a stability index; of classes and shares the difference; of counts "
    "the ratio less 1; of performance the difference of the measure"
)

_row = partial(
    Measure,
    family=MeasureFamily.DAILY,
    unit=MeasureUnit.PLAIN,
    whole_only=True,
    cumulative=True,
    exposed=MeasureExposure.WHOLE | MeasureExposure.FEATURES,
)

DAILY_ROWS = (
    _row(
        EVIDENCE,
        "Evidence that a subject has changed, by its days, as a share of the limit that the budget of false "
        "alerts sets: a mixture of Shiryaev-Roberts e-processes of how far each day lies from what the 56 "
        "days before lead one to expect of such a weekday. At 1 an alert fires, and evidence begins anew. "
        "Fewer than 14 days learned: `learning`.",
        source=_SHIRYAEV,
    ),
    _row(
        CHANGE,
        f"Size of the change that the evidence is of, over the days that show it most. {_UNITS}.",
        source="mean of observed less expected over 1 to 28 days",
    ),
    _row(
        DETECTABLE,
        f"Smallest change that would be found within 7 days. {_UNITS}.",
        source="evidence of 7 days reaches the limit",
    ),
    _row(
        ALERTS,
        "Changes that fired in the 30 days up to the newest day that was checked, true ones and false ones.",
        unit=MeasureUnit.RECORDS,
        exposed=MeasureExposure.WHOLE,
    ),
    _row(
        BUDGET,
        "False alerts that the model may cost in 30 days, as stated: chance alone tells no more on average.",
        unit=MeasureUnit.RECORDS,
        exposed=MeasureExposure.WHOLE,
    ),
)
DAILY = frozenset(row.name for row in DAILY_ROWS)
