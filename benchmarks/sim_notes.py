"""What the page of intervals says of measures whose figures are outside."""

from collections.abc import Mapping

NOTES: Mapping[tuple[str, ...], str] = {
    ("ks_separation", "expected_calibration_error", "maximum_calibration_error"): (
        "* `ks_separation`, `expected_calibration_error`, `maximum_calibration_error`: sums and maxima of "
        "absolute values are too high in a sample, and higher still in its resamples; the intervals are too "
        "narrow. Whether there is anything at all is for their critical values to say (false alarms, "
        "above)."
    ),
    ("best_profit",): (
        "* `best_profit`: the largest of many profits is too high in a sample, and that of its resamples "
        "more so."
    ),
    ("precision_macro", "average_class_accuracy", "harmonic_class_accuracy"): (
        "* `precision_macro`, `average_class_accuracy` and the like hang on the class with the fewest "
        "records: resamples of a handful of records say little."
    ),
    ("roc_auc",): ("* `roc_auc`: with 20 records of a class DeLong's variance is a little too small."),
    ("roc_auc_macro", "roc_auc_weighted"): (
        "* `roc_auc_macro`, `roc_auc_weighted` stand on an upper bound of the variance: wider than needed."
    ),
    ("mean_squared_error", "root_mean_squared_error", "relative_squared_error", "control_outcome_sd"): (
        "* Squared errors, standard deviations: the fourth moment that the interval is made of shows in "
        "large samples alone where tails are heavy; with few such records the interval is too narrow."
    ),
    ("mean_absolute_percentage_error",): (
        "* `mean_absolute_percentage_error` is ruled by the labels near 0: trust neither it nor its "
        "interval there."
    ),
    ("error_p05", "error_p25", "error_p75", "error_p95", "median_absolute_error"): (
        "* Quantiles of errors reach to the outer edges of cells 1 % wide: with many records wider than "
        "needed."
    ),
    ("estimated_mean_absolute_error_error",): (
        "* `estimated_mean_absolute_error`, learned from 200 labels or fewer: 25 groups of eight records do "
        "not show how much their errors vary."
    ),
    ("stability_index", "chi_squared_p_value", "largest_share_distance", "total_variation_distance"): (
        "* `stability_index`, `chi_squared_p_value`, distances of many rare levels: a small reference names "
        "its most frequent levels by its own counts, those that happened to come out high, and a window "
        "ten times as large sees that. With fixed levels the same data give 4.8 %. Take a reference of more "
        "records."
    ),
}
