"""The report of a model: the same templates as the pages, in one file without script, links and requests."""

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.alerts.alert_rules import Severity
from monitor.alerts.lifecycle import Alert, EndReason
from monitor.alerts.model_facts import ModelFacts
from monitor.core.clock import LAST, to_iso
from monitor.core.errors import AddressError
from monitor.measures.measurement_comparison import REFERENCE
from monitor.measures.measurement_row import StoredMeasurement
from monitor.measures.value_words import value_with_interval
from monitor.pages.alert_lists import arrange_alerts, concerns_span, describe_rules, is_active_in_span
from monitor.pages.model_page import ModelOverview, describe_events, model_overview, spec_of
from monitor.pages.page_request import PageData, PageRequest, read_kept_ends
from monitor.pages.page_templates import page_frame, read_asset, render_template, stylesheet_markup
from monitor.pages.period_words import local_moment_words, period_words
from monitor.pages.window.headline_tiles import TILES, pick_headline_rows
from monitor.pages.window.window_page import window_page
from monitor.sentences import input_sentences, performance_sentences
from monitor.sentences.known_measurements import (
    KnownMeasurements,
    SentenceSection,
    capitalize_first,
    filled_sections,
    join_few_names,
    readable_name,
)
from monitor.sentences.reason_words import OF_THE_PAST
from monitor.show.alert_tables import ShownAlert
from monitor.show.plain_rows import rows_as_json
from monitor.specs.fault_words import quote_names
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.windows.window_ends import Window, nominal_length

_FAR = 1 << 62
_MOST = 8  # alerts that a sentence names


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOpening:
    """What a report says first: its period, and what is known of that alone."""

    model: str
    period: str
    sections: Sequence[SentenceSection]
    # (measure, kept by then, kept by now); empty: nothing was kept since; None: nothing is asked of then.
    since: Sequence[tuple[str, str, str]] | None
    # how the model stands at the end of what is known, of a period that is over since long; empty: the period
    # is its newest.
    today: str


def render_report_html(
    data: PageData, model: str, window: str | None, end: int | None, as_of: int | None
) -> str:
    """HTML of a report; the same store and the same moment give the same bytes.

    Parameters
    ----------
    window, end
        the period that it is about; None: that of the model's rules, the newest one that was measured.
    as_of
        None: the model's last cycle.

    Raises
    ------
    AddressError
        if there is no such model or window, or none that ended then was measured.
    """
    asked, own_window, last, facts = _resolve_report_period(data, model, window, end, as_of)
    part = PageRequest(("models", model), {**asked, "window": own_window.name})
    counted = {"window": own_window.name, "end": to_iso(last)}
    if as_of is not None:
        counted |= asked
    spec, span, period = (
        spec_of(data, model),
        (own_window.start_of(last), last),
        period_words(own_window, last),
    )
    alerts = data.list_alerts(model, as_of, ended=True)  # with what was decided of them since the last cycle
    rows = _period_rows(data, model, own_window, last, PageRequest((), asked).as_of)
    in_segments = _period_rows(
        data, model, own_window, last, PageRequest((), asked).as_of, measure=facts.main
    )
    opening = filled_sections(_period_sections(facts, [*rows, *in_segments], alerts, own_window, last))
    since = (
        None
        if as_of is None
        else _compare_headlines(
            spec, facts.main, rows, _period_rows(data, model, own_window, last, None), own_window.zone
        )
    )
    now = replace(model_overview(data, part, model), events=describe_events(data, model, as_of))
    parts = {
        "opening": ReportOpening(
            model=model,
            period=period,
            sections=opening,
            since=since,
            today=_today_line(now, facts, own_window)
            if _has_later_period(data, model, own_window, last, facts)
            else "",
        ),
        "overview": replace(now, sections=tuple(one for one in now.sections if one not in opening)),
        "window": window_page(data, PageRequest(("models", model, "performance"), counted), model),
        "alerts": replace(
            arrange_alerts(alerts, PageRequest(()), model, span, zone=own_window.zone),
            period=period,
            rules=describe_rules(data, model),
        ),
    }
    around = page_frame(data, part, (model,))
    digest = b64encode(hashlib.sha256(read_asset("pages.css")).digest()).decode()
    return render_template(
        "report",
        parts=parts,
        frame=replace(
            around,
            title=f"{model}, {period}",
            banner="",
            tabs=(),
            crumbs=(),
            exports=(),
            refresh=0,
            report=True,
        ),
        link=part.link_to,
        sheet=stylesheet_markup(),
        policy=f"default-src 'none'; style-src 'sha256-{digest}'",
    )


def _has_later_period(data: PageData, model: str, window: Window, last: int, facts: ModelFacts) -> bool:
    """Whether a later period of the kind was measured."""
    return bool(read_kept_ends(data, model, window.name, after=last, as_of=facts.as_of))


def _today_line(now: ModelOverview, facts: ModelFacts, window: Window) -> str:
    """How a model stands long after the period, in a line."""
    more = f" (and {len(now.because) - 1} more)" if len(now.because) > 1 else ""
    return (
        f"{local_moment_words(facts.as_of or facts.now, window.zone)}: {now.verdict}. {now.because[0]}{more}"
    )


def report_rows_json(
    data: PageData, model: str, window: str | None, end: int | None, as_of: int | None
) -> str:
    """Rows of the period of a report, as `monitor show --format json` prints them."""
    asked, own_window, last, _ = _resolve_report_period(data, model, window, end, as_of)
    return rows_as_json(_period_rows(data, model, own_window, last, PageRequest((), asked).as_of))


def requested_report_html(data: PageData, request: PageRequest, name: str) -> str:
    """The report that an address asks for."""
    return render_report_html(data, *_parse_report_address(data, request, name))


def requested_report_json(data: PageData, request: PageRequest, name: str) -> str:
    """Rows of the report that an address asks for."""
    return report_rows_json(data, *_parse_report_address(data, request, name))


def _parse_report_address(
    data: PageData, request: PageRequest, name: str
) -> tuple[str, str | None, int | None, int | None]:
    request.refuse_unknown_parameters("window", "end")
    return spec_of(data, name).name, request.query.get("window"), request.parse_moment("end"), request.as_of


def _period_rows(
    data: PageData, model: str, window: Window, last: int, as_of: int | None, measure: str | None = None
) -> list[StoredMeasurement]:
    """Rows of a period as they were known at a moment (None: now); of a measure alone those of segments."""
    which = ChartedRows(
        window=window.name, after=last - 1, until=last, as_of=as_of, details=True, newest=True
    )
    if measure is None:
        return data.read_revisions(model, which)
    of_all = data.read_revisions(model, replace(which, measures=(measure,), segment=None))
    return [stored for stored in of_all if stored.row.segment]


def _period_sections(
    facts: ModelFacts,
    rows: Sequence[StoredMeasurement],
    alerts: Sequence[ShownAlert],
    window: Window,
    last: int,
) -> Iterator[tuple[str, Iterator[str]]]:
    """What is said of a period, by title."""
    measurements = KnownMeasurements([stored.row for stored in rows], window.name, facts.main)
    unsettled = f"{capitalize_first(period_words(window, last))} has not settled yet"
    yield "alerts", _alert_lines(alerts, window.start_of(last), last, window.zone)
    yield (
        "performance",
        performance_sentences.performance_sentences(measurements, labels=facts.labels, unsettled=unsettled),
    )
    yield "inputs", input_sentences.input_sentences(measurements)
    # Longer windows may keep no comparison of theirs.
    faulty = measurements.feature_rows("missing_rate", REFERENCE)
    yield (
        "data",
        input_sentences.faulty_value_sentences(measurements)
        if faulty
        else input_sentences.features_out_of_range(measurements),
    )


def _alerts_told_later(alerts: Sequence[ShownAlert], start: int, last: int, zone: str) -> Iterator[str]:
    """Alerts of days in a period that were told after it: days are judged once their labels are there."""
    for alert in (shown_alert.alert for shown_alert in alerts):
        if alert.fired_at is None or alert.fired_at < last or alert.severity is Severity.INFO:
            continue
        if concerns_span(alert, (start, last)):
            fired = local_moment_words(alert.fired_at, zone)
            yield f"{_alert_name_of(alert)} ({alert.severity}, {fired})"


def _alert_lines(alerts: Sequence[ShownAlert], start: int, last: int, zone: str) -> Iterator[str]:
    """Which alerts were told, ended or stood in a period, or are of its days; of some how many."""
    there = [
        (shown_alert.alert, shown_alert.alert.fired_at, shown_alert.alert.resolved_at or _FAR)
        for shown_alert in alerts
        if shown_alert.alert.fired_at is not None and is_active_in_span(shown_alert.alert, (start, last))
    ]
    there.sort(key=lambda each: (each[1], str(each[0].series)))
    told = [each for each in there if each[0].severity is not Severity.INFO]
    new = [
        f"{_alert_name_of(one)} ({one.severity}, {local_moment_words(at, zone)})"
        for one, at, _ in told
        if at >= start
    ]
    past = [
        (one, f"{_alert_name_of(one)} ({local_moment_words(end, zone)})")
        for one, _, end in told
        if end < last
    ]
    ended = [text for one, text in past if one.ended is not EndReason.USUAL]
    usual = [text for one, text in past if one.ended is EndReason.USUAL]
    stayed = [_alert_name_of(one) for one, at, end in told if at < start and end >= last]
    later = list(_alerts_told_later(alerts, start, last, zone))
    yield f"Told: {join_few_names(new, _MOST)}" if new else "No alert that calls for somebody was told"
    if later:
        yield f"Told after it, of days in it: {join_few_names(later, _MOST)}"
    if ended:
        yield f"Ended: {join_few_names(ended, _MOST)}"
    if usual:
        yield f"Still there, but expected by now, and no longer told: {join_few_names(usual, _MOST)}"
    if stayed:
        yield f"Stood all through: {join_few_names(stayed, _MOST)}"
    quiet = [(at, end) for one, at, end in there if one.severity is Severity.INFO]
    if quiet:
        first, over = sum(at >= start for at, _ in quiet), sum(end < last for _, end in quiet)
        yield f"For information alone: {first} fired, {over} ended"


def _alert_name_of(alert: Alert) -> str:
    of = (alert.series.version, alert.series.segment, alert.series.subject)
    place = " of ".join(readable_name(part) for part in of if part and not part.endswith("*"))
    return f"{readable_name(alert.series.rule)} of {place}" if place else readable_name(alert.series.rule)


def _compare_headlines(
    spec: ModelSpec, main: str, then: Sequence[StoredMeasurement], now: Sequence[StoredMeasurement], zone: str
) -> list[tuple[str, str, str]]:
    """What was known then beside what is known now, a figure a line; empty: it is the same."""
    before, after = (_describe_headlines(spec, main, rows, zone) for rows in (then, now))
    if before == after:
        return []
    return [(name, before.get(name, "–"), after.get(name, "–")) for name in {**after, **before}]


def _describe_headlines(
    spec: ModelSpec, main: str, rows: Sequence[StoredMeasurement], zone: str
) -> dict[str, str]:
    """Headlines in words, each with its truth, its n and the day on which it was kept."""
    revisions = pick_headline_rows(rows)
    names = [name for name in (main, "coverage", *TILES[spec.reading.task]) if name in revisions]
    return {
        name: f"{value_with_interval(name, kept.row.measurement)}; {kept.row.truth} of "
        f"{kept.row.measurement.n:,}, kept {local_moment_words(kept.as_of, zone)}"
        for name in names
        for kept in [revisions[name]]
    }


def _resolve_report_period(
    data: PageData, model: str, window: str | None, end: int | None, as_of: int | None
) -> tuple[Mapping[str, str], Window, int, ModelFacts]:
    """Moment, window and end of a report, and what was known of the model then."""
    spec = spec_of(data, model)
    (facts,) = data.read_model_facts(model, as_of)
    if facts.as_of is None:
        raise AddressError(f'model "{model}": no cycle has run yet, so there is nothing to report', 404)
    moment = facts.as_of if as_of is None else as_of
    names = [each.name for each in spec.windows]
    if window and window not in names and _is_window_name(window):
        have = f'{quote_names(names)}; the configuration gives another: windows = [..., "{window}"]'
        raise AddressError(f'model "{model}": no window "{window}": there are {have}')
    name = PageRequest((), {"window": window} if window else {}).parse_choice("window", names, facts.window)
    own_window = next(each for each in spec.windows if each.name == name)
    ends = read_kept_ends(data, model, name, until=LAST if end is None else end, as_of=moment)
    if not ends or (end is not None and end not in ends):
        given = "" if end is None else f" that ends {to_iso(end)}"
        later: Sequence[StoredMeasurement] = ()
        if end is not None:
            of_end = ChartedRows(window=name, after=end - 1, until=end, measures=("records",), subjects=("",))
            later = data.read_revisions(model, of_end)
        last = ", ".join(to_iso(one) for one in ends[:3][::-1])
        hint = f"the last before it end {last}" if last else OF_THE_PAST
        if later:
            hint = f"it was first on {to_iso(min(stored.as_of for stored in later))}"
        raise AddressError(
            f'model "{model}": no window {name}{given} was measured as of {to_iso(moment)}; {hint}', 404
        )
    return {"as_of": to_iso(moment)}, own_window, end or max(ends), facts


def _is_window_name(text: str) -> bool:
    try:
        nominal_length(text)
    except ValueError:
        return False
    return True
