"""Which rules can never be judged, as a model is configured: why, and what would help."""

from collections.abc import Iterator

from monitor.alerts.alert_rules import EVERY, JudgedBound, Rule
from monitor.core.clock import DAY
from monitor.measures.catalogue import BY_NAME, CATALOGUE
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.catalogue.measure import WITH_REFERENCE, MeasureFamily, MeasureUnit
from monitor.measures.measure_options import FEATURE, LABEL
from monitor.measures.measurement_comparison import REFERENCE
from monitor.records.reading import ModelTask
from monitor.specs.model_spec import ModelSpec
from monitor.windows.window_ends import volume_reach

_LEARNED = 14  # days: see `windows.days`, which counts
_OF_LABELS = ("", "label", "labels")


def never_judged(model: ModelSpec) -> Iterator[tuple[str, str]]:
    """Names of the rules that no measurement can ever decide, each with the reason and what helps."""
    for rule in model.rules:
        reason = next(filter(None, (check(model, rule) for check in _CHECKS)), "")
        if reason:
            yield rule.name, reason


def _lacks_interval(_: ModelSpec, rule: Rule) -> str:
    if BY_NAME[rule.measure].has_interval or rule.condition.bound is JudgedBound.POINT:
        return ""
    return f'"{rule.measure}" has no interval: leave bound out'


def _lacks_volume(model: ModelSpec, rule: Rule) -> str:
    window = next((window for window in model.windows if window.name == rule.window), None)
    if rule.measure != "volume_ratio" or window is None:
        return ""
    weeks = 1 if rule.condition.bound is JudgedBound.POINT else 2  # there is an interval from two on
    needed = volume_reach(window.length, weeks) + model.ready_after
    if needed <= model.reading.horizon:
        return ""
    days = -(-needed // DAY)
    return f'the earlier weeks lie beyond the horizon: take a shorter window, or horizon = "{days}d"'


def _lacks_evidence(model: ModelSpec, rule: Rule) -> str:
    """A day of labels must lie within the horizon when it is due, and so must those that tell its age."""
    if rule.measure != EVIDENCE or rule.subject not in _OF_LABELS:
        return ""
    if model.labels is None:
        return "performance is measured by labels: give [models.labels]"
    learned = model.keys.settle_after is None
    age = 0 if model.keys.settle_after is None else -(-model.keys.settle_after // DAY) * DAY
    due = -(-(age + model.ready_after) // model.keys.every) * model.keys.every
    needed = due + DAY + (_LEARNED * DAY if learned else 0)
    if needed <= model.reading.horizon:
        return ""
    longer = f'take horizon = "{-(-needed // DAY)}d"'
    if learned:
        return f"14 days must lie within the horizon to tell at which age labels are taken: {longer}"
    return f"a day of labels is judged at the age settle_after, beyond the horizon: {longer}"


def _lacks_reference(model: ModelSpec, rule: Rule) -> str:
    family = BY_NAME[rule.measure].family
    column = rule.segment.partition("=")[0]
    compared = rule.against == REFERENCE or (rule.against == "" and family in WITH_REFERENCE)
    if model.reference is None:
        if column in model.reading.segments or compared or rule.subject.startswith(FEATURE):
            return "there is nothing to compare with: give [models.reference]"
        return ""
    if rule.against == REFERENCE and family is not MeasureFamily.QUALITY and model.reference.versions:
        return (
            "what references of versions together lead one to expect of performance is not known: "
            'write it with a number as limit, or against = "28d"'
        )
    return ""


def _lacks_labels(model: ModelSpec, rule: Rule) -> str:
    family = BY_NAME[rule.measure].family
    if rule.subject == LABEL and family is not MeasureFamily.SHIFT:
        return "of labels the stability index and its like are measured"
    if rule.subject == LABEL and rule.truth != "settled":
        return f'the shift of labels is measured once they are settled: leave truth = "{rule.truth}" out'
    if rule.truth == "nowcast":
        names = [measure.name for measure in CATALOGUE if model.reading.task in measure.nowcast]
        if rule.measure not in names or rule.version or rule.segment:
            return (
                f"the whole model alone has nowcasts, of {', '.join(sorted(names))}: "
                'take one of these, or truth = "settled"'
            )
    if family is MeasureFamily.ESTIMATE and model.labels is None:
        return "estimates are of what labels will say: give [models.labels]"
    return ""


def _lacks_times(model: ModelSpec, rule: Rule) -> str:
    role = BY_NAME[rule.measure].needs_time
    table, relation = (
        ("labels", model.labels) if role == "reported_at" else ("predictions", model.predictions)
    )
    if not role or (relation is not None and relation.column_of(role) is not None):
        return ""
    return f"nothing says when: give {table}.{role}"


def _lacks_arms(model: ModelSpec, rule: Rule) -> str:
    measure = BY_NAME[rule.measure]
    if measure.of_challenger:
        return (
            "" if model.reading.challenger is not None else "there is no challenger: give [models.challenger]"
        )
    if measure.family is not MeasureFamily.COMPARISON:
        return ""
    if model.reading.arms is None:
        return "there are no arms: give [models.control]"
    if measure.needs_labels:
        return _lacks_outcomes(model, rule)
    return "" if model.control_share is not None else "give control.control_share, the planned one"


def _lacks_outcomes(model: ModelSpec, rule: Rule) -> str:
    """Of several classes each is an outcome of its own."""
    reading = model.reading
    several = reading.task is ModelTask.MULTICLASS and len(reading.classes) != 2
    if several and not rule.subject:
        return 'of several classes each is compared: give subject = "class:*"'
    if rule.subject and not several:
        return "there is one comparison of the arms: leave subject out"
    if BY_NAME[rule.measure].cumulative and model.detect is None:
        return "give control.detect, the difference that matters"
    return ""


def _lacks_profit(model: ModelSpec, rule: Rule) -> str:
    lacks = BY_NAME[rule.measure].unit is MeasureUnit.AMOUNT and not model.profit
    return "nothing says what a record is worth: give [models.profit]" if lacks else ""


def _lacks_subject(model: ModelSpec, rule: Rule) -> str:
    reading, subject = model.reading, rule.subject
    if subject == "score" and not reading.has_score:
        return "the model has no score"
    if model.find_features or not subject.startswith(FEATURE):
        return ""
    names = {*reading.numeric, *reading.categorical}
    if rule.measure == "unseen_rate":
        names = set(reading.categorical)
    asked = subject.removeprefix(FEATURE)
    if asked in names or (asked.endswith(EVERY) and names):
        return ""
    return f'there is no such feature: got "{subject}"'


_CHECKS = (
    _lacks_interval,
    _lacks_volume,
    _lacks_evidence,
    _lacks_reference,
    _lacks_labels,
    _lacks_times,
    _lacks_arms,
    _lacks_profit,
    _lacks_subject,
)
