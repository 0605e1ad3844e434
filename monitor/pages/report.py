"""The report of a model: the same templates as the pages, in one file without script, links and requests."""

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.alerts.lifecycle import Alert, Ended
from monitor.alerts.rules import Severity
from monitor.alerts.standing import Seen
from monitor.config.messages import listed
from monitor.core.clock import to_iso
from monitor.core.errors import AddressError
from monitor.measures.against import REFERENCE
from monitor.measures.rows import Revision, newest
from monitor.measures.worded import with_interval
from monitor.pages.alerts import is_about, listed_alerts, rules_of, stood
from monitor.pages.asked import Asked, PageData
from monitor.pages.model import Overview, events_of, overview, spec_of
from monitor.pages.moments import called, day
from monitor.pages.rendering import asset, frame, rendered, sheet_markup
from monitor.pages.window.page import window_page
from monitor.pages.window.tiles import TILES, headlines
from monitor.sentences import inputs, performance
from monitor.sentences.known import Known, Section, capital, few, named, sections
from monitor.sentences.reasons import OF_THE_PAST
from monitor.show.alerts import ShownAlert
from monitor.show.plain import as_json
from monitor.specs.model import ModelSpec
from monitor.specs.rows import Drawn
from monitor.windows.ends import Window, nominal_length

_FAR = 1 << 62
_MOST = 8  # alerts that a sentence names


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a report says first: its period, and what is known of that alone."""

    model: str
    period: str
    sections: Sequence[Section]
    # (measure, kept by then, kept by now); empty: nothing was kept since; None: nothing is asked of then.
    since: Sequence[tuple[str, str, str]] | None
    # how the model stands at the end of what is known, of a period that is over since long; empty: the period
    # is its newest.
    today: str


def report(data: PageData, model: str, window: str | None, end: int | None, as_of: int | None) -> str:
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
    asked, of, last, seen = _period(data, model, window, end, as_of)
    part = Asked(("models", model), {**asked, "window": of.name})
    counted = {"window": of.name, "end": to_iso(last)}
    if as_of is not None:
        counted |= asked
    spec, span, period = spec_of(data, model), (of.start(last), last), called(of, last)
    alerts = data.alerts(model, as_of, ended=True)  # with what was decided of them since the last cycle
    rows = _rows(data, model, of, last, Asked((), asked).as_of)
    in_segments = _rows(data, model, of, last, Asked((), asked).as_of, measure=seen.main)
    opening = sections(_told(seen, [*rows, *in_segments], alerts, of, last))
    since = (
        None if as_of is None else _since(spec, seen.main, rows, _rows(data, model, of, last, None), of.zone)
    )
    now = replace(overview(data, part, model), events=events_of(data, model, as_of))
    parts = {
        "opening": Opening(
            model=model,
            period=period,
            sections=opening,
            since=since,
            today=_today(now, seen, of) if _is_over(data, model, of, last, seen) else "",
        ),
        "overview": replace(now, sections=tuple(one for one in now.sections if one not in opening)),
        "window": window_page(data, Asked(("models", model, "performance"), counted), model),
        "alerts": replace(
            listed_alerts(alerts, Asked(()), model, span, zone=of.zone),
            period=period,
            rules=rules_of(data, model),
        ),
    }
    around = frame(data, part, (model,))
    digest = b64encode(hashlib.sha256(asset("pages.css")).digest()).decode()
    return rendered(
        "report",
        parts=parts,
        frame=replace(
            around, title=f"{model}, {period}", banner="", json="", tabs=(), crumbs=(), report=True
        ),
        link=part.link,
        sheet=sheet_markup(),
        policy=f"default-src 'none'; style-src 'sha256-{digest}'",
    )


def _is_over(data: PageData, model: str, of: Window, last: int, seen: Seen) -> bool:
    """Whether a later period of the kind was measured."""
    which = Drawn(
        window=of.name, after=last, until=_FAR, measures=("records",), subjects=("",), as_of=seen.as_of
    )
    return bool(data.rows(model, which))


def _today(now: Overview, seen: Seen, of: Window) -> str:
    """How a model stands long after the period, in a line."""
    more = f" (and {len(now.because) - 1} more)" if len(now.because) > 1 else ""
    return f"{day(seen.as_of or seen.now, of.zone)}: {now.verdict}. {now.because[0]}{more}"


def report_rows(data: PageData, model: str, window: str | None, end: int | None, as_of: int | None) -> str:
    """Rows of the period of a report, as `monitor show --format json` prints them."""
    asked, of, last, _ = _period(data, model, window, end, as_of)
    return as_json([(model, kept, row) for kept, row in _rows(data, model, of, last, Asked((), asked).as_of)])


def report_file(data: PageData, asked: Asked, name: str) -> str:
    """The report that an address asks for."""
    return report(data, *_of_address(data, asked, name))


def report_plain(data: PageData, asked: Asked, name: str) -> str:
    """Rows of the report that an address asks for."""
    return report_rows(data, *_of_address(data, asked, name))


def _of_address(data: PageData, asked: Asked, name: str) -> tuple[str, str | None, int | None, int | None]:
    asked.only("window", "end")
    return spec_of(data, name).name, asked.query.get("window"), asked.moment("end"), asked.as_of


def _rows(
    data: PageData, model: str, of: Window, last: int, as_of: int | None, measure: str | None = None
) -> list[Revision]:
    """Rows of a period as they were known at a moment (None: now); of a measure alone those of segments."""
    which = Drawn(window=of.name, after=last - 1, until=last, as_of=as_of, details=True)
    if measure is None:
        return newest(data.rows(model, which))
    of_all = data.rows(model, replace(which, measures=(measure,), segment=None))
    return newest([each for each in of_all if each[1].segment])


def _told(
    seen: Seen, rows: Sequence[Revision], alerts: Sequence[ShownAlert], of: Window, last: int
) -> Iterator[tuple[str, Iterator[str]]]:
    """What is said of a period, by title."""
    known = Known([row for _, row in rows], of.name, seen.main)
    unsettled = f"{capital(called(of, last))} has not settled yet"
    yield "alerts", _alerts(alerts, of.start(last), last, of.zone)
    yield "performance", performance.performance(known, labels=seen.labels, unsettled=unsettled)
    yield "inputs", inputs.inputs(known)
    faulty = known.features("missing_rate", REFERENCE)  # longer windows may keep no comparison of theirs
    yield "data", inputs.faulty_values(known) if faulty else inputs.out_of_range(known)


def _alerts(alerts: Sequence[ShownAlert], start: int, last: int, zone: str) -> Iterator[str]:
    """Which alerts were told, ended or stood in a period, or are of its days; of some how many."""
    there = [
        (shown.alert, shown.alert.fired_at, shown.alert.resolved_at or _FAR)
        for shown in alerts
        if shown.alert.fired_at is not None and stood(shown.alert, (start, last))
    ]
    there.sort(key=lambda each: (each[1], str(each[0].series)))
    told = [each for each in there if each[0].severity is not Severity.INFO]
    new = [f"{_name(one)} ({one.severity}, {day(at, zone)})" for one, at, _ in told if at >= start]
    past = [(one, f"{_name(one)} ({day(end, zone)})") for one, _, end in told if end < last]
    ended = [text for one, text in past if one.ended is not Ended.USUAL]
    usual = [text for one, text in past if one.ended is Ended.USUAL]
    stayed = [_name(one) for one, at, end in told if at < start and end >= last]
    later = [
        f"{_name(shown.alert)} ({shown.alert.severity}, {day(shown.alert.fired_at, zone)})"
        for shown in alerts
        if shown.alert.fired_at is not None
        and shown.alert.fired_at >= last
        and shown.alert.severity is not Severity.INFO
        and is_about(shown.alert, (start, last))
    ]
    yield f"Told: {few(new, _MOST)}" if new else "No alert that calls for somebody was told"
    if later:
        yield f"Told after it, of days in it: {few(later, _MOST)}"
    if ended:
        yield f"Ended: {few(ended, _MOST)}"
    if usual:
        yield f"Still there, but expected by now, and no longer told: {few(usual, _MOST)}"
    if stayed:
        yield f"Stood all through: {few(stayed, _MOST)}"
    quiet = [(at, end) for one, at, end in there if one.severity is Severity.INFO]
    if quiet:
        first, over = sum(at >= start for at, _ in quiet), sum(end < last for _, end in quiet)
        yield f"For information alone: {first} fired, {over} ended"


def _name(alert: Alert) -> str:
    of = (alert.series.version, alert.series.segment, alert.series.subject)
    place = " of ".join(named(part) for part in of if part and not part.endswith("*"))
    return f"{named(alert.series.rule)} of {place}" if place else named(alert.series.rule)


def _since(
    spec: ModelSpec, main: str, then: Sequence[Revision], now: Sequence[Revision], zone: str
) -> list[tuple[str, str, str]]:
    """What was known then beside what is known now, a figure a line; empty: it is the same."""
    before, after = (_figures(spec, main, rows, zone) for rows in (then, now))
    if before == after:
        return []
    return [(name, before.get(name, "–"), after.get(name, "–")) for name in {**after, **before}]


def _figures(spec: ModelSpec, main: str, rows: Sequence[Revision], zone: str) -> dict[str, str]:
    """Headlines in words, each with its truth, its n and the day on which it was kept."""
    kept = headlines(rows)
    names = [name for name in (main, "coverage", *TILES[spec.reading.task]) if name in kept]
    return {
        name: f"{with_interval(name, row.measurement)}; {row.truth} of {row.measurement.n:,}, kept "
        f"{day(moment, zone)}"
        for name in names
        for moment, row in [kept[name]]
    }


def _period(
    data: PageData, model: str, window: str | None, end: int | None, as_of: int | None
) -> tuple[Mapping[str, str], Window, int, Seen]:
    """Moment, window and end of a report, and what was known of the model then."""
    spec = spec_of(data, model)
    (seen,) = data.seen(model, as_of)
    if seen.as_of is None:
        raise AddressError(f'model "{model}": no cycle has run yet, so there is nothing to report', 404)
    moment = seen.as_of if as_of is None else as_of
    names = [each.name for each in spec.windows]
    if window and window not in names and _is_a_window(window):
        have = f'{listed(names)}; the configuration gives another: windows = [..., "{window}"]'
        raise AddressError(f'model "{model}": no window "{window}": there are {have}')
    name = Asked((), {"window": window} if window else {}).choice("window", names, seen.window)
    of = next(each for each in spec.windows if each.name == name)
    until = _FAR if end is None else end
    which = Drawn(window=name, after=0, until=until, measures=("records",), subjects=("",), as_of=moment)
    rows = data.rows(model, which)
    ends = [row.window_end for _, row in rows]
    if not ends or (end is not None and end not in ends):
        given = "" if end is None else f" that ends {to_iso(end)}"
        later = data.rows(model, replace(which, after=until - 1, as_of=None)) if end is not None else []
        last = ", ".join(to_iso(one) for one in sorted(set(ends))[-3:])
        hint = f"the last before it end {last}" if last else OF_THE_PAST
        if later:
            hint = f"it was first on {to_iso(min(kept for kept, _ in later))}"
        raise AddressError(
            f'model "{model}": no window {name}{given} was measured as of {to_iso(moment)}; {hint}', 404
        )
    return {"as_of": to_iso(moment)}, of, end or max(ends), seen


def _is_a_window(text: str) -> bool:
    try:
        nominal_length(text)
    except ValueError:
        return False
    return True
