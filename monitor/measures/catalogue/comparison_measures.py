"""Comparisons with another moment (`measurement_comparison.py`), of arms, of a challenger (`comparison/`)."""

from functools import partial

from monitor.measures.catalogue.measure import (
    BINARY,
    CLASSES,
    NUMBERS,
    BetterDirection,
    ChanceYardstick,
    Measure,
    MeasureFamily,
    MeasureUnit,
)

_EACH = "Multi-class: of each class against the others, subject `class:NAME`."
_NORMAL = (
    "Robbins (1970), Ann. Math. Statist. 41:1397; Johari et al. (2022), Oper. Res. 70:1806; "
    "Waudby-Smith et al. (2024), Ann. Statist. 52:2613"
)
_SHARES = "Lindon & Malek (2022), Anytime-valid inference for multinomial count data, NeurIPS 35"
_SINCE = "of all settled days since `control.since`, each entered once"
_SIGN = "SciPy `binomtest`; McNemar (1947), Psychometrika 12:153"
_RANKS = "Wilcoxon (1945), Biometrics 1:80; SciPy `wilcoxon(zero_method='wilcox', method='asymptotic')`"
CONTRIBUTION = "segment_contribution"
LOSS_BY_MIX = "log_loss_by_mix"
ENOUGH = 500  # labels of an arm, below which its mean is not taken as normal
CONCENTRATION = 10_000  # of the prior about the planned share, in records
FEW_PAIRS = 10  # differences of losses, below which the rank sum is not taken as normal

_row = partial(Measure, family=MeasureFamily.COMPARISON, tasks=CLASSES, needs_labels=True)
_outcome = partial(_row, headline=True)
_mean = partial(_row, tasks=NUMBERS, unit=MeasureUnit.LABEL)
_always_valid = partial(Measure, family=MeasureFamily.COMPARISON, headline=True, cumulative=True)
_challenger = partial(_row, of_challenger=True)
_segment = partial(Measure, family=MeasureFamily.PERFORMANCE)

SEGMENT_ROWS = (
    _segment(
        CONTRIBUTION,
        "Where `accuracy`, of numbers `mean_absolute_error`, is worse than in the reference or the earlier "
        "window (the difference's interval excludes 0): what the segment that contributes most adds to the "
        "difference, s·(m - M') - s'·(m' - M'), m its mean, s its share of the labelled records, ' of the "
        "earlier side, M the mean of all. Over the values of one column these add up to the difference. "
        "Detail: the 5 segments that contribute most. Needs `segments`.",
        unit=MeasureUnit.PLAIN,
        needs_labels=True,
    ),
    _segment(
        LOSS_BY_MIX,
        "Of scores that are probabilities: how much higher `log_loss` is expected to be than in the "
        "reference, as the records have other scores: Σ(q - p)·h, p and q the shares of the scores in the "
        "reference and now, h the mean loss that a score had there. Detail: what is left, by which labels "
        "lose more than their scores did in the reference. Scores stand for the middles of their cells. "
        "Fewer than 50 labels on either side: none.",
        tasks=BINARY,
        unit=MeasureUnit.PLAIN,
        needs_labels=True,
        interval="normal, of both sides",
    ),
)

ARM_ROWS = (
    _outcome(
        "control_outcome_rate",
        f"Share of positive labels in the control arm. {_EACH}",
        interval="Wilson",
        source="Wilson (1927), JASA 22:209",
        rate=True,
    ),
    _outcome(
        "treatment_outcome_rate",
        f"Share of positive labels in the treatment arm. {_EACH}",
        interval="Wilson",
        source="Wilson (1927), JASA 22:209",
        rate=True,
    ),
    _outcome(
        "outcome_rate_difference",
        f"Treatment's rate - control's rate. {_EACH}",
        interval="Newcombe's hybrid of Wilson intervals",
        source="Newcombe (1998), Statist. Med. 17:873, method 10",
    ),
    _outcome(
        "outcome_rate_ratio",
        f"Treatment's rate / control's rate. No positive label in the control arm: `undefined`. {_EACH}",
        unit=MeasureUnit.PLAIN,
        interval="Katz's log interval; none where an arm has no positive label",
        source="Katz et al. (1978), Biometrics 34:469; SciPy `relative_risk`",
    ),
    _mean(
        "control_outcome_mean",
        "Mean label of the control arm's records that have a prediction.",
        interval="Student's t",
        headline=True,
    ),
    _mean(
        "treatment_outcome_mean",
        "Mean label of the treatment arm's records that have a prediction.",
        interval="Student's t",
        headline=True,
    ),
    _mean(
        "outcome_mean_difference",
        "Treatment's mean - control's mean.",
        interval="Welch",
        source="Welch (1947), Biometrika 34:28",
        headline=True,
    ),
    _mean(
        "control_outcome_sd",
        "Standard deviation (n - 1) of the same labels.",
        interval="delta method, on the exact fourth moment",
    ),
    _mean(
        "treatment_outcome_sd",
        "Standard deviation (n - 1) of the same labels.",
        interval="delta method, on the exact fourth moment",
    ),
    _outcome(
        "outcome_mean_ratio",
        "Treatment's mean / control's mean, where both are positive; else `undefined`.",
        tasks=NUMBERS,
        unit=MeasureUnit.PLAIN,
        interval="normal on the logarithm (delta method)",
    ),
)

SEQUENTIAL_ROWS = (
    _outcome(
        "outcome_rate_difference_always_valid",
        f"Treatment's rate - control's rate {_SINCE}. Fewer than {ENOUGH} labels an arm: `too_few`. "
        "Multi-class: of each class against the others, subject `class:NAME`.",
        interval=(
            "normal-mixture confidence sequence: it holds the true value at all looks together; its "
            "mixture's standard deviation is `control.detect`"
        ),
        source=_NORMAL,
        cumulative=True,
    ),
    _mean(
        "outcome_mean_difference_always_valid",
        f"Treatment's mean - control's mean {_SINCE}. Fewer than {ENOUGH} labels an arm: `too_few`.",
        interval="normal-mixture confidence sequence, as for rates",
        source=_NORMAL,
        headline=True,
        cumulative=True,
    ),
    _always_valid(
        "control_p_value_always_valid",
        "1 / the most evidence that there ever was for a difference of the arms' outcomes, at most 1, by "
        "the normal-mixture sequential test, looked at after every pane: below 5 % at any of all looks with "
        "a probability of at most 5 % if they are equal. Multi-class: a test for each class, subject "
        "`class:NAME`; of 20 equal classes one is below 5 % on average.",
        source=_NORMAL,
        needs_labels=True,
        yardstick=ChanceYardstick.P_VALUE,
    ),
    _always_valid(
        "control_record_share",
        "Share of the control arm in both arms' predictions, of all days since `control.since`, each "
        "entered once.",
        interval=(
            "shares that the evidence of the sample ratio test, against each of them, does not exclude at "
            "all looks together"
        ),
        source=_SHARES,
    ),
    _always_valid(
        "sample_ratio_p_value_always_valid",
        "1 / the most evidence that there ever was, at most 1, that the share of the control arm is not "
        "`control.control_share`: the Bayes factor of a Dirichlet prior about the planned shares, worth "
        f"{CONCENTRATION:,} records. Small: the assignment to the arms, or its logging, is broken, and their "
        "outcomes do not compare.",
        source=_SHARES,
        yardstick=ChanceYardstick.P_VALUE,
    ),
)

CHALLENGER_ROWS = (
    _outcome(
        "challenger_accuracy_difference",
        "Challenger's accuracy - champion's, on the labelled records that both predicted: (c - b) / n, c "
        "the records that only the challenger predicts right, b those that only the champion does.",
        direction=BetterDirection.HIGHER,
        interval="Bonett and Price, for paired shares",
        source="Bonett & Price (2012), J. Educ. Behav. Stat. 37:479",
        of_challenger=True,
    ),
    _outcome(
        "sign_test_p_value",
        "Exact binomial (sign, McNemar) test that b and c are equally likely, two-sided. For one look, at a "
        "window that was chosen beforehand: who looks again and again reads "
        "`challenger_p_value_always_valid`.",
        source=_SIGN,
        yardstick=ChanceYardstick.P_VALUE,
        of_challenger=True,
    ),
    _challenger(
        "sign_test_p_value_one_sided",
        "The same test, one-sided: small where the challenger is better.",
        source=_SIGN,
        yardstick=ChanceYardstick.P_VALUE,
    ),
    _outcome(
        "challenger_auc_difference",
        "Challenger's `roc_auc` - champion's on the same records. Resolution: half the shares of pairs in "
        "one cell, of both.",
        tasks=BINARY,
        direction=BetterDirection.HIGHER,
        interval=(
            "normal, with DeLong's covariance of both from a joint table of at most 64 x 64 cells a class; "
            "fewer than 10 of a class: none"
        ),
        source="DeLong et al. (1988), Biometrics 44:837",
        of_challenger=True,
        percent=False,
    ),
    _challenger(
        "signed_rank_p_value",
        "Wilcoxon's signed-rank test that the differences of both log losses are symmetric about 0, "
        "two-sided, where scores lie in [0, 1]; sizes within a cell (1 % wide) are tied, equal losses are "
        f"left out. Fewer than {FEW_PAIRS} unequal ones: `too_few`. Resolution: whatever the order within "
        "the cells is.",
        tasks=BINARY,
        source=_RANKS,
        yardstick=ChanceYardstick.P_VALUE,
    ),
    _challenger(
        "challenger_log_evidence",
        "Natural logarithm of the evidence that b and c are not equally likely, of all settled days since "
        "`challenger.since`, each entered once: 2^(b + c) B(b + ½, c + ½) / B(½, ½).",
        unit=MeasureUnit.PLAIN,
        source="Lindon & Malek (2022), NeurIPS 35; Jeffreys' prior",
        cumulative=True,
    ),
    _outcome(
        "challenger_p_value_always_valid",
        "1 / the most evidence that there ever was, at most 1, looked at after every pane: below 5 % at any "
        "of all looks with a probability of at most 5 % if champion and challenger are equally good.",
        source="Lindon & Malek (2022), NeurIPS 35; Jeffreys' prior",
        yardstick=ChanceYardstick.P_VALUE,
        cumulative=True,
        of_challenger=True,
    ),
)
