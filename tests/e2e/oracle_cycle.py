"""All rows that a cycle leaves behind, against what the oracle makes of the log as of that cycle."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import oracle
import oracle_arms
import oracle_labels
import oracle_shift
import oracle_values
import pandas as pd
from oracle import DAY, NONE, Expected, Key, Log, Span, less
from oracle_against import LOSS_BY_MIX, Moment, contribution, differences, loss_by_mix, loss_by_scores
from oracle_compared import Compared
from oracle_cumulative import Ledgers
from oracle_details import wrong_details
from oracle_shift import Sides
from sklearn import config_context

from monitor.core.clock import parse_duration, to_iso
from monitor.measures.catalogue import BY_NAME
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth, MeasurementRow
from monitor.specs.model_spec import ModelSpec
from monitor.windows.window_ends import Window

Rows: TypeAlias = list[MeasurementRow]
Slice: TypeAlias = tuple[str | None, str | None]
Spans: TypeAlias = tuple[Span, ...]
ARMS = (("control", "control"), ("treatment", "treatment"), ("other", "holdout"))


@dataclass
class Run:
    """Cycles of one model.

    Parameters
    ----------
    first_as_of
        moment of the first cycle.
    """

    result: Compared
    log: Log
    spec: ModelSpec
    first_as_of: int
    ledgers: Ledgers = field(init=False)
    before: int | None = None

    def __post_init__(self) -> None:
        self.ledgers = Ledgers(self.log, oracle.first_counted(self.log, self.first_as_of))

    @cached_property
    def reference(self) -> Moment:
        """Labels of the reference."""
        told = oracle.judged(self.log, self.log.reference)
        return Moment(told, dict(segments_of(self.log, told)))

    @cached_property
    def performed(self) -> dict[Key, Expected]:
        """Performance on the labels of the reference, as far as it is known."""
        found = oracle_labels.performance(self.log, self.reference.told, whole=True)
        return {key: expected for key, expected in found.items() if expected.value is not None}

    @cached_property
    def faulty(self) -> dict[Key, Expected]:
        """Missing, invalid and unseen values of the reference."""
        rows = self.log.reference
        sides = oracle_shift.sides_of(self.log, rows, features=True)
        return oracle_shift.of_faulty_values(dict(sides), len(rows))

    def compare(self, as_of: int, rows: Rows) -> None:
        """Compare all rows of a cycle: of windows within the horizon, of comparisons that go on, of none."""
        windows = {window.name: window for window in self.spec.windows}
        by_window: dict[tuple[str, int], Rows] = {}
        for row in rows:
            end = row.window_end if row.window in windows else as_of
            by_window.setdefault((row.window, end), []).append(row)
        result, where = self.result, f"as of {to_iso(as_of)}"
        result.compare(where, by_window.pop(("", as_of)), oracle_shift.of_cycle(self.log, as_of, self.before))
        self.before = as_of
        going_on = by_window.pop((CUMULATIVE, as_of), [])
        ends = {row.measure: row.window_end if row.measurement.n else 0 for row in going_on}
        result.compare(f"all up to {to_iso(as_of)}", going_on, self.ledgers.measured(as_of, ends))
        for (name, end), found in by_window.items():
            window = WindowOracle(self, as_of, windows[name], end)
            if window.span[0] >= as_of - self.log.horizon:
                result.pairs.add((name, end, as_of))
                with config_context(assume_finite=True, skip_parameter_validation=True):  # a third less time
                    window.compare(found)


@dataclass
class WindowOracle:
    """One window as of a cycle.

    Parameters
    ----------
    labelled
        what is made of labels by stratum: once for both truths.
    """

    run: Run
    as_of: int
    window: Window
    end: int
    labelled: dict[Slice, dict[Key, Expected]] = field(default_factory=dict)

    @property
    def span(self) -> Span:
        """Start and end."""
        return self.window.start_of(self.end), self.end

    @cached_property
    def known(self) -> pd.DataFrame:
        """Records."""
        return oracle.records(self.run.log, self.span, self.as_of)

    @cached_property
    def told(self) -> pd.DataFrame:
        """Records with labels."""
        return oracle.with_labels(self.run.log, self.known, self.as_of)

    @cached_property
    def performed(self) -> dict[Key, Expected]:
        """Performance of the whole."""
        return oracle_labels.performance(self.run.log, self.told, whole=True)

    @cached_property
    def sides(self) -> Mapping[str, Sides]:
        """Reference and window of each subject."""
        return dict(oracle_shift.sides_of(self.run.log, self.known, features=True))

    @cached_property
    def now(self) -> Moment:
        """Records with labels, and the same by segment."""
        parts = segments_of(self.run.log, self.known)
        return Moment(self.told, {name: self.told.loc[part["row"]] for name, part in parts})

    @cached_property
    def slices(self) -> dict[Slice, pd.DataFrame]:
        """Records with labels of each version, of the arms and of the segments."""
        found: dict[Slice, pd.DataFrame] = {}
        found |= {(None, f"group={name}"): self.told[self.told["arm"] == arm] for name, arm in ARMS}
        found |= {(str(version), None): part for version, part in self.told.groupby("version")}
        return found | {(None, name): part for name, part in self.now.segments.items()}

    def compare(self, rows: Rows) -> None:
        """Compare all rows of the window, truth by truth."""
        for truth in {row.truth for row in rows} - {
            LabelTruth.NOWCAST
        }:  # weighed: held by an oracle of their own
            found = [row for row in rows if row.truth is truth and not row.against]
            self._strata(found)
            plain = [row for row in found if row.version is None and row.segment is None]
            self.run.result.tables(self._where, wrong_details(self.run.log, self.told, plain))
            by_moment: dict[str, Rows] = {}
            for row in rows:
                if row.truth is truth and row.against:
                    by_moment.setdefault(row.against, []).append(row)
            for against, compared in by_moment.items():
                self._against(against, found, compared)

    def _strata(self, rows: Rows) -> None:
        """Compare the rows of one truth: of the whole, of each version, of the arms and the segments."""
        log, slices, references = self.run.log, self.slices, self.run.reference.segments
        found: dict[Slice, Rows] = {}
        for row in rows:
            found.setdefault((row.version, row.segment), []).append(row)
        for (version, segment), measured in found.items():
            labelled = measured[0].truth is not LabelTruth.NONE
            if (version, segment) == (None, None):
                expected = self._whole(measured[0].truth, with_arms=len(found) > 1)
            elif labelled:
                if (version, segment) not in self.labelled:
                    self.labelled[version, segment] = self._labelled(slices[version, segment])
                expected = self.labelled[version, segment]
            elif segment in self.now.segments or segment in references:
                part = slices[version, segment]
                expected = oracle_shift.of_segment(log, references.get(str(segment)), part)
            else:
                expected = oracle_shift.of_stratum(log, slices[version, segment])
            if (version, segment) != (None, None):
                expected = {key: one for key, one in expected.items() if BY_NAME[key[0]].headline}
            self.run.result.compare(f"{self._where} {version or segment or ''}", measured, expected)

    def _whole(self, truth: LabelTruth, *, with_arms: bool) -> dict[Key, Expected]:
        log = self.run.log
        if truth is not LabelTruth.NONE:
            settled = truth is LabelTruth.SETTLED
            moved = oracle_shift.of_labels(log, log.reference, self.told) if settled else {}
            return self._labelled_whole(with_arms=with_arms) | moved
        found = oracle_shift.of_records(log, self.known, self.sides) | oracle_values.of_values(self.sides)
        found |= dict(oracle_values.of_score(log, self.known))
        found |= loss_by_scores(log, self.known, self.run.reference)
        found |= dict(oracle_shift.of_log_delays(self.known))
        found["unusual_names", ""] = Expected(0.0, n=len(self.known))
        args = self.window.name, self.span, self.as_of, self.run.first_as_of
        return found | oracle_shift.of_volume(log, *args)

    def _labelled_whole(self, *, with_arms: bool) -> dict[Key, Expected]:
        log, told = self.run.log, self.told
        found = self.performed | oracle_labels.of_labels(log, told, delays=True)
        found |= oracle_arms.of_challenger(log, told)
        return found | (oracle_arms.of_arms(log, told) if with_arms else {})

    def _labelled(self, part: pd.DataFrame) -> dict[Key, Expected]:
        """Of a stratum; one that holds all records is measured as the whole."""
        log, labels = self.run.log, oracle_labels.of_labels(self.run.log, part, delays=False)
        if len(part) == len(self.told):
            return self.performed | labels
        return oracle_labels.performance(log, part, whole=False) | labels

    def _against(self, against: str, whole: Rows, rows: Rows) -> None:
        """Compare what the whole of one truth says against another moment; not beyond the horizon."""
        if against == "reference" and rows[0].truth is LabelTruth.NONE:
            self._faulty_values(rows)
            return
        if against == "reference":
            then = self.run.reference
            plain = [row for row in rows if row.segment is None]
            self._differences(against, whole, plain, (self.run.performed, then))
            self._segments_against(whole, [row for row in rows if row.segment])
            return
        spans = self._earlier(against)
        if spans[-1][0] < self.run.ledgers.first:
            self.run.result.compare(self._where, rows, {(row.measure, row.subject): NONE for row in rows})
        elif spans[-1][0] >= self.as_of - self.run.log.horizon:
            known = oracle.of_spans(self.run.log, spans, self.as_of)
            if rows[0].truth is LabelTruth.NONE:
                self._shift(against, rows, known)
                return
            told = oracle.with_labels(self.run.log, known, self.as_of)
            performed = oracle_labels.performance(self.run.log, told, whole=True)
            segments = segments_of(self.run.log, known)
            then = Moment(told, {name: told.loc[part["row"]] for name, part in segments})
            self._differences(against, whole, rows, (performed, then))

    def _segments_against(self, whole: Rows, rows: Rows) -> None:
        """The main measure of each segment less that of the same segment of the reference."""
        log = self.run.log
        main = "roc_auc" if log.binary and log.scored else "accuracy"
        key = (main if log.classes else "root_mean_squared_error", "")
        for name, part in self.run.reference.segments.items():
            now = [row for row in whole if (row.measure, row.segment, row.version) == (key[0], name, None)]
            then = oracle_labels.performance(log, part, whole=False)[key]
            has = now and now[0].measurement.interval is not None and then.value is not None
            expected = {key: less(self.labelled[None, name][key], then)} if has else {}
            mine = [row for row in rows if row.segment == name]
            self.run.result.compare(f"{self._where} reference {name}", mine, expected)

    def _faulty_values(self, rows: Rows) -> None:
        """Missing, invalid and unseen values less those of the reference, as default rules ask."""
        now, then = oracle_shift.of_faulty_values(self.sides, len(self.known)), self.run.faulty
        expected = {key: less(now[key], then[key]) for key in now}
        self.run.result.compare(f"{self._where} reference", rows, expected)

    def _earlier(self, against: str) -> Spans:
        start, end = self.span
        if against == "previous":
            return ((self.window.start_of(start), start),)
        back = oracle_shift.BACK[self.window.name] * DAY
        count = parse_duration(against) // back
        return tuple((start - k * back, end - k * back) for k in range(1, count + 1))

    def _shift(self, against: str, rows: Rows, known: pd.DataFrame) -> None:
        log = replace(self.run.log, reference=known, whole=self.run.log.reference)
        sides = dict(oracle_shift.sides_of(log, self.known, features=True))
        expected = oracle_shift.of_shift(sides) | oracle_values.of_distances(sides, on_own_cells=False)
        for subject, one in sides.items():
            if one.numbers is not None:
                name = "standardized_mean_difference"
                expected[name, subject] = dict(oracle_values.moments(*one.numbers))[name]
        self.run.result.compare(f"{self._where} {against}", rows, expected)

    def _differences(
        self, against: str, whole: Rows, rows: Rows, then: tuple[dict[Key, Expected], Moment]
    ) -> None:
        log = self.run.log
        plain = [row for row in whole if row.version is None and row.segment is None]
        expected = differences(plain, self.performed, then[0], every=against != "reference")
        if len(plain) < len(whole) or against != "reference":
            expected |= contribution(log, expected, self.now, then[1])
        if any(row.measure == LOSS_BY_MIX for row in rows):
            expected |= loss_by_mix(log, self.now, then[1])
        if against != "reference" and rows[0].truth is LabelTruth.SETTLED:
            expected |= oracle_shift.of_labels(log, then[1].told, self.told)
        self.run.result.compare(f"{self._where} {against}", rows, expected)

    @property
    def _where(self) -> str:
        return f"{self.window.name} to {to_iso(self.end)} as of {to_iso(self.as_of)}"


def segments_of(log: Log, rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Rows by segment: the reference's 20 most frequent values of at least 10 rows, the others, none."""
    for column in log.segments:
        sizes = log.reference[column].dropna().value_counts().reset_index()
        sizes = sizes[sizes["count"] >= 10].sort_values(["count", column], ascending=[False, True])
        named = rows[column].where(rows[column].isin(sizes[column].head(20)), "other")
        yield from rows.groupby(column + "=" + named.where(rows[column].notna(), "(none)"))
