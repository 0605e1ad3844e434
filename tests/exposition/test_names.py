from collections import Counter

from monitor.exposition.metric_names import family_help, family_name
from monitor.exposition.metrics_page import metric_families
from monitor.measures.catalogue import BY_NAME, CATALOGUE
from monitor.measures.catalogue.measure import MeasureUnit


def test_names_bear_their_unit_once() -> None:
    assert family_name(BY_NAME["roc_auc"]) == "model_monitor_roc_auc_ratio"
    assert family_name(BY_NAME["labelled_records"]) == "model_monitor_labelled_records"
    assert family_name(BY_NAME["label_delay_median"]) == "model_monitor_label_delay_median_seconds"
    assert family_name(BY_NAME["stability_index"]) == "model_monitor_stability_index"


def test_no_two_families_share_a_name() -> None:
    counted = Counter(family.name for family in metric_families())

    assert max(counted.values()) == 1


def test_help_is_one_line_without_what_the_two_formats_escape_differently() -> None:
    for measure in CATALOGUE:
        text = family_help(measure)
        assert not set(text) & set('\n"\\')
        assert text.endswith(".")


def test_help_of_a_ratio_says_its_range() -> None:
    assert {measure.unit for measure in CATALOGUE} >= {MeasureUnit.RATIO, MeasureUnit.SECONDS}
    assert family_help(BY_NAME["accuracy"]).endswith("; 0 to 1.")
    assert family_help(BY_NAME["accuracy"], "lower").startswith("Lower bound of the interval: ")
