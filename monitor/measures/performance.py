"""The catalogue's rows of performance: measures that need labels."""

from monitor.measures.class_rows import CLASS_ROWS
from monitor.measures.measure import BINARY, CLASSES, NUMBERS, Direction, Family, Measure, Unit
from monitor.measures.probability_rows import PROBABILITY_ROWS
from monitor.measures.score_rows import SCORE_ROWS

PERFORMANCE: tuple[Measure, ...] = (
    *CLASS_ROWS,
    *PROBABILITY_ROWS,
    Measure(
        "roc_auc",
        Unit.RATIO,
        Direction.HIGHER,
        Family.PERFORMANCE,
        CLASSES,
        "P(score of a positive > score of a negative) + ½ P(equal), over pairs; scores in one "
        "cell count as equal. Resolution: half the share of pairs in one cell. One class: "
        "`one_class`. Multi-class: subject `class:NAME`, the probability of the class, its records "
        "against all others; of the whole model alone. No such record: `undefined`.",
        "logit-DeLong from cell counts; fewer than 10 of a class, or variance 0: Newcombe's method 5",
        "DeLong et al. (1988), Biometrics 44:837; Newcombe (2006), Statist. Med. 25:559",
        headline=True,
    ),
    Measure(
        "ks_separation",
        Unit.RATIO,
        Direction.HIGHER,
        Family.PERFORMANCE,
        BINARY,
        "Largest absolute difference between the cumulative shares of positives and of negatives, "
        "at the cells' edges: never above the value of the raw scores, and below it by at most "
        "the resolution.",
        "basic bootstrap on at most 33 merged cells, within [0, 1], made to hold the value; at "
        "95 % it held the true value in 92 % of simulated samples with 120 of a class, in 89 % with 40",
        "SciPy `ks_2samp`",
        headline=True,
        smooth=False,
    ),
    Measure(
        "brier_score",
        Unit.PLAIN,
        Direction.LOWER,
        Family.PERFORMANCE,
        CLASSES,
        "Mean of (1 - probability given to the actual class)², where scores lie in [0, 1]. "
        "Multi-class: mean of the sum over classes of (p - 1 if it is the actual class, else p)², from 0 to "
        "2.",
        "normal, on the exact second moment; none where the variance is 0",
        "scikit-learn `brier_score_loss`",
        headline=True,
    ),
    Measure(
        "log_loss",
        Unit.PLAIN,
        Direction.LOWER,
        Family.PERFORMANCE,
        CLASSES,
        "Mean of -ln(probability given to the actual class), where scores lie in [0, 1]; "
        "probabilities are clipped to [2⁻⁵², 1 - 2⁻⁵²].",
        "normal, on the exact second moment; none where the variance is 0",
        "scikit-learn `log_loss`",
        headline=True,
    ),
    Measure(
        "clipped_records",
        Unit.RECORDS,
        Direction.LOWER,
        Family.PERFORMANCE,
        CLASSES,
        "Records whose probability was clipped in `log_loss`.",
        "none",
        "",
        headline=False,
    ),
    *SCORE_ROWS,
    Measure(
        "mean_squared_error",
        Unit.LABEL_SQUARED,
        Direction.LOWER,
        Family.PERFORMANCE,
        NUMBERS,
        "Mean of (prediction - label)².",
        "normal, on the fourth moment of the error; at 95 % it held the "
        "true value in 94 % of simulated samples of 100 normal errors, in 87 % of 100 and 92 % of 400 errors "
        "with heavy tails (Student's t, 5 degrees of freedom)",
        "scikit-learn `mean_squared_error`",
        headline=False,
    ),
    Measure(
        "root_mean_squared_error",
        Unit.LABEL,
        Direction.LOWER,
        Family.PERFORMANCE,
        NUMBERS,
        "Square root of `mean_squared_error`.",
        "delta method; at 95 % it held the "
        "true value in 94 % of simulated samples of 100 normal errors, in 89 % of 100 and 92 % of 400 errors "
        "with heavy tails (Student's t, 5 degrees of freedom)",
        "scikit-learn `root_mean_squared_error`",
        headline=True,
    ),
    Measure(
        "mean_absolute_error",
        Unit.LABEL,
        Direction.LOWER,
        Family.PERFORMANCE,
        NUMBERS,
        "Mean of |prediction - label|.",
        "normal",
        "scikit-learn `mean_absolute_error`",
        headline=True,
    ),
    Measure(
        "r2_score",
        Unit.PLAIN,
        Direction.HIGHER,
        Family.PERFORMANCE,
        NUMBERS,
        "1 - Σ(prediction - label)² / Σ(label - mean label)². Labels all equal: `undefined`.",
        "delta method on the means of error², label² and label; at 95 % it held the "
        "true value in 94 % of simulated samples of 100 normal errors, in 90 % of 100 and 93 % of 400 errors "
        "with heavy tails (Student's t, 5 degrees of freedom)",
        "scikit-learn `r2_score`",
        headline=True,
    ),
)
