"""What a model's keys say together."""

from monitor.measures.catalogue.measure import DEFAULT_FAMILIES, MeasureFamily
from monitor.records.reading import ModelTask
from monitor.specs.model_table import ModelTable
from monitor.windows.window_ends import Window, parse_window

UNBOUNDED = (float("-inf"), float("inf"))


def id_columns(configured: str | list[str]) -> tuple[str, ...]:
    """Columns of an id, in order."""
    return (configured,) if isinstance(configured, str) else tuple(configured)


def classes_of(model: ModelTable) -> tuple[str, ...]:
    """Classes that are configured: (negative, positive), or in the order of their bytes."""
    match model.task:
        case "binary":
            return (model.classes.negative, model.classes.positive)
        case "multiclass":
            named = model.classes.values or (
                model.predictions.probabilities or {} if model.reference is None else ()
            )
            return tuple(sorted(named, key=str.encode))
        case "regression":
            pass
    return ()


def words_of(model: ModelTable) -> dict[str, str]:
    """Class that each word of the predictions means, in the order of the words' bytes."""
    meant = {word: name for name, words in model.classes.names.items() for word in words}
    return dict(sorted(meant.items(), key=lambda item: item[0].encode()))


def only_for_of(model: ModelTable) -> tuple[str, ...]:
    """Predictions that labels come for, by what their words mean, each once; empty: all."""
    words, given = words_of(model), [] if model.labels is None else model.labels.only_for or []
    return tuple(sorted({words.get(name, name) for name in given}, key=str.encode))


def probabilities_of(model: ModelTable) -> dict[str, str]:
    """Column of each class's probability, in the order of the classes' bytes."""
    columns = model.predictions.probabilities or {}
    prefix = model.predictions.probabilities_prefix
    if prefix is not None:
        columns = {name: prefix + name for name in model.classes.values or ()}
    return dict(sorted(columns.items(), key=lambda item: item[0].encode()))


def windows_of(model: ModelTable) -> tuple[Window, ...]:
    """Windows of a model whose windows fit its pane."""
    return tuple(
        parse_window(table.length, model.pane, table.step, model.timezone) for table in model.windows
    )


def score_range_of(model: ModelTable) -> tuple[float, float]:
    """Range of valid scores; numbers that a regression predicts have none."""
    return UNBOUNDED if model.task == "regression" else model.predictions.score_range


def families_of(model: ModelTable) -> frozenset[MeasureFamily]:
    """Optional families of measures that a model has."""
    if model.measures is None:
        return DEFAULT_FAMILIES[ModelTask(model.task)]
    return frozenset(MeasureFamily(name) for name in model.measures)
