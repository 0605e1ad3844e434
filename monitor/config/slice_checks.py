"""What a model's keys say together about its slices: segments, serving rows, references of versions."""

from monitor.config.file_places import Faults, Loc
from monitor.config.resolve_keys import classes_of, families_of, probabilities_of, words_of
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.specs.fault_words import did_you_mean, quote_names, quote_value
from monitor.specs.model_table import ChallengerTable, ModelTable, VersionReference


def segment_faults(model: ModelTable) -> Faults:
    """Columns that cannot be segments."""
    twice = sorted({name for name in model.segments if model.segments.count(name) > 1})
    if twice:
        yield ("segments",), f"every segment is named once: got {quote_names(twice)} twice"
    if model.control is not None and model.control.arm_column in model.segments:
        got = quote_value(model.control.arm_column)
        yield ("segments",), f"the arms of [models.control] are segments already: leave out {got}"


def serving_faults(model: ModelTable) -> Faults:
    """Serving rows without versions."""
    if model.serving is not None and model.predictions.version is None:
        yield (
            ("serving",),
            "rows that do not serve count for their version only: give predictions.version",
        )


def challenger_faults(model: ModelTable) -> Faults:
    """Challengers that cannot be compared with the model."""
    challenger, loc = model.challenger, ("challenger",)
    if challenger is None:
        return
    if challenger.version is not None:
        key = "prediction" if model.task == "multiclass" else "score"
        yield (*loc, "version"), f"not supported yet: give the column of the challenger's {key} as {key}"
    elif model.task == "regression":
        yield loc, "a regression model has none"
    else:
        of_task = _challengers_class if model.task == "multiclass" else _challengers_score
        yield from of_task(model, challenger)
    if model.labels is None:
        yield loc, "challengers are compared by labels: give [models.labels]"


def _challengers_class(_: ModelTable, challenger: ChallengerTable) -> Faults:
    loc = ("challenger",)
    if challenger.prediction is None:
        yield (*loc, "prediction"), "required: the column of the class that the challenger predicted"
    for key in ("score", "threshold"):
        if getattr(challenger, key) is not None:
            yield (*loc, key), "of binary models only: give the column of the predicted class as prediction"


def _challengers_score(model: ModelTable, challenger: ChallengerTable) -> Faults:
    loc, (lower, upper) = ("challenger",), model.predictions.score_range
    if challenger.prediction is not None:
        yield (*loc, "prediction"), "of multi-class models only: give the column of the score as score"
    elif model.predictions.score is None:
        yield loc, "scores are compared with the model's own: give predictions.score"
    elif challenger.score is None:
        yield (*loc, "score"), "required: the column of the challenger's score"
    at, threshold = (*loc, "threshold"), challenger.threshold
    if threshold is None:
        if model.predictions.threshold is None:
            yield at, "required where predictions have no threshold: the challenger's is positive from it on"
    elif not lower <= threshold <= upper:
        yield at, f"must lie in score_range [{lower:g}, {upper:g}]: got {threshold:g}"


def word_faults(model: ModelTable) -> Faults:
    """Words of predictions that mean no class, or two; or that nothing reads."""
    loc, names = ("classes", "names"), model.classes.names
    if not names or model.task == "regression":  # which has no classes at all
        return
    classes = classes_of(model) or tuple(probabilities_of(model))
    for name in names:
        if classes and name not in classes:
            rule = f"words are given for a class ({quote_names(classes)})"
            yield (*loc, name), f"{rule}: got {quote_value(name)}{did_you_mean(name, classes)}"
    words = [word for of_class in names.values() for word in of_class]
    twice = sorted({word for word in words if words.count(word) > 1})
    if twice:
        yield loc, f"every word means one class: got {quote_names(twice)} twice"
    columns = [model.predictions.prediction, model.challenger and model.challenger.prediction]
    only_for = model.labels and model.labels.only_for
    if not any(columns) and not only_for:
        yield (
            loc,
            "words are those of a column of predictions: give predictions.prediction, or leave them out",
        )


def only_for_faults(model: ModelTable) -> Faults:
    """Predictions that labels come for, of a model that never makes them."""
    loc, given = ("labels", "only_for"), None if model.labels is None else model.labels.only_for
    if given is None:
        return
    if model.task == "regression":
        yield loc, "a regression predicts numbers: choose the labels by labels.where"
        return
    classes = classes_of(model) or tuple(probabilities_of(model))
    known = (*classes, *words_of(model))
    strange = [name for name in given if name not in known]
    if model.predictions.prediction is None and classes and strange:
        rule = (
            f"predictions are made of scores: name classes ({quote_names(classes)}) or words of classes.names"
        )
        yield loc, f"{rule}: got {quote_names(strange)}{did_you_mean(strange[0], known)}"


def top_faults(model: ModelTable) -> Faults:
    """Shares of the highest scores that are given twice, as they would be named."""
    names = [f"{100 * share:g} %" for share in model.top_shares]
    for at, name in enumerate(names):
        if name in names[:at]:
            yield ("top_shares", at), f"every share is given once: got {name} twice"


def reference_faults(model: ModelTable) -> Faults:
    """References that are not made of exactly one thing."""
    if model.reference is None:
        return
    yield from _check_version_reference(("reference",), model.reference)
    if model.reference.season is not None and MeasureFamily.SHIFT not in families_of(model):
        yield ("reference", "season"), f"compares shift: add {quote_value('shift')} to measures"
    versions = model.reference.versions
    for name, reference in versions.items():
        yield from _check_version_reference(("reference", "versions", name), reference)
    if versions and model.predictions.version is None:
        yield ("reference", "versions"), "a reference for each version needs predictions.version"


def _check_version_reference(loc: Loc, table: VersionReference) -> Faults:
    forms = {"file": table.file, "table": table.table, "query": table.query}
    given = [name for name, value in forms.items() if value is not None]
    if table.start is not None or table.end is not None:
        given.append("from + to")
    if len(given) != 1:
        got = " and ".join(given) or "none"
        yield loc, f"give exactly one of file, table, query and from + to: got {got}"
    if table.file is not None and not table.file.endswith((".parquet", ".csv")):
        yield (*loc, "file"), f"must end in .parquet or .csv: got {quote_value(table.file)}"
    if (table.start is None) != (table.end is None):
        yield loc, f"from and to belong together: got only {'to' if table.start is None else 'from'}"
    elif table.start is not None and table.end is not None and table.start >= table.end:
        yield (*loc, "to"), "must be later than from"
