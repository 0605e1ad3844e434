"""How well scores serve as probabilities: formulas in `classification/calibration.py`."""

from functools import partial

from monitor.measures.catalogue.measure import (
    BINARY,
    CLASSES,
    BetterDirection,
    ChanceYardstick,
    Measure,
    MeasureFamily,
    MeasureUnit,
)

_CALIBRATION = "Cox (1958), Biometrika 45:562; Van Calster et al. (2019), BMC Medicine 17:230"
_row = partial(Measure, family=MeasureFamily.CALIBRATION, tasks=BINARY, needs_labels=True)
_error = partial(_row, tasks=CLASSES, direction=BetterDirection.LOWER, smooth=False)
_critical = partial(_row, tasks=CLASSES, yardstick=ChanceYardstick.CRITICAL)
_skill = partial(_row, family=MeasureFamily.PERFORMANCE)

CALIBRATION_ROWS = (
    _skill(
        "brier_skill_score",
        "1 - `brier_score` / (r·(1 - r)), r the share of positives: 0 is no better than always saying r. "
        "One class: `one_class`.",
        unit=MeasureUnit.PLAIN,
        direction=BetterDirection.HIGHER,
        interval="delta method on the means of loss and label",
        source="Brier (1950), Mon. Weather Rev. 78:1; Murphy (1973), J. Appl. Meteorol. 12:595",
    ),
    _row(
        "mean_predicted_probability",
        "Mean score, where scores lie in [0, 1]; each stands for the middle of its cell.",
        interval="normal",
        source="Van Calster et al. (2019), BMC Medicine 17:230",
    ),
    _row(
        "calibration_in_the_large",
        "`mean_predicted_probability` - share of positives: above 0 the model predicts too much.",
        unit=MeasureUnit.PLAIN,
        interval="normal",
        source="Van Calster et al. (2019), BMC Medicine 17:230",
    ),
    _row(
        "calibration_slope",
        "Slope b of the fit logit P(positive) = a + b·logit(score), scores clipped to [2⁻¹², 1 - 2⁻¹²]: 1 "
        "if calibrated, below 1 if scores are too extreme. Resolution: to first order. Classes that a "
        "threshold separates, one cell: `undefined`; one class: `one_class`.",
        unit=MeasureUnit.PLAIN,
        interval="normal, on the Hessian",
        source=_CALIBRATION,
    ),
    _row(
        "calibration_intercept",
        "Intercept a of the same fit: 0 if calibrated.",
        unit=MeasureUnit.PLAIN,
        interval="normal, on the Hessian",
        source=_CALIBRATION,
    ),
    _error(
        "expected_calibration_error",
        "Σ n_b/n·abs(mean score - share of positives) over 15 groups of about equally many records, equal "
        "scores together. Too large where groups are small: see "
        "`expected_calibration_error_critical`. Fewer than 150 records: `too_few`. Detail: the reliability "
        "table. Multi-class: of the largest class probability, positive where its class is the actual one.",
        interval=(
            "basic bootstrap, within [0, 1], made to hold the value; at 95 % it held the true value in 88 "
            "to 96 % of simulated samples of 200 to 10,000 records"
        ),
        source="Naeini, Cooper & Hauskrecht (2015), AAAI; Nguyen & O'Connor (2015), EMNLP",
        critical="expected_calibration_error_critical",
    ),
    _critical(
        "expected_calibration_error_critical",
        "Value that `expected_calibration_error` exceeds with probability 1 - level if the scores are "
        "calibrated: simulated.",
        source="Bröcker & Smith (2007), Weather Forecast. 22:651",
    ),
    _error(
        "maximum_calibration_error",
        "Largest abs(mean score - share of positives) of the same groups.",
        interval=(
            "basic bootstrap, within [0, 1], made to hold the value; at 95 % it held the true value in 80 "
            "to 95 % of simulated samples of 200 to 10,000 records"
        ),
        source="Naeini, Cooper & Hauskrecht (2015), AAAI",
        critical="maximum_calibration_error_critical",
    ),
    _critical(
        "maximum_calibration_error_critical",
        "Value that `maximum_calibration_error` exceeds with probability 1 - level if the scores are "
        "calibrated: simulated.",
        source="Bröcker & Smith (2007), Weather Forecast. 22:651",
    ),
    _error(
        "squared_calibration_error",
        "Σ n_b/n·((mean score - r_b)² - r_b·(1 - r_b) / (n_b - 1)) over the same groups, r_b the share of "
        "positives: free of the bias that small groups bring, and below 0 at times.",
        unit=MeasureUnit.PLAIN,
        interval="basic bootstrap, made to hold the value",
        source="Kumar, Liang & Ma (2019), NeurIPS 32, section 4.2",
    ),
)
