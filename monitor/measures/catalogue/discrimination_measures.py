"""How well scores tell classes apart: `discrimination.py`, `multiclass_scores.py` in `classification/`."""

from functools import partial

from monitor.measures.catalogue.measure import (
    BINARY,
    CLASSES,
    MANY_CLASSES,
    BetterDirection,
    ChanceYardstick,
    Measure,
    MeasureFamily,
    MeasureUnit,
)

_INTERVAL = (
    "delta method on the logit scale, on DeLong's variances of the classes: those of the positives added, "
    "those of the negatives as if they were correlated fully, which is an upper bound; at 95 % it held the "
    "true value in 97 to 100 % of simulated samples, and was 1.2 to 3 times as wide as needed"
)
_row = partial(Measure, family=MeasureFamily.PERFORMANCE, tasks=BINARY, needs_labels=True)
_higher = partial(_row, direction=BetterDirection.HIGHER)

DISCRIMINATION_ROWS = (
    _higher(
        "roc_auc_macro",
        "Mean of the classes' one-vs-rest `roc_auc`. Classes without a labelled record are left out and "
        "counted in `absent_classes`. One class: `one_class`.",
        tasks=MANY_CLASSES,
        interval=_INTERVAL,
        source="scikit-learn `roc_auc_score(multi_class='ovr', average='macro')`",
        headline=True,
        percent=False,
    ),
    _higher(
        "roc_auc_weighted",
        "The same mean, each class weighted by its labelled records.",
        tasks=MANY_CLASSES,
        interval=_INTERVAL,
        source="scikit-learn `roc_auc_score(multi_class='ovr', average='weighted')`",
        headline=True,
        percent=False,
    ),
    _row(
        "unusable_probabilities",
        "Labelled records that are left out of all measures of the class probabilities: one is missing, or "
        "outside of [0, 1]; they do not add up to 1 within 0.01; or the actual class has none. Those that "
        "are used are taken as they are, not scaled to 1.",
        tasks=MANY_CLASSES,
        unit=MeasureUnit.RECORDS,
        direction=BetterDirection.LOWER,
        headline=True,
    ),
    _higher(
        "roc_auc",
        "P(score of a positive > score of a negative) + ½ P(equal), over pairs; scores in one cell count as "
        "equal. Resolution: half the share of pairs in one cell. One class: `one_class`. Multi-class: "
        "subject `class:NAME`, the probability of the class, its records against all others; of the whole "
        "model alone. No such record: `undefined`.",
        tasks=CLASSES,
        interval=(
            "logit-DeLong from cell counts; fewer than 10 of a class, or variance 0: Newcombe's method 5"
        ),
        source="DeLong et al. (1988), Biometrics 44:837; Newcombe (2006), Statist. Med. 25:559",
        headline=True,
        percent=False,
        nowcast=BINARY,
    ),
    _higher(
        "ks_separation",
        "Largest absolute difference between the cumulative shares of positives and of negatives, at the "
        "cells' edges: never above the value of the raw scores, and below it by at most the resolution.",
        interval=(
            "basic bootstrap on at most 33 merged cells, within [0, 1], made to hold the value; at 95 % it "
            "held the true value in 92 % of simulated samples with 120 of a class, in 89 % with 40"
        ),
        source="SciPy `ks_2samp`",
        headline=True,
        critical="ks_separation_critical",
        smooth=False,
        percent=False,
    ),
    _row(
        "brier_score",
        "Mean of (1 - probability given to the actual class)², where scores lie in [0, 1]. Multi-class: "
        "mean of the sum over classes of (p - 1 if it is the actual class, else p)², from 0 to 2.",
        tasks=CLASSES,
        unit=MeasureUnit.PLAIN,
        direction=BetterDirection.LOWER,
        interval="normal, on the exact second moment; none where the variance is 0",
        source="scikit-learn `brier_score_loss`",
        headline=True,
        nowcast=CLASSES,
    ),
    _row(
        "log_loss",
        "Mean of -ln(probability given to the actual class), where scores lie in [0, 1]; probabilities are "
        "clipped to [2⁻⁵², 1 - 2⁻⁵²].",
        tasks=CLASSES,
        unit=MeasureUnit.PLAIN,
        direction=BetterDirection.LOWER,
        interval="normal, on the exact second moment; none where the variance is 0",
        source="scikit-learn `log_loss`",
        headline=True,
        nowcast=CLASSES,
    ),
    _row(
        "clipped_records",
        "Records whose probability was clipped in `log_loss`.",
        tasks=CLASSES,
        unit=MeasureUnit.RECORDS,
        direction=BetterDirection.LOWER,
    ),
    _higher(
        "gini",
        "2·`roc_auc` - 1.",
        unit=MeasureUnit.PLAIN,
        interval="that of `roc_auc`",
        source="Gini index of the ROC curve; Hand & Till (2001), Machine Learning 45:171",
        compared=True,
        nowcast=BINARY,
    ),
    _row(
        "ks_separation_critical",
        "Value that `ks_separation` exceeds with probability 1 - level if the scores tell nothing; less "
        "often with ties or few records.",
        source="Kolmogorov's limit, SciPy `kstwobign`",
        yardstick=ChanceYardstick.CRITICAL,
        percent=False,
    ),
    _row(
        "ks_separation_threshold",
        "Score from which on the share of positives is furthest above that of the negatives, or below: "
        "where `ks_separation` is reached, the highest of several. Resolution: the width of the cell below "
        "it. A separation of 0: `undefined`.",
        unit=MeasureUnit.PLAIN,
        source="SciPy `ks_2samp`, `statistic_location`",
    ),
    _higher(
        "average_precision",
        "Σ (recall_k - recall_(k-1))·precision_k over descending scores; scores in one cell are one step. "
        "Resolution: the most that the order within the cells can change. One class: `one_class`. Detail: "
        "the precision-recall curve.",
        interval=(
            "delta method on the logit scale; with fewer than 50 positives its variance is at least a·(1 - "
            "a)/positives, and at 1 the interval is Clopper & Pearson's of the positives; at 95 % it held "
            "the true value in 93 to 97 % of simulated samples with 50 positives or more, in 94 to 100 % "
            "with fewer"
        ),
        source="scikit-learn `average_precision_score`; Boyd, Eng & Page (2013), ECML PKDD, LNCS 8190:451",
    ),
)
