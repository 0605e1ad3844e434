"""The catalogue's rows of class probabilities: multi-class models that log one a class."""

from monitor.measures.measure import MANY_CLASSES, Direction, Family, Measure, Unit

_INTERVAL = (
    "delta method on the logit scale, on DeLong's variances of the classes: those of the positives added, "
    "those of the negatives as if they were correlated fully, which is an upper bound; at 95 % it held the "
    "true value in 97 to 100 % of simulated samples, and was 1.2 to 3 times as wide as needed"
)

PROBABILITY_ROWS: tuple[Measure, ...] = (
    Measure(
        "roc_auc_macro",
        Unit.RATIO,
        Direction.HIGHER,
        Family.PERFORMANCE,
        MANY_CLASSES,
        "Mean of the classes' one-vs-rest `roc_auc`. Classes without a labelled record are left out and "
        "counted in `absent_classes`. One class: `one_class`.",
        _INTERVAL,
        "scikit-learn `roc_auc_score(multi_class='ovr', average='macro')`",
        headline=True,
    ),
    Measure(
        "roc_auc_weighted",
        Unit.RATIO,
        Direction.HIGHER,
        Family.PERFORMANCE,
        MANY_CLASSES,
        "The same mean, each class weighted by its labelled records.",
        _INTERVAL,
        "scikit-learn `roc_auc_score(multi_class='ovr', average='weighted')`",
        headline=True,
    ),
    Measure(
        "unusable_probabilities",
        Unit.RECORDS,
        Direction.LOWER,
        Family.PERFORMANCE,
        MANY_CLASSES,
        "Labelled records that are left out of all measures of the class probabilities: one is missing, or "
        "outside of [0, 1]; they do not add up to 1 within 0.01; or the actual class has none. Those "
        "that are used are taken as they are, not scaled to 1.",
        "none",
        "",
        headline=True,
    ),
)
