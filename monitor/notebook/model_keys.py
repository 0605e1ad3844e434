"""What is said of a model in a call: the keys of `[[models]]` by their own names, without its tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from monitor.config.config_loading import model_of
from monitor.config.file_places import Loc
from monitor.core.errors import ConfigurationError
from monitor.measures.catalogue import BY_NAME
from monitor.measures.measure_options import FEATURE
from monitor.show.measurement_tables import ALIASES
from monitor.specs.fault_words import did_you_mean, quote_names
from monitor.specs.model_spec import ModelSpec

Scalar: TypeAlias = str | int | float | bool


class ModelKeys(TypedDict, total=False):
    """Keys of a model, as `config.example.toml` explains them.

    `positive`, `negative`, `classes` and `names` are those of `[models.classes]`, `numeric`, `categorical`
    and `exclude` those of `[models.features]`, `profit` is the matrix.
    """

    score: str
    score_range: Sequence[float]
    threshold: float
    prediction: str
    probabilities: Mapping[str, str]
    label: str
    id: str | Sequence[str]
    event_time: str
    event_time_unit: Literal["s", "ms", "us"]
    logged_at: str
    reported_at: str
    revision: str
    version: str
    positive: Scalar
    negative: Scalar
    classes: Sequence[Scalar]
    names: Mapping[str, Sequence[Scalar]]
    only_for: Sequence[Scalar]
    numeric: Sequence[str]
    categorical: Sequence[str]
    exclude: Sequence[str]
    segments: Sequence[str]
    profit: Mapping[str, Mapping[str, float]]
    control: Mapping[str, Any]
    challenger: Mapping[str, Any]
    serving: Mapping[str, Any]
    measures: Sequence[str]
    level: float
    rate_interval: Literal["wilson", "clopper-pearson"]
    dependence: Literal["none", "day"]
    resamples: int
    resample_segments: bool
    top_shares: Sequence[float]
    timezone: str
    pane: str


_TABLES = {
    "predictions": (
        "id", "event_time", "event_time_unit", "logged_at", "score", "score_range", "prediction", "threshold",
        "probabilities", "version",
    ),
    "labels": ("label", "reported_at", "revision", "only_for"),
    "classes": ("positive", "negative", "classes", "names"),
    "features": ("numeric", "categorical", "exclude"),
    "profit": ("profit",),
}  # fmt: skip
_INSIDE = {"classes": "values", "profit": "matrix"}  # keys that the file calls otherwise
_TABLE_OF = {key: table for table, keys in _TABLES.items() for key in keys}
_MAPPINGS = {  # keys that are a dictionary, and what it looks like
    "probabilities": '{"cat": "p_cat", …}', "names": '{"paid": ["approve"], …}',
    "profit": '{"1": {"1": 10, "0": 0}, …}', "control": "of its keys", "challenger": '{"score": "rival"}',
    "serving": "of its keys",
}  # fmt: skip
_LEVEL = "level=0.9 sets how sure intervals are, resamples=50 makes those of a bootstrap cheaper"
_INSTEAD = {
    "intervals": f"values always come with their intervals; {_LEVEL}",
    **dict.fromkeys(("confidence", "confidence_level", "alpha"), _LEVEL),
}
_TASKS = ("binary", "multiclass", "regression")
ANY = "1d"  # a window, in whose place the one of all rows is put
NO_ID, NO_TIME = "row number", "no time"  # columns of frames that have none


def infer_task(task: str | None, keys: Mapping[str, Any]) -> str:
    """Task of a model: as given, or by what comes out of it.

    Raises
    ------
    ConfigurationError
        if that does not tell.
    """
    if task is not None:
        return task
    if keys.get("probabilities") is not None:
        return "multiclass"
    if keys.get("score") is not None:
        return "binary"
    raise ConfigurationError(
        [f"task: required where there is neither score nor probabilities: {quote_names(_TASKS)}"]
    )


def make_frame_spec(task: str, keys: Mapping[str, Any], *, apart: bool, compared: bool) -> ModelSpec:
    """Specification of a model of the keys of a call.

    Parameters
    ----------
    apart
        whether labels have a frame of their own.
    compared
        whether there is a reference.

    Raises
    ------
    ConfigurationError
        with every fault.
    """
    given = _require_given_keys(keys, apart=apart)
    table: dict[str, Any] = {"name": "frame", "task": task, "windows": [ANY]}
    table["predictions"] = {"table": "predictions", "id": NO_ID, "event_time": NO_TIME}
    for key, value in given.items():
        where = table if key not in _TABLE_OF else table.setdefault(_TABLE_OF[key], {})
        where[_INSIDE.get(key, key)] = value
    if "labels" in table and apart:
        table["labels"] |= {"table": "labels"}
    if "labels" in table and "reported_at" not in given:
        table["settle_after"] = "0s"
    if compared:
        table["reference"] = {"table": "reference"}
    return model_of(table, _key_name)


def _require_given_keys(keys: Mapping[str, Any], *, apart: bool) -> dict[str, Any]:
    """Keys that were given, as a file would hold them; refused are those that it has no place for."""
    if unknown := [key for key in keys if key not in ModelKeys.__annotations__]:
        known, key = list(ModelKeys.__annotations__), unknown[0]
        near = did_you_mean(key, known) or f"; {_INSTEAD.get(key) or f'there are {quote_names(known)}'}"
        raise ConfigurationError([f"{key}: unknown{near}"])
    given = {key: _plain_value(value) for key, value in keys.items() if value is not None}
    if apart and ("id" not in given or "label" not in given):
        lacks = "id" if "id" not in given else "label"
        order = "; labels in the order of the predictions are a column of theirs" if lacks == "id" else ""
        raise ConfigurationError([f"{lacks}: required where labels have a frame of their own{order}"])
    if "reported_at" in given and "event_time" not in given:
        raise ConfigurationError(["event_time: required where there is reported_at: delays begin at it"])
    for key, value in given.items():
        if key in _MAPPINGS and not isinstance(value, Mapping):
            raise ConfigurationError(
                [f"{key}: must be a dictionary, {_MAPPINGS[key]}: got {type(value).__name__}"]
            )
    return given


def require_measure(name: str) -> None:
    """Refuse what is no measure, with the one that was probably meant."""
    if name not in BY_NAME:
        meant = did_you_mean(ALIASES.get(name.lower(), name), BY_NAME)
        raise ConfigurationError([f'there is no measure "{name}"{meant}'])


def require_known(what: str, given: str, there: Iterable[str], none: str = "there is none") -> None:
    """Refuse a name that no row has, with the one that was probably meant; `none`: where there is no name."""
    names = sorted(there)
    if given not in names:
        known = f"there are {quote_names(names)}" if names else none
        meant = did_you_mean(given, names) or did_you_mean(f"{FEATURE}{given}", names)
        raise ConfigurationError([f'there is no {what} "{given}": {known}{meant}'])


def _key_name(loc: Loc) -> str:
    """Name of the key that a place of the file stands for."""
    if len(loc) > 1 and loc[0] in _TABLES:
        named = {_INSIDE.get(key, key): key for key in _TABLES[str(loc[0])]}
        return named.get(str(loc[1]), str(loc[1]))
    return {"predictions": "score, prediction", "labels": "label"}.get(str(loc[0]), str(loc[0]))


def _plain_value(value: Any) -> Any:
    """A value as a file would hold it."""
    match value:
        case str():
            return value
        case Mapping():
            return {str(key): _plain_value(item) for key, item in value.items()}
        case Sequence():
            return [_plain_value(item) for item in value]
        case _:
            return value.tolist() if hasattr(value, "tolist") else value  # a number of NumPy, or many
