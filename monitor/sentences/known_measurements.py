"""What is known of a whole model: its measurements by name, the newest of each, its main window first."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from monitor.core.text import readable_text, shorten_text
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth, MeasurementRow
from monitor.windows.window_ends import nominal_length

FEATURE = "feature:"
NOWCAST = "nowcast"  # truth of rows that tell beforehand what labels will say
_LONGEST = 40  # characters of a name in a sentence


@dataclass(frozen=True, slots=True)
class SentenceSection:
    """What is said under one title."""

    title: str  # one word
    sentences: tuple[str, ...]  # each ends in a full stop


@dataclass(frozen=True, slots=True)
class KnownMeasurements:
    """Measurements of a whole model."""

    rows: Sequence[MeasurementRow]  # of any window and stratum; versions and segments are left out
    window: str  # name of the window that rules judge: it is spoken of where it has been measured
    main: str  # measure of performance that stands for the others
    _whole: dict[tuple[str, str, str], list[MeasurementRow]] = field(init=False)

    def __post_init__(self) -> None:
        whole: dict[tuple[str, str, str], list[MeasurementRow]] = {}
        for row in self.rows:
            if row.is_of_whole and row.window != CUMULATIVE:
                whole.setdefault((row.measure, str(row.truth), row.against), []).append(row)
        object.__setattr__(self, "_whole", whole)

    def newest_row(
        self, measure: str, truth: str = "", subject: str = "", against: str = ""
    ) -> MeasurementRow | None:
        """Newest row of a measure, one of the main window before others; None: there is none."""
        rows = [row for row in self._whole.get((measure, truth, against), ()) if row.subject == subject]
        return max(rows, key=self._row_rank, default=None)

    def newest_row_since(self, measure: str, subject: str, since: int) -> MeasurementRow | None:
        """Newest row of the main window; of the shortest one while the main one reaches back beyond `since`.

        Microseconds; None: there is no row with a value.
        """
        rows = [
            row
            for row in self._whole.get((measure, "", ""), ())
            if row.subject == subject and row.measurement.value is not None
        ]

        def rank(row: MeasurementRow) -> tuple[bool, int, int]:
            length = nominal_length(row.window)
            is_new = row.window_end - length >= since
            return (is_new and row.window == self.window, -length, row.window_end)

        return max(rows, key=rank, default=None)

    def longest_row_since(
        self, measure: str, since: int, truth: LabelTruth = LabelTruth.SETTLED
    ) -> MeasurementRow | None:
        """Newest row of a truth of the longest window from a moment on; None: none has a value."""
        rows = [
            row
            for row in self._whole.get((measure, truth.value, ""), ())
            if not row.subject and row.measurement.value is not None
            if row.window_end - nominal_length(row.window) >= since
        ]
        return max(rows, key=lambda row: (nominal_length(row.window), row.window_end), default=None)

    def newest_labelled_row(self, measure: str) -> MeasurementRow | None:
        """Newest settled row of a measure; before one has settled the newest provisional one."""
        settled = self.newest_row(measure, LabelTruth.SETTLED.value)
        return settled or self.newest_row(measure, LabelTruth.PROVISIONAL.value)

    def sibling_row(self, row: MeasurementRow, measure: str, against: str = "") -> MeasurementRow | None:
        """Another measure of the same window, truth and subject; None: there is none."""
        rows = self._whole.get((measure, str(row.truth), against), ())
        of_subject = (one for one in rows if one.subject == row.subject)  # told apart by that, mostly
        place = (row.window, row.window_end)
        return next((one for one in of_subject if (one.window, one.window_end) == place), None)

    def feature_rows(self, measure: str, against: str = "") -> list[MeasurementRow]:
        """Rows of a measure of all features, of the newest main window that has some, in their order."""
        return self.subject_rows(measure, "", FEATURE, against)

    def subject_rows(self, measure: str, truth: str, kind: str, against: str = "") -> list[MeasurementRow]:
        """Rows of a measure of all subjects of a kind: the empty one stands for any but the model itself."""
        rows = [
            row
            for row in self._whole.get((measure, truth, against), ())
            if row.subject and row.subject.startswith(kind)
        ]
        newest = max(rows, key=self._row_rank, default=None)
        return [row for row in rows if newest is not None and _window_key(row) == _window_key(newest)]

    def rows_without_truth(self, measure: str) -> list[MeasurementRow]:
        """All rows of a measure without truth, as they came."""
        return [row for row in self._whole.get((measure, "", ""), ()) if not row.subject]

    def newest_value(self, measure: str) -> float | None:
        """Value of the newest row of a measure without truth; None: there is none."""
        row = self.newest_row(measure)
        return None if row is None else row.measurement.value

    def _row_rank(self, row: MeasurementRow) -> tuple[bool, bool, int]:
        return (row.measurement.value is not None, row.window == self.window, row.window_end)


def readable_name(text: str) -> str:
    r"""Name that the data brought, as a sentence may hold it: readable, without its kind, not too long.

    >>> readable_name("feature:age"), readable_name("a\x1b[2J"), len(readable_name(100 * "x"))
    ('age', 'a\\x1b[2J', 40)
    """
    return shorten_text(readable_text(text.removeprefix(FEATURE)), _LONGEST)


def join_few_names(names: Iterable[str], most: int = 3) -> str:
    """Names in words, the first few of them.

    >>> join_few_names(["a"]), join_few_names(["a", "b"]), join_few_names("abcde")
    ('a', 'a and b', 'a, b, c and 2 more')
    """
    listed = list(names)
    rest = len(listed) - most
    if rest > 0:
        return f"{', '.join(listed[:most])} and {rest} more"
    return " and ".join(filter(None, (", ".join(listed[:-1]), *listed[-1:])))


def capitalize_first(text: str) -> str:
    """Text as a sentence begins.

    >>> capitalize_first("no window"), capitalize_first("")
    ('No window', '')
    """
    return text[:1].upper() + text[1:]


def end_sentence(text: str) -> str:
    """Text with a full stop, as a sentence ends.

    >>> end_sentence("give [models.reference]"), end_sentence("Done.")
    ('give [models.reference].', 'Done.')
    """
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _window_key(row: MeasurementRow) -> tuple[str, int]:
    return (row.window, row.window_end)


def filled_sections(parts: Iterable[tuple[str, Iterator[str]]]) -> list[SentenceSection]:
    """Sections that have something to say."""
    return [
        SentenceSection(title, told) for title, lines in parts if (told := tuple(map(end_sentence, lines)))
    ]


_SPOKEN = {
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
    "f1": "F1",
    "mean_absolute_error": "MAE",
    "root_mean_squared_error": "RMSE",
    "r2_score": "R²",
    "cohen_kappa_score": "Cohen's kappa",
}


def spoken_measure(name: str) -> str:
    """A measure as people say it.

    >>> spoken_measure("roc_auc"), spoken_measure("log_loss")
    ('ROC AUC', 'log loss')
    """
    return _SPOKEN.get(name, name.replace("_", " "))
