"""What the highest scores hold, and are worth: formulas in `classification/gains.py`."""

from functools import partial

from monitor.measures.catalogue.measure import BINARY, BetterDirection, Measure, MeasureFamily, MeasureUnit

_BOOTSTRAP = (
    "percentile bootstrap on at most 33 merged cells, moved to the value of all cells, made to hold the value"
)
_TEXTBOOK = "Kelleher, Mac Namee & D'Arcy (2015), ch. 8"
_row = partial(Measure, family=MeasureFamily.GAINS, tasks=BINARY, needs_labels=True)
_higher = partial(_row, direction=BetterDirection.HIGHER)

GAIN_ROWS = (
    _higher(
        "precision_at_top",
        "Share of positives among the records of the highest scores: subject `top:SHARE`, of the key "
        "`top_shares` (1, 5 and 10 %). A cell across the border is split proportionally; resolution: what "
        "else may lie above it. Less than one record: `too_few`; one class: `one_class`.",
        interval=(
            f"{_BOOTSTRAP}; at 95 % it held the true value in 94 to 97 % of simulated samples with 10 "
            "records in the top or more, in 85 % with 2"
        ),
        source="precision at k",
    ),
    _higher(
        "recall_at_top",
        "Share of all positives that is among the records of the highest scores: the cumulative gain; "
        "subjects and edge cases as in `precision_at_top`.",
        interval=_BOOTSTRAP,
        source="recall at k",
    ),
    _higher(
        "gain_top_decile",
        "Share of all positives that is in the decile of the highest scores. Fewer than 10 records: "
        "`too_few`; one class: `one_class`.",
        interval=_BOOTSTRAP,
        source=_TEXTBOOK,
    ),
    _higher(
        "lift_top_decile",
        "Share of positives in the decile of the highest scores over that of all records: ten times "
        "`gain_top_decile`. Detail: records, positives, gain, cumulative gain, lift and cumulative lift of "
        "all deciles.",
        unit=MeasureUnit.PLAIN,
        interval=_BOOTSTRAP,
        source=_TEXTBOOK,
        compared=True,
    ),
    _higher(
        "best_profit",
        "Largest sum of the configured amounts that any threshold on the score, an edge of its cells, would "
        "have given on these very records: too good for a threshold that is chosen before. One class: "
        "`one_class`. Detail: the profit by threshold.",
        unit=MeasureUnit.AMOUNT,
        interval=(
            "basic bootstrap on at most 33 merged cells, moved to the value of all cells, made to hold the "
            "value"
        ),
        source=_TEXTBOOK,
        total=True,
        smooth=False,
    ),
    _row(
        "best_profit_threshold",
        "Score from which on records must be positive for `best_profit`, the highest of several. To say so "
        "of none, or of all where scores have no lower bound: `undefined`.",
        unit=MeasureUnit.PLAIN,
        source=_TEXTBOOK,
    ),
    _higher(
        "reference_threshold_profit",
        "Sum of the configured amounts if records were positive from the threshold on that would have given "
        "the largest profit on the reference: what choosing it beforehand is worth. A reference without "
        "labels: `no_reference`.",
        unit=MeasureUnit.AMOUNT,
        interval="normal",
        source=_TEXTBOOK,
        total=True,
    ),
)
