"""What is evaluated as HTML: the charts of a window's page, with what is said of it."""

import html
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from monitor.alerts.default_rules import MAIN
from monitor.alerts.lifecycle import Alert
from monitor.alerts.model_facts import ModelFacts
from monitor.app.clocks import system_clock
from monitor.core.array_types import Ints
from monitor.core.change import Change
from monitor.core.errors import AddressError, ConfigurationError
from monitor.core.measurement import Measurement, Reason
from monitor.core.version import DISTRIBUTION, VERSION
from monitor.measures.measurement_comparison import REFERENCE
from monitor.measures.measurement_row import MeasurementRow, StoredMeasurement
from monitor.measures.value_words import (
    SIZES,
    format_interval_bounds,
    format_measure_difference,
    format_measure_value,
    stability_band,
    value_with_interval,
)
from monitor.notebook.counted_frames import CountedFrames
from monitor.pages.figures import Figure, FigureGroup
from monitor.pages.page_request import ChartedDay, CountedWindow, ModelPlace, PageRequest
from monitor.pages.page_templates import page_frame, read_asset, render_template, stylesheet_markup
from monitor.pages.window.window_page import WindowPage, window_page
from monitor.records.pane import PaneHalf, PanePart
from monitor.sentences import input_sentences, performance_sentences
from monitor.sentences.input_sentences import INDEX
from monitor.sentences.known_measurements import FEATURE, KnownMeasurements, SentenceSection, filled_sections
from monitor.sentences.performance_sentences import best_estimate
from monitor.sentences.reason_words import reason_words
from monitor.sentences.time_words import local_moment_words
from monitor.show.alert_tables import ShownAlert
from monitor.show.incident_tables import ShownIncident
from monitor.sources.sql.sql_names import suggest_name
from monitor.specs.fault_words import quote_names
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows, HistoryEvent, Provenance

MISSING = "missing_rate"
_FINAL = {  # reasons, of which a service says what to wait for
    "no_labels": "no prediction has a label",
    "one_class": "all labels are of one class",
    "too_few": "there are too few rows or labels",
}
_COMPARED = {
    "no_reference": "the reference has none",
    "not_settled": "the reference has no labels to learn from",
}
_ALONE = dict.fromkeys(_COMPARED, "give reference")
_NONE_GIVEN = "Whether inputs or outputs moved is not known: give reference"
_TABLE = re.compile(r"\[models\.(?:\w+\] (?=\w+ = )|(\w+)\])")  # of a configuration, before a key or alone
_CURVES = {"roc_auc": "ROC", "ks_separation": "K-S chart", "average_precision": "Precision and recall"}
_TALL = 1_400  # pixels of a report in a notebook
_HEAD, _CHART = 60, 380  # pixels around charts, of a row of them
_AROUND = 110  # pixels of a line over time beside its axis: title, legend, numbers


@dataclass(frozen=True, slots=True, repr=False)
class Html:
    """A page; a notebook shows it in a frame of its own, so that its sheet is the page's alone."""

    text: str  # of the page
    # pixels of its frame in a notebook, until it is loaded and fits itself; where scripts are refused it
    # stays so, and can be drawn larger.
    tall: int = _TALL

    def __repr__(self) -> str:
        return f"<a page of {len(self.text):,} characters: save(path) writes it, a notebook shows it>"

    def save(self, path: str | Path) -> None:
        """Write the page to a file.

        Raises
        ------
        ConfigurationError
            if the file's name does not end in .html: it would be taken for what it is not.
        """
        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise ConfigurationError([f"{path}: what is saved is a page; write a name that ends in .html"])
        Path(path).write_text(self.text, encoding="utf-8")

    def _repr_html_(self) -> str:
        inside = html.escape(self.text, quote=True)
        style = f"width:100%;height:{self.tall}px;border:0;resize:vertical"
        fit = "this.style.height=this.contentDocument.documentElement.offsetHeight+24+'px'"
        return f'<iframe srcdoc="{inside}" style="{style}" onload="{fit}"></iframe>'


@dataclass(frozen=True, slots=True)
class ReportLines:
    """Lines over time, and what is said of them."""

    figures: tuple[Figure, ...]
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShiftLine:
    """What a feature or an output has moved by, in words."""

    name: str
    index: str
    size: str
    critical: str
    missing: str
    more: str


@dataclass(frozen=True, slots=True)
class SegmentTable:
    """Segments by a measure."""

    measure: str
    # segment, records, the measure with its interval, its difference from the reference, shift.
    lines: tuple[tuple[str, str, str, str, str], ...]

    @property
    def has_differences(self) -> bool:
        """Whether one of them has a difference from the reference."""
        return any(step for _, _, _, step, _ in self.lines)


def report_page(
    frames: CountedFrames,
    rows: Sequence[MeasurementRow],
    notes: Sequence[str],
    lines: ReportLines | None = None,
) -> Html:
    """Report of what was evaluated; lines over time lead it, if there are any."""
    told = frame_sections(frames, rows)
    shifts = list(_shift_lines(_known_measurements(frames, rows)))
    return _make_page(frames, rows, told, shifts, notes=notes, lines=lines)


def lines_page(frames: CountedFrames, figures: Sequence[Figure]) -> Html:
    """Charts over time alone."""
    tall = _HEAD + sum(figure.plot.height + _AROUND for figure in figures)
    text = render_template(
        "evaluation",
        lines=ReportLines(tuple(figures)),
        charts=True,
        page=None,
        notes=(),
        told=(),
        segments=None,
        shifts=(),
        **_page_surroundings(frames, ()),
    )
    return Html(text, tall)


def frame_sections(frames: CountedFrames, rows: Sequence[MeasurementRow]) -> list[SentenceSection]:
    """What is said of a frame: of performance, inputs, data; keys by the names that a call has for them."""
    measurements, compared = _known_measurements(frames, rows), frames.model.reference is not None
    told = filled_sections(
        (
            (
                "performance",
                performance_sentences.performance_sentences(
                    measurements, labels=frames.model.counting.label is not None
                ),
            ),
            ("inputs", input_sentences.input_sentences(measurements) if compared else iter([_NONE_GIVEN])),
            ("data", input_sentences.faulty_value_sentences(measurements) if compared else iter(())),
        )
    )
    return [
        replace(
            section, sentences=tuple(_reword_sentence(one, compared=compared) for one in section.sentences)
        )
        for section in told
    ]


def _reword_sentence(sentence: str, *, compared: bool) -> str:
    """Sentence for a call: keys by the names that it has for them, and nothing is waited for."""
    for reason, text in (_FINAL | (_COMPARED if compared else _ALONE)).items():
        sentence = sentence.replace(reason_words(reason), text)
    return _TABLE.sub(r"\1", sentence).replace("labels are configured", "labels are given")


def _known_measurements(frames: CountedFrames, rows: Sequence[MeasurementRow]) -> KnownMeasurements:
    return KnownMeasurements(rows, frames.window.name, MAIN[frames.model.reading.task])


def charts_page(frames: CountedFrames, rows: Sequence[MeasurementRow], titles: Sequence[str]) -> Html:
    """Charts alone.

    Raises
    ------
    AddressError
        if there is none of a title.
    """
    page = _frame_window_page(frames, rows)
    groups = (*page.groups, FigureGroup("More curves", "three", page.more))
    there = {figure.title.lower(): figure for group in groups for figure in group.figures}
    for title in titles:
        if title.lower() not in there:
            names = [figure.title for figure in there.values()]
            known = quote_names(names) or "none: charts are of a binary model's scores and labels"
            near = suggest_name(_CURVES.get(title.lower(), title), names)
            raise AddressError(f'no chart "{title}": there are {known}{near}')
    chosen = tuple(there[title.lower()] for title in titles)
    if titles:
        groups = (FigureGroup("", "four" if len(chosen) > 1 else "one", chosen),)
    rows_of = -(-len(chosen) // 2)
    return replace(
        _make_page(frames, rows, (), (), groups), tall=_HEAD + _CHART * rows_of if titles else _TALL
    )


def _make_page(
    frames: CountedFrames,
    rows: Sequence[MeasurementRow],
    told: Sequence[SentenceSection],
    shifts: Sequence[ShiftLine],
    groups: tuple[FigureGroup, ...] | None = None,
    notes: Sequence[str] = (),
    lines: ReportLines | None = None,
) -> Html:
    page = _frame_window_page(frames, rows)
    if groups is not None:
        page = replace(
            page, groups=groups, more=(), tiles=(), listed=(), confusion=None, classes=(), without=""
        )
    if not page.labelled and (page.tiles or page.groups):
        page = replace(page, without="")  # sentences say it
    title = "Measures" if page.labelled else "Without labels" if page.tiles else ""
    page = replace(page, pick=replace(page.pick, name=title if groups is None else ""))
    segments = _segment_table(frames, rows) if groups is None else SegmentTable("", ())
    text = render_template(
        "evaluation",
        page=page,
        heading=_page_heading(frames, rows),
        told=told,
        shifts=shifts,
        segments=segments,
        output=_output_name(frames),
        version=f"{DISTRIBUTION} {VERSION}",
        notes=notes,
        charts=groups is not None,
        lines=lines,
        **_page_surroundings(frames, rows),
    )
    return Html(text)


def _page_surroundings(frames: CountedFrames, rows: Sequence[MeasurementRow]) -> dict[str, object]:
    """What stands around what is shown: head, sheet, policy."""
    name, digest = frames.model.name, b64encode(sha256(read_asset("pages.css")).digest()).decode()
    around = page_frame(_FrameData(frames, rows), PageRequest(("models", name)), (name,))
    return {
        "frame": replace(around, title="evaluation", exports=(), refresh=0, tabs=(), crumbs=(), report=True),
        "sheet": stylesheet_markup(),
        "policy": f"default-src 'none'; style-src 'sha256-{digest}'",
    }


def _frame_window_page(frames: CountedFrames, rows: Sequence[MeasurementRow]) -> WindowPage:
    page = window_page(
        _FrameData(frames, rows), PageRequest(("models", frames.model.name)), frames.model.name
    )
    without = _reword_sentence(page.without, compared=frames.model.reference is not None)
    return replace(page, revisions=(), without=without)


def _page_heading(frames: CountedFrames, rows: Sequence[MeasurementRow]) -> str:
    """How many predictions there are, and of which period, where they have times."""
    records = next(row.measurement.n for row in rows if row.measure == "records" and row.is_of_whole)
    zone = frames.model.spec.reading.zone
    period = (
        ""
        if frames.period is None
        else ", " + " to ".join(local_moment_words(at, zone) for at in frames.period)
    )
    labelled = _known_measurements(frames, rows).newest_row("labelled_records", "settled")
    has = 0 if labelled is None else round(labelled.measurement.value or 0)
    some = f", {has:,} with a label" if 0 < has < records else ""
    return f"{records:,} predictions{some}{period}; intervals of {100 * frames.model.spec.options.level:g} %"


def _segment_table(frames: CountedFrames, rows: Sequence[MeasurementRow]) -> SegmentTable:
    """Segments by the main measure; where no label has come, by its estimate."""
    main, estimate = MAIN[frames.model.reading.task], best_estimate(_known_measurements(frames, rows))
    known = {row.measure for row in rows if row.segment and row.measurement.value is not None}
    if main not in known and estimate is not None and estimate.measure in known:
        main = estimate.measure
    of_main, steps = (
        {
            str(row.segment): row.measurement
            for row in rows
            if (row.measure, row.subject, row.against) == (main, "", against) and row.segment
        }
        for against in ("", REFERENCE)
    )
    shifts = {
        str(row.segment): format_measure_value(INDEX, row.measurement.value)
        for row in rows
        if row.measure == INDEX and row.subject == _output_name(frames) and row.segment and not row.against
    }
    lines = [
        (
            name,
            f"{measurement.n:,}",
            str(measurement.reason) if measurement.value is None else value_with_interval(main, measurement),
            _difference_text(main, steps[name]) if name in steps else "",
            shifts.get(name, ""),
        )
        for name, measurement in of_main.items()
    ]
    return SegmentTable(main, tuple(lines))


def _output_name(frames: CountedFrames) -> str:
    return "score" if frames.model.spec.reading.has_score else "prediction"


def _shift_lines(measurements: KnownMeasurements) -> list[ShiftLine]:
    """Outputs and features, those that moved most first."""
    outputs = (measurements.newest_row(INDEX, truth, name) for name, truth in _OUTPUTS)
    rows = [
        row
        for row in (*outputs, *measurements.feature_rows(INDEX))
        if row is not None and row.measurement.reason is not Reason.NO_LABELS
    ]
    rows.sort(key=lambda row: -(row.measurement.value or 0.0))
    return [_shift_line(measurements, row) for row in rows]


_OUTPUTS = (("score", ""), ("prediction", ""), ("label", "settled"))


def _shift_line(measurements: KnownMeasurements, row: MeasurementRow) -> ShiftLine:
    critical, missing = (measurements.sibling_row(row, name) for name in (f"{INDEX}_critical", MISSING))
    more = measurements.sibling_row(row, MISSING, REFERENCE)
    index = row.measurement.value
    return ShiftLine(
        name=row.subject.removeprefix(FEATURE),
        index=str(row.measurement.reason) if index is None else format_measure_value(INDEX, index),
        size="" if index is None or index < SIZES[0] else stability_band(index),
        critical="" if critical is None else format_measure_value(INDEX, critical.measurement.value),
        missing="" if missing is None else format_measure_value(MISSING, missing.measurement.value),
        more="" if more is None else _difference_text(MISSING, more.measurement),
    )


def _difference_text(measure: str, measurement: Measurement) -> str:
    if measurement.value is None:
        return str(measurement.reason)
    return (
        f"{format_measure_difference(measure, measurement.value)} "
        f"{format_interval_bounds(measure, measurement.interval, differs=True)}"
    )


@dataclass(frozen=True, slots=True)
class _FrameData:
    """Frames as pages see a store: one model, one window, kept once."""

    frames: CountedFrames
    rows_: Sequence[MeasurementRow]

    @property
    def run(self) -> str:
        return "live"

    @property
    def probes(self) -> bool:
        return False

    def page_moment(self) -> int:
        return system_clock()

    def list_specs(self) -> Sequence[ModelSpec]:
        return [self.frames.model.spec]

    def read_model_facts(self, _model: str | None, _as_of: int | None) -> list[ModelFacts]:
        spec = self.frames.model.spec
        no_alerts: list[tuple[Alert, str]] = []
        return [
            ModelFacts(
                model=spec.name,
                now=self.frames.end,
                as_of=self.frames.end,
                every=spec.keys.every,
                window=self.frames.window.name,
                main=MAIN[spec.reading.task],
                labels=spec.labels is not None,
                reference=self.frames.model.reference is not None,
                rows=self.rows_,
                alerts=no_alerts,
                rules=(),
                never={},
                accepted={},
            )
        ]

    def read_model_place(self, _model: str, _as_of: int | None) -> ModelPlace:
        return ModelPlace(self.frames.end, self.frames.window.name, MAIN[self.frames.model.reading.task])

    def read_revisions(self, model: str, which: ChartedRows) -> list[StoredMeasurement]:
        return [
            StoredMeasurement(model, self.frames.end, replace(row, window_end=self.frames.end))
            for row in self.rows_
            if row.is_of_whole
            and (which.measures is None or row.measure in which.measures)
            and (which.subjects is None or row.subject in which.subjects)
        ]

    def read_newest_values(
        self, model: str, which: ChartedRows
    ) -> Mapping[tuple[str, str], Mapping[int, float | None]]:
        return {
            (row.measure, row.subject): {row.window_end: row.measurement.value}
            for row in (stored.row for stored in self.read_revisions(model, which))
            if not row.against
        }

    def read_span_counts(
        self, _model: str, _counted: CountedWindow, _block: str, bounds: Sequence[int]
    ) -> list[Ints | None]:
        return [None] * (len(bounds) - 1)

    def read_window_counts(self, _spec: ModelSpec, start: int, _end: int, part: PaneHalf) -> CountedWindow:
        model, strata = self.frames.model, self.frames.strata_of_part(part)
        return CountedWindow(
            counting=model.counting,
            strata=strata,
            reference=model.reference,
            panes={start: PanePart(start, strata)},
            lost=0,
        )

    def list_alerts(self, _model: str | None, _as_of: int | None) -> list[ShownAlert]:
        return []

    def list_incidents(self, _model: str | None, _as_of: int | None) -> list[ShownIncident]:
        return []

    def read_change_days(
        self, _spec: ModelSpec, _of: tuple[str, str], _change: Change, _span: tuple[int, int]
    ) -> list[ChartedDay]:
        return []

    def read_judged_days(self, _spec: ModelSpec, _part: PaneHalf, _count: int, _until: int) -> None:
        return None

    def read_events(self, _model: str) -> list[HistoryEvent]:
        return []

    def read_provenance(self, _model: str, _as_of: int) -> Provenance | None:
        return None
