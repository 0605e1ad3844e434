"""Confusion counts: rates in `classification/confusion.py`, the rest in `confusion_statistics.py`."""

from functools import partial

from monitor.measures.catalogue.measure import (
    BINARY,
    CLASSES,
    BetterDirection,
    Measure,
    MeasureExposure,
    MeasureFamily,
    MeasureUnit,
)

_row = partial(Measure, family=MeasureFamily.PERFORMANCE, tasks=CLASSES, needs_labels=True)
_rate = partial(_row, interval="Wilson", rate=True)
_resampled = partial(
    _row,
    direction=BetterDirection.HIGHER,
    interval="percentile bootstrap of the confusion counts",
)
_average = partial(_resampled, family=MeasureFamily.AVERAGES)
_average_rate = partial(_rate, family=MeasureFamily.AVERAGES, direction=BetterDirection.HIGHER)

CONFUSION_ROWS = (
    _rate(
        "accuracy",
        "Share of labelled records whose predicted class is the actual one. Records of a class that the "
        "model does not know count as errors.",
        direction=BetterDirection.HIGHER,
        source="scikit-learn `accuracy_score`; Wilson (1927), JASA 22:209",
        headline=True,
        nowcast=CLASSES,
    ),
    _rate(
        "error_rate",
        "1 - `accuracy`: share of labelled records whose predicted class is not the actual one.",
        direction=BetterDirection.LOWER,
        source="scikit-learn `zero_one_loss`",
        compared=True,
        nowcast=CLASSES,
    ),
    _row(
        "majority_accuracy",
        "Share of the most frequent actual class: the accuracy of always predicting it.",
        interval="Wilson, the class taken as given",
        source="scikit-learn `DummyClassifier`",
        headline=True,
        rate=True,
    ),
    _resampled(
        "relative_accuracy",
        "`accuracy` / `majority_accuracy`; at most 1: no better than no model.",
        unit=MeasureUnit.PLAIN,
    ),
    _rate(
        "precision",
        "Of the records predicted to be of a class, the share that is. Binary: the positive class; "
        "multi-class: subject `class:NAME`. Nothing predicted so: `undefined`.",
        direction=BetterDirection.HIGHER,
        source="scikit-learn `precision_score`",
        headline=True,
        nowcast=CLASSES,
    ),
    _rate(
        "recall",
        "Of the records of a class, the share that is predicted so. Binary: the positive class (true "
        "positive rate, sensitivity); multi-class: subject `class:NAME`. No such record: `one_class` "
        "(binary) or `undefined`.",
        direction=BetterDirection.HIGHER,
        source="scikit-learn `recall_score`",
        headline=True,
        nowcast=CLASSES,
    ),
    _rate(
        "specificity",
        "Of the negative records, the share predicted negative (true negative rate). No negative: "
        "`one_class`.",
        tasks=BINARY,
        direction=BetterDirection.HIGHER,
        source="scikit-learn `recall_score(pos_label=negative)`",
        headline=True,
    ),
    _rate(
        "false_positive_rate",
        "Of the records that are not of a class, the share predicted to be of it (1 - `specificity`, where "
        "no class is unseen). Binary: the positive class; multi-class: subject `class:NAME`. No such "
        "record: `one_class` (binary) or `undefined`.",
        direction=BetterDirection.LOWER,
        source="scikit-learn `roc_curve`",
    ),
    _rate(
        "false_negative_rate",
        "1 - `recall`: of the records of a class, the share that is not predicted so. Binary: the positive "
        "class; multi-class: subject `class:NAME`. No such record: `one_class` (binary) or `undefined`.",
        direction=BetterDirection.LOWER,
        source="scikit-learn `recall_score`",
    ),
    _resampled(
        "f1",
        "Harmonic mean of precision and recall, 2·TP / (2·TP + FP + FN). Binary: the positive class; "
        "multi-class: subject `class:NAME`. No record of the class, actual or predicted: `undefined`.",
        source="scikit-learn `f1_score`",
        headline=True,
        percent=False,
        nowcast=CLASSES,
    ),
    _resampled(
        "f2",
        "`f1` with recall counting twice as much as precision, 5·TP / (5·TP + FP + 4·FN).",
        source="scikit-learn `fbeta_score(beta=2)`",
        percent=False,
    ),
    _resampled(
        "f05",
        "`f1` with recall counting half as much as precision, 1.25·TP / (1.25·TP + FP + 0.25·FN).",
        source="scikit-learn `fbeta_score(beta=0.5)`",
        percent=False,
    ),
    _average(
        "precision_macro",
        "Mean over the known classes that have labelled records of the class's precision; that of a class "
        "never predicted counts as 0. The other classes are counted in `absent_classes`.",
        source="scikit-learn `precision_score(average='macro')`",
    ),
    _average_rate(
        "precision_micro",
        "Records predicted right / records predicted to be of a known class.",
        source="scikit-learn `precision_score(average='micro')`",
    ),
    _average(
        "precision_weighted",
        "`precision_macro` with the classes weighted by their labelled records.",
        source="scikit-learn `precision_score(average='weighted')`",
    ),
    _average(
        "recall_macro",
        "`average_class_accuracy` under its other name.",
        source="scikit-learn `recall_score(average='macro')`",
        nowcast=CLASSES,
    ),
    _average_rate(
        "recall_micro",
        "Records predicted right / labelled records of a known class.",
        source="scikit-learn `recall_score(average='micro')`",
    ),
    _average_rate(
        "recall_weighted",
        "Mean of the classes' recalls weighted by their labelled records: `recall_micro` under its other "
        "name.",
        source="scikit-learn `recall_score(average='weighted')`",
    ),
    _average(
        "f1_macro",
        "Mean over the known classes that have labelled records of the class's F1.",
        source="scikit-learn `f1_score(average='macro')`",
        percent=False,
    ),
    _average(
        "f1_micro",
        "F1 of the summed counts of all known classes: 2 · records predicted right / (labelled + predicted "
        "records).",
        source="scikit-learn `f1_score(average='micro')`",
        percent=False,
    ),
    _average(
        "f1_weighted",
        "`f1_macro` with the classes weighted by their labelled records.",
        source="scikit-learn `f1_score(average='weighted')`",
        percent=False,
    ),
    _resampled(
        "matthews_corrcoef",
        "Correlation of actual and predicted class, -1 to 1; for more than two classes Gorodkin's. All "
        "records of one class, actual or predicted: `undefined`.",
        unit=MeasureUnit.PLAIN,
        source="scikit-learn `matthews_corrcoef`; Gorodkin (2004), Comput. Biol. Chem. 28:367",
    ),
    _resampled(
        "cohen_kappa_score",
        "(accuracy - a) / (1 - a), a the accuracy of random agreement, Σ actual share · predicted share. All "
        "records right and of one class: `undefined`.",
        unit=MeasureUnit.PLAIN,
        source="scikit-learn `cohen_kappa_score`; Cohen (1960), Educ. Psychol. Meas. 20:37",
        compared=True,
    ),
    _resampled(
        "average_class_accuracy",
        "Mean of the classes' recalls (balanced accuracy). Classes without a labelled record are left out "
        "and counted in `absent_classes`; so are records of classes that the model does not know.",
        source="scikit-learn `balanced_accuracy_score`",
        headline=True,
        nowcast=CLASSES,
    ),
    _resampled(
        "harmonic_class_accuracy",
        "Harmonic mean of the classes' recalls, over the same classes; 0 where a class has recall 0.",
        source=(
            "Kelleher, Mac Namee & D'Arcy (2015), Fundamentals of Machine Learning for Predictive Data "
            "Analytics, ch. 8"
        ),
        headline=True,
        nowcast=CLASSES,
    ),
    _row(
        "absent_classes",
        "Known classes without a labelled record: left out of the averages.",
        unit=MeasureUnit.PLAIN,
    ),
    _rate(
        "base_rate",
        "Share of the labelled and predicted records whose actual class is the positive one (multi-class: "
        "subject `class:NAME`).",
        source="Wilson (1927), JASA 22:209",
        headline=True,
        exposed=MeasureExposure.STRATA,
        nowcast=CLASSES,
    ),
    _rate("predicted_rate", "The same share of the predicted class.", source="Wilson (1927), JASA 22:209"),
    _resampled(
        "profit",
        "Sum over actual and predicted classes of the configured amount times the records; classes that the "
        "model does not know have the amount 0.",
        unit=MeasureUnit.AMOUNT,
        source="Kelleher, Mac Namee & D'Arcy (2015), ch. 8",
        headline=True,
        total=True,
    ),
    _resampled(
        "profit_per_record",
        "`profit` / labelled records.",
        unit=MeasureUnit.AMOUNT,
        source="Kelleher, Mac Namee & D'Arcy (2015), ch. 8",
        headline=True,
        nowcast=CLASSES,
    ),
    _row(
        "confusion_records",
        "Labelled records by actual and predicted class: subject `actual:NAME,predicted:NAME`; a class that "
        "the model does not know is `(unseen)`. Cells of known classes of a binary model are always there, "
        "others where they hold a record.",
        unit=MeasureUnit.RECORDS,
        source="scikit-learn `confusion_matrix`",
    ),
)
