"""What keys of a model say about one another: each check a rule, each fault with its place."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from monitor.config.config_faults import ConfigFault
from monitor.config.file_places import Faults, Loc
from monitor.config.resolve_keys import classes_of, id_columns, probabilities_of
from monitor.config.rule_tables import rule_faults
from monitor.config.slice_checks import (
    challenger_faults,
    only_for_faults,
    reference_faults,
    segment_faults,
    serving_faults,
    top_faults,
    word_faults,
)
from monitor.core.clock import DAY, format_duration
from monitor.records.reading import MOST_CLASSES
from monitor.specs.fault_words import did_you_mean, quote_names, quote_value
from monitor.specs.model_table import LabelsTable, ModelTable, Predictions, WindowTable
from monitor.windows.window_ends import (
    LONGEST,
    PREVIOUS,
    count_earlier_spans,
    count_shift_weeks,
    largest_pane,
    parse_window,
)

_FOREIGN = {
    "binary": (
        ("predictions", "probabilities"),
        ("predictions", "probabilities_prefix"),
        ("classes", "values"),
    ),
    "multiclass": (("predictions", "threshold"), ("classes", "positive"), ("classes", "negative")),
    "regression": (
        ("predictions", "score"),
        ("predictions", "score_range"),
        ("predictions", "threshold"),
        ("predictions", "probabilities"),
        ("predictions", "probabilities_prefix"),
        ("classes",),
        ("profit",),
    ),
}


@dataclass(frozen=True, slots=True)
class CheckableModel:
    """A model to be checked."""

    at: int  # position in the file
    model: ModelTable
    unsound: frozenset[str | int]  # keys that have faults already: what reads them is not checked


def model_faults(models: Sequence[CheckableModel], sources: Sequence[str]) -> list[ConfigFault]:
    """Faults of all models, given the names of the sources."""
    faults = []
    for entry in models:
        of_model = [
            pair for keys, check in _CHECKS if entry.unsound.isdisjoint(keys) for pair in check(entry.model)
        ]
        if "source" not in entry.unsound and entry.model.source not in sources:
            name = entry.model.source
            others = f"the sources are {quote_names(sources)}" if sources else "there is no [sources.NAME]"
            text = f"no such source ({others}): got {quote_value(name)}{did_you_mean(name, sources)}"
            of_model.append((("source",), text))
        faults += [ConfigFault(("models", entry.at, *loc), text) for loc, text in of_model]
    return faults + _repeated_names(models) + _former_names(models)


def _repeated_names(models: Sequence[CheckableModel]) -> list[ConfigFault]:
    first: dict[str, int] = {}
    faults = []
    for entry in models:
        if "name" in entry.unsound:
            continue
        other = first.setdefault(entry.model.name, entry.at)
        if other != entry.at:
            text = f"every model has a name of its own: models[{other}] has the same"
            faults.append(ConfigFault(("models", entry.at, "name"), text))
    return faults


def _former_names(models: Sequence[CheckableModel]) -> list[ConfigFault]:
    taken = {entry.model.name: entry.at for entry in models if "name" not in entry.unsound}
    faults = []
    for entry in models:
        former = None if "formerly" in entry.unsound else entry.model.formerly
        if former is None:
            continue
        if former in taken:
            text = f"a former name is no longer in use: models[{taken[former]}] has it"
            faults.append(ConfigFault(("models", entry.at, "formerly"), text))
        taken.setdefault(former, entry.at)
    return faults


def _foreign_keys(model: ModelTable) -> Faults:
    for loc in _FOREIGN[model.task]:
        table = model if len(loc) == 1 else getattr(model, loc[0])
        if loc[-1] in table.model_fields_set and getattr(table, loc[-1]) is not None:
            yield loc, f"a {model.task} model has none"


def _check_relations(model: ModelTable) -> Faults:
    given = [model.predictions.table, model.predictions.query]
    if given.count(None) != 1:
        got = "neither" if given.count(None) == len(given) else "both"
        yield ("predictions",), f"give exactly one of table and query: got {got}"


def _label_relation(model: ModelTable) -> Faults:
    labels, loc = model.labels, ("labels",)
    if labels is None:
        return
    if labels.table is not None and labels.query is not None:
        yield loc, "give at most one of table and query: got both"
    if labels.table is not None or labels.query is not None:
        theirs, ours = id_columns(model.predictions.id), id_columns(labels.id or model.predictions.id)
        if len(ours) != len(theirs):
            rule = f"has the columns of the predictions' id, in its order (there: {quote_names(theirs)})"
            yield (*loc, "id"), f"{rule}: got {quote_names(ours)}"
        return
    if labels.where is not None:
        yield (
            (*loc, "where"),
            "labels in the prediction table have no condition of their own: give a table or query",
        )
    if labels.id is not None and labels.id != model.predictions.id:
        yield (
            (*loc, "id"),
            "labels in the prediction table have its id: give a table or query, or leave it out",
        )


def _check_partition(model: ModelTable) -> Faults:
    labels, loc = model.labels, ("labels", "partition")
    if labels is None or labels.partition is None:
        return
    if labels.table is None and labels.query is None:
        yield loc, "labels in the prediction table have its partition: give a table or query"
    elif labels.reported_at is None:
        yield loc, "it is the day of reported_at, which is not given"


def _check_units(model: ModelTable) -> Faults:
    tables: tuple[tuple[str, Predictions | LabelsTable | None], ...] = (
        ("predictions", model.predictions),
        ("labels", model.labels),
    )
    for name, table in tables:
        for role in ("event_time", "logged_at", "reported_at"):
            if getattr(table, f"{role}_unit", None) is not None and getattr(table, role) is None:
                yield (name, f"{role}_unit"), f"a unit needs its column: give {role}"


def _check_outputs(model: ModelTable) -> Faults:
    loc, columns = ("predictions",), model.predictions
    match model.task:
        case "binary" if columns.score is None and columns.prediction is None:
            yield loc, "a binary model needs score, prediction or both: got neither"
        case "multiclass" if (
            columns.prediction is None
            and columns.probabilities is None
            and columns.probabilities_prefix is None
        ):
            yield loc, "a multiclass model needs prediction, probabilities or both: got neither"
        case "regression" if columns.prediction is None:
            yield loc, "a regression model needs prediction: got none"
        case _:
            return


def _check_threshold(model: ModelTable) -> Faults:
    loc, columns = ("predictions", "threshold"), model.predictions
    if model.task != "binary" or (columns.score is None and columns.prediction is None):
        return
    lower, upper = columns.score_range
    if columns.threshold is None:
        if columns.prediction is None:
            yield (
                loc,
                "required where there is a score and no prediction: the prediction is positive from it on",
            )
    elif columns.prediction is not None:
        yield loc, "a prediction is a column or made by a threshold: got both; leave one of them out"
    elif not lower <= columns.threshold <= upper:
        yield loc, f"must lie in score_range [{lower:g}, {upper:g}]: got {columns.threshold:g}"


def _score_range(model: ModelTable) -> Faults:
    columns = model.predictions
    scored = columns.score or columns.probabilities or columns.probabilities_prefix
    if model.task != "regression" and "score_range" in columns.model_fields_set and scored is None:
        yield ("predictions", "score_range"), "a range needs its column: give score"


def _check_classes(model: ModelTable) -> Faults:
    loc: Loc = ("classes", "values")
    classes = model.classes
    if model.task == "binary" and classes.positive == classes.negative:
        yield ("classes",), f"positive and negative differ: got {quote_value(classes.positive)} for both"
    if model.task != "multiclass":
        return
    if classes.values is not None and not 2 <= len(classes.values) == len(set(classes.values)):
        yield loc, f"give at least two classes, each once: got {quote_value(classes.values)}"
    elif len(names := classes_of(model) or probabilities_of(model)) > MOST_CLASSES:
        yield (
            loc,
            f"at most {MOST_CLASSES:,} classes are measured, others count as unseen: got {len(names):,}",
        )
    elif not classes_of(model) and model.reference is None and model.predictions.probabilities_prefix is None:
        yield loc, "required without a reference and without probabilities: which classes are there?"


def _check_probabilities(model: ModelTable) -> Faults:
    columns = model.predictions
    if model.task != "multiclass":
        return
    if columns.probabilities is not None:
        yield from _named_probabilities(model, columns.probabilities)
    if columns.probabilities_prefix is None:
        return
    loc = ("predictions", "probabilities_prefix")
    if columns.probabilities is not None:
        yield loc, "give at most one of probabilities and probabilities_prefix: got both"
    elif model.classes.values is None:
        yield loc, "not supported yet without classes.values: name the classes, or give probabilities"


def _named_probabilities(model: ModelTable, columns: dict[str, str]) -> Faults:
    loc, values = ("predictions", "probabilities"), model.classes.values
    if values is not None and set(values) != set(columns):
        yield (
            loc,
            f"give a column for each of classes.values ({quote_names(values)}): got {quote_names(columns)}",
        )
    elif len(columns) < 2:
        yield loc, f"give a column for each of at least two classes: got {quote_names(columns) or 'none'}"


def _fits_days(key: str, model: ModelTable) -> Faults:
    duration = getattr(model, key)
    if DAY % duration and duration % DAY:
        yield (key,), f'must divide a day or be a multiple of one: got "{format_duration(duration)}"'


def _check_windows(model: ModelTable) -> Faults:
    seen: set[str] = set()
    if not model.windows:
        yield ("windows",), "must have at least one entry: got []"
    for at, window in enumerate(model.windows):
        if window.length in seen:
            yield (
                ("windows", at),
                f"every window has a length of its own: got {quote_value(window.length)} twice",
            )
        seen.add(window.length)
        text = _window_misfit(window, model)
        if text:
            yield ("windows", at), text


def _window_misfit(window: WindowTable, model: ModelTable) -> str:
    unit, pane, zone = window.length, model.pane, model.timezone
    if unit in LONGEST:
        if window.step is not None:
            return f"a {unit} has no step: its ends are the {unit}s' ends"
        largest = largest_pane(unit, zone)
        most, got = format_duration(largest), format_duration(pane)
        rule = f'{unit}s need a pane that divides every end of theirs in {zone}, at most "{most}"'
        return f'{rule}: got "{got}"' if largest % pane else ""
    try:
        parse_window(window.length, pane, window.step)
    except ValueError:
        step = "the default step" if window.step is None else f'step "{format_duration(window.step)}"'
        return (
            f"length and step must be multiples of the pane ({format_duration(pane)}): "
            f"got length {quote_value(window.length)}, {step}"
        )
    return ""


def _check_against(model: ModelTable) -> Faults:
    fitting = [window.length for window in model.windows if not _window_misfit(window, model)]
    for at, against in enumerate(model.against):
        if against in model.against[:at]:
            yield ("against", at), f"every entry is given once: got {quote_value(against)} twice"
        elif (
            against != PREVIOUS
            and fitting
            and not any(count_earlier_spans(window, against) for window in fitting)
        ):
            least = f"{7 * min(map(count_shift_weeks, fitting))}d"
            rule = f'must hold a window shifted back by whole weeks, at least "{least}" here'
            yield ("against", at), f"{rule}: got {quote_value(against)}"


def _check_horizon(model: ModelTable) -> Faults:
    fitting = [window for window in model.windows if not _window_misfit(window, model)]
    windows = [parse_window(window.length, model.pane, window.step, model.timezone) for window in fitting]
    longest = max((window.length for window in windows), default=0)
    settling = model.settle_after or 0
    if model.horizon < longest + settling:
        rule = f"must be at least the longest window ({format_duration(longest)})"
        rule += f" and settle_after ({format_duration(settling)}) together" if settling else ""
        yield ("horizon",), f'{rule}: got "{format_duration(model.horizon)}"'


def _check_settling(model: ModelTable) -> Faults:
    if model.labels is not None and model.labels.reported_at is None and model.settle_after is None:
        yield (
            ("settle_after",),
            "required where labels have no reported_at: from which age on are they complete?",
        )


def _check_features(model: ModelTable) -> Faults:
    features = model.features
    named = [*features.numeric, *features.categorical]
    twice = sorted({name for name in named if named.count(name) > 1})
    if twice:
        yield (
            ("features",),
            f"every feature is named once, as numeric or categorical: got {quote_names(twice)} twice",
        )
    if named and features.exclude:
        loc = ("features", "exclude")
        yield loc, "only for features that are found by themselves: leave it out, or numeric and categorical"


def _check_control(model: ModelTable) -> Faults:
    control = model.control
    if control is not None and control.control_value == control.treatment_value:
        got = quote_value(control.control_value)
        yield ("control",), f"control_value and treatment_value differ: got {got} for both"


def _check_profit(model: ModelTable) -> Faults:
    if model.profit is None or model.task == "regression":
        return
    loc, matrix = ("profit", "matrix"), model.profit.matrix
    classes = classes_of(model) or tuple(probabilities_of(model)) or tuple(matrix)
    if set(matrix) != set(classes):
        yield (
            loc,
            f"give a row for each actual class ({quote_names(classes)}): got {quote_names(matrix) or 'none'}",
        )
    for actual, row in matrix.items():
        if actual in classes and set(row) != set(classes):
            rule = f"give an amount for each predicted class ({quote_names(classes)})"
            yield (*loc, actual), f"{rule}: got {quote_names(row) or 'none'}"


_CHECKS: tuple[tuple[frozenset[str], Callable[[ModelTable], Faults]], ...] = (
    (frozenset({"every"}), partial(_fits_days, "every")),
    (frozenset({"pane"}), partial(_fits_days, "pane")),
    (frozenset({"pane", "windows", "timezone"}), _check_windows),
    (frozenset({"pane", "windows", "timezone", "against"}), _check_against),
    (frozenset({"pane", "windows", "timezone", "horizon", "settle_after"}), _check_horizon),
    (frozenset({"labels", "settle_after"}), _check_settling),
    (frozenset({"task", "predictions", "classes", "profit"}), _foreign_keys),
    (frozenset({"predictions"}), _check_relations),
    (frozenset({"task", "predictions"}), _check_outputs),
    (frozenset({"task", "predictions"}), _check_threshold),
    (frozenset({"task", "predictions"}), _score_range),
    (frozenset({"task", "predictions", "classes"}), _check_probabilities),
    (frozenset({"predictions", "labels"}), _label_relation),
    (frozenset({"predictions", "labels"}), _check_units),
    (frozenset({"labels"}), _check_partition),
    (frozenset({"task", "predictions", "classes", "reference"}), _check_classes),
    (frozenset({"task", "measures", "predictions", "reference"}), reference_faults),
    (frozenset({"segments", "control"}), segment_faults),
    (frozenset({"predictions", "serving"}), serving_faults),
    (frozenset({"task", "predictions", "labels", "challenger"}), challenger_faults),
    (frozenset({"task", "predictions", "labels", "classes", "challenger"}), word_faults),
    (frozenset({"task", "predictions", "labels", "classes"}), only_for_faults),
    (frozenset({"features"}), _check_features),
    (frozenset({"control"}), _check_control),
    (frozenset({"top_shares"}), top_faults),
    (
        frozenset({"task", "windows", "labels", "segments", "control", "against", "alerts"})
        | {"predictions", "reference"},
        rule_faults,
    ),
    (frozenset({"task", "predictions", "classes", "reference", "profit"}), _check_profit),
)
