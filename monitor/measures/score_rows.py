"""The catalogue's rows of a binary model's scores, beside those that are headlines."""

from monitor.measures.measure import BINARY, CLASSES, Direction, Family, Measure, Unit

_BOOTSTRAP = (
    "percentile bootstrap on at most 33 merged cells, moved to the value of all cells, made to hold the value"
)
_TEXTBOOK = "Kelleher, Mac Namee & D'Arcy (2015), ch. 8"
_CALIBRATION = "Cox (1958), Biometrika 45:562; Van Calster et al. (2019), BMC Medicine 17:230"

SCORE_ROWS: tuple[Measure, ...] = (
    Measure(
        "gini",
        Unit.PLAIN,
        Direction.HIGHER,
        Family.PERFORMANCE,
        BINARY,
        "2·`roc_auc` - 1.",
        "that of `roc_auc`",
        "Gini index of the ROC curve; Hand & Till (2001), Machine Learning 45:171",
        headline=False,
    ),
    Measure(
        "ks_separation_critical",
        Unit.RATIO,
        Direction.NONE,
        Family.PERFORMANCE,
        BINARY,
        "Value that `ks_separation` exceeds with probability 1 - level if the scores tell nothing; less "
        "often with ties or few records.",
        "none",
        "Kolmogorov's limit, SciPy `kstwobign`",
        headline=False,
    ),
    Measure(
        "ks_separation_threshold",
        Unit.PLAIN,
        Direction.NONE,
        Family.PERFORMANCE,
        BINARY,
        "Score from which on the share of positives is furthest above that of the negatives, or below: "
        "where `ks_separation` is reached, the highest of several. Resolution: the width of the cell "
        "below it. A separation of 0: `undefined`.",
        "none",
        "SciPy `ks_2samp`, `statistic_location`",
        headline=False,
    ),
    Measure(
        "average_precision",
        Unit.RATIO,
        Direction.HIGHER,
        Family.PERFORMANCE,
        BINARY,
        "Σ (recall_k - recall_(k-1))·precision_k over descending scores; scores in one cell are one "
        "step. Resolution: the most that the order within the cells can change. One class: `one_class`. "
        "Detail: the precision-recall curve.",
        "delta method on the logit scale; with fewer than 50 positives its variance is at least "
        "a·(1 - a)/positives, and at 1 the interval is Clopper & Pearson's of the positives; at 95 % it held "
        "the true value in 93 to 97 % of simulated samples with 50 positives or more, in 94 to 100 % with "
        "fewer",
        "scikit-learn `average_precision_score`; Boyd, Eng & Page (2013), ECML PKDD, LNCS 8190:451",
        headline=False,
    ),
    Measure(
        "precision_at_top",
        Unit.RATIO,
        Direction.HIGHER,
        Family.GAINS,
        BINARY,
        "Share of positives among the records of the highest scores: subject `top:SHARE`, of the key "
        "`top_shares` (1, 5 and 10 %). A cell across the border is split proportionally; resolution: what "
        "else may lie above it. Less than one record: `too_few`; one class: `one_class`.",
        _BOOTSTRAP
        + "; at 95 % it held the true value in 94 to 97 % of simulated samples with 10 records in the top or "
        "more, in 85 % with 2",
        "precision at k",
        headline=False,
    ),
    Measure(
        "recall_at_top",
        Unit.RATIO,
        Direction.HIGHER,
        Family.GAINS,
        BINARY,
        "Share of all positives that is among the records of the highest scores: the cumulative gain; "
        "subjects and edge cases as in `precision_at_top`.",
        _BOOTSTRAP,
        "recall at k",
        headline=False,
    ),
    Measure(
        "gain_top_decile",
        Unit.RATIO,
        Direction.HIGHER,
        Family.GAINS,
        BINARY,
        "Share of all positives that is in the decile of the highest scores. Fewer than 10 records: "
        "`too_few`; one class: `one_class`.",
        _BOOTSTRAP,
        _TEXTBOOK,
        headline=False,
    ),
    Measure(
        "lift_top_decile",
        Unit.PLAIN,
        Direction.HIGHER,
        Family.GAINS,
        BINARY,
        "Share of positives in the decile of the highest scores over that of all records: ten times "
        "`gain_top_decile`. Detail: records, positives, gain, cumulative gain, lift and cumulative lift "
        "of all deciles.",
        _BOOTSTRAP,
        _TEXTBOOK,
        headline=False,
    ),
    Measure(
        "best_profit",
        Unit.AMOUNT,
        Direction.HIGHER,
        Family.GAINS,
        BINARY,
        "Largest sum of the configured amounts that any threshold on the score, an edge of its cells, "
        "would have given on these very records: too good for a threshold that is chosen before. One "
        "class: `one_class`. Detail: the profit by threshold.",
        "basic bootstrap on at most 33 merged cells, moved to the value of all cells, made to hold the value",
        _TEXTBOOK,
        headline=False,
        total=True,
        smooth=False,
    ),
    Measure(
        "best_profit_threshold",
        Unit.PLAIN,
        Direction.NONE,
        Family.GAINS,
        BINARY,
        "Score from which on records must be positive for `best_profit`, the highest of several. To say "
        "so of none, or of all where scores have no lower bound: `undefined`.",
        "none",
        _TEXTBOOK,
        headline=False,
    ),
    Measure(
        "reference_threshold_profit",
        Unit.AMOUNT,
        Direction.HIGHER,
        Family.GAINS,
        BINARY,
        "Sum of the configured amounts if records were positive from the threshold on that would have given "
        "the largest profit on the reference: what choosing it beforehand is worth. A reference without "
        "labels: `no_reference`.",
        "normal",
        _TEXTBOOK,
        headline=False,
        total=True,
    ),
    Measure(
        "brier_skill_score",
        Unit.PLAIN,
        Direction.HIGHER,
        Family.PERFORMANCE,
        BINARY,
        "1 - `brier_score` / (r·(1 - r)), r the share of positives: 0 is no better than always saying "
        "r. One class: `one_class`.",
        "delta method on the means of loss and label",
        "Brier (1950), Mon. Weather Rev. 78:1; Murphy (1973), J. Appl. Meteorol. 12:595",
        headline=False,
    ),
    Measure(
        "mean_predicted_probability",
        Unit.RATIO,
        Direction.NONE,
        Family.CALIBRATION,
        BINARY,
        "Mean score, where scores lie in [0, 1]; each stands for the middle of its cell.",
        "normal",
        "Van Calster et al. (2019), BMC Medicine 17:230",
        headline=False,
    ),
    Measure(
        "calibration_in_the_large",
        Unit.PLAIN,
        Direction.NONE,
        Family.CALIBRATION,
        BINARY,
        "`mean_predicted_probability` - share of positives: above 0 the model predicts too much.",
        "normal",
        "Van Calster et al. (2019), BMC Medicine 17:230",
        headline=False,
    ),
    Measure(
        "calibration_slope",
        Unit.PLAIN,
        Direction.NONE,
        Family.CALIBRATION,
        BINARY,
        "Slope b of the fit logit P(positive) = a + b·logit(score), scores clipped to [2⁻¹², 1 - 2⁻¹²]: 1 if "
        "calibrated, below 1 if scores are too extreme. Resolution: to first order. Classes that a "
        "threshold separates, one cell: `undefined`; one class: `one_class`.",
        "normal, on the Hessian",
        _CALIBRATION,
        headline=False,
    ),
    Measure(
        "calibration_intercept",
        Unit.PLAIN,
        Direction.NONE,
        Family.CALIBRATION,
        BINARY,
        "Intercept a of the same fit: 0 if calibrated.",
        "normal, on the Hessian",
        _CALIBRATION,
        headline=False,
    ),
    Measure(
        "expected_calibration_error",
        Unit.RATIO,
        Direction.LOWER,
        Family.CALIBRATION,
        CLASSES,
        "Σ n_b/n·abs(mean score - share of positives) over 15 groups of about equally many records, "
        "equal scores together. Too large by chance where groups are small: see "
        "`expected_calibration_error_critical`. Fewer than 150 records: `too_few`. Detail: the "
        "reliability table. Multi-class: of the largest class probability, positive where its class is the "
        "actual one.",
        "basic bootstrap, within [0, 1], made to hold the value; at 95 % it held the true value in "
        "88 to 96 % of simulated samples of 200 to 10,000 records",
        "Naeini, Cooper & Hauskrecht (2015), AAAI; Nguyen & O'Connor (2015), EMNLP",
        headline=False,
        smooth=False,
    ),
    Measure(
        "expected_calibration_error_critical",
        Unit.RATIO,
        Direction.NONE,
        Family.CALIBRATION,
        CLASSES,
        "Value that `expected_calibration_error` exceeds with probability 1 - level if the scores are "
        "calibrated: simulated.",
        "none",
        "Bröcker & Smith (2007), Weather Forecast. 22:651",
        headline=False,
    ),
    Measure(
        "maximum_calibration_error",
        Unit.RATIO,
        Direction.LOWER,
        Family.CALIBRATION,
        CLASSES,
        "Largest abs(mean score - share of positives) of the same groups.",
        "basic bootstrap, within [0, 1], made to hold the value; at 95 % it held the true value in "
        "80 to 95 % of simulated samples of 200 to 10,000 records",
        "Naeini, Cooper & Hauskrecht (2015), AAAI",
        headline=False,
        smooth=False,
    ),
    Measure(
        "maximum_calibration_error_critical",
        Unit.RATIO,
        Direction.NONE,
        Family.CALIBRATION,
        CLASSES,
        "Value that `maximum_calibration_error` exceeds with probability 1 - level if the scores are "
        "calibrated: simulated.",
        "none",
        "Bröcker & Smith (2007), Weather Forecast. 22:651",
        headline=False,
    ),
    Measure(
        "squared_calibration_error",
        Unit.PLAIN,
        Direction.LOWER,
        Family.CALIBRATION,
        CLASSES,
        "Σ n_b/n·((mean score - r_b)² - r_b·(1 - r_b) / (n_b - 1)) over the same groups, r_b the share "
        "of positives: free of the bias that small groups bring, and below 0 at times.",
        "basic bootstrap, made to hold the value",
        "Kumar, Liang & Ma (2019), NeurIPS 32, section 4.2",
        headline=False,
        smooth=False,
    ),
)
