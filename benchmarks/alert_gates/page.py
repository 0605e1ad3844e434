"""The part of the page of evidence: ours beside the field's rules, those that miss unedited."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from alert_gates import in_order, quiet

Known = Mapping[str, Any]
_HEAD = """## Alerts: what the budget keeps, and what it finds

Written by `make sim-alerts` (`benchmarks/sim_alerts.py`); not edited. How it works: [alerts](alerts.md).
**Bold** is outside of what was asked for.

The budget is one false alert in 30 days over all that is watched, unless a line says another one. A change
stands from the day on which it is found; an alert is counted on the day on which it begins.
"""


def page(known: Known) -> str:
    """All of it."""
    parts = [_HEAD, *_quiet(known), *_changes(known), *_incidents(known), *_twice(known), *_in_order(known)]
    return "\n".join(parts).rstrip() + "\n"


def _pieces(known: Known, kind: str) -> dict[str, list[Any]]:
    """Results of each cell's pieces."""
    found: dict[str, list[Any]] = defaultdict(list)
    for name, result in known.items():
        first, _, rest = name.partition("|")
        if first == kind:
            found[rest.rpartition("|")[0]].append(result)
    return found


def _quiet(known: Known) -> Iterator[str]:
    by_cell = _pieces(known, "quiet")
    months = {name: sum(piece[2] for piece in many) for name, many in by_cell.items()}
    rates = {
        name: np.sum([piece[0] for piece in many], axis=0) / months[name] for name, many in by_cell.items()
    }
    yield "### Where nothing happens\n"
    yield (
        "False alerts in 30 days, over 120 days after 14, 28 and 56 days of history, 240 months a cell. Days "
        "are simulated: records vary at random, days by effects of their own (autocorrelation 0.3, 30 % "
        "common to all). A cell is one of 500, 5,000 and 50,000 records a day, of 25 and 100 features, and "
        "of the three histories. The lower rows are of days unlike what is assumed, 5,000 records and 100 "
        "features. With `smallest = 0` whatever is evident fires. Asked for: at most 1.0, and 0.5 in the "
        "mean of the days as assumed.\n"
    )
    yield "| days differ by | `smallest` | mean | highest of all cells |"
    yield "|---|---|---|---|"
    for stated, smallest, most in (("1", "0", 1.0), ("2 0.1", "0.1", 1.0), ("2 0.0", "0", np.inf)):
        for noise, some in _by_noise(rates, stated).items():
            mean, highest = float(np.mean(some)), float(np.max(some))
            yield f"| {noise} | {smallest} | {_shown(mean, most)} | {_shown(highest, most)} |"
    every = [rate for name, rate in rates.items() if name.startswith("1|")]
    if every:
        yield f"\nMean of the days as assumed: {_shown(float(np.mean(every)), 0.5)}."
    other = []
    for name, rate in sorted(rates.items()):
        if name.startswith("dial"):
            stated = {"0.33": 1 / 3}.get(name.split("|")[0][5:], 3.0)
            other.append(f"{_shown(float(rate.mean()) / stated, 1.0)} of {stated:.2g} in 30 days")
    if other:
        yield f"Of other budgets, realised by stated: {', '.join(other)}."


def _by_noise(rates: Mapping[str, Any], stated: str) -> dict[str, list[Any]]:
    """Rates of the cells of a budget, by how days differ."""
    cells = {name: rate for name, rate in rates.items() if name.startswith(f"{stated}|")}
    names = [one.name for one in (*quiet.NOISES, *quiet.STRESSES)]
    found = {noise: [rate for name, rate in cells.items() if name.split("|")[1] == noise] for noise in names}
    return {noise: some for noise, some in found.items() if some}


def _changes(known: Known) -> Iterator[str]:
    yield "\n### How soon a change is found\n"
    yield (
        "Days until it is found, the day it begins being the first; 31 if not within 30 days. 100 features, "
        "5,000 records a day, effects of days and weekends, 56 days and more of history, "
        "`smallest = 0`. Where the days of a doubled level go: "
        "[0048](adr/0048-days-of-a-change-that-is-not-decided.md).\n"
    )
    yield "| change of one feature | mean | median | asked for, mean | runs |"
    yield "|---|---|---|---|---|"
    pieces = _pieces(known, "change")
    for name, (_, most) in quiet.CHANGES.items():
        found = [day for many in pieces.get(name, []) for day in many]
        if found:
            mean, median = float(np.mean(found)), float(np.median(found))
            yield f"| {name} | {_shown(mean, most, 1)} | {median:g} | {most:g} | {len(found)} |"


def _incidents(known: Known) -> Iterator[str]:
    yield "\n### Incidents in real logs\n"
    yield (
        "Rows of two real logs are dealt at random over days (clock and weekday kept: no drift): flights, "
        "400 a day in two classes, and rodents, 60 a day in eleven. Incidents of 24 families strike them, of "
        "random kind, column, size, day and length (1 to 14 days). One is found by an alert about the thing "
        "touched, until two days after its end; labels are checked at their age. Every other alert is false. "
        "An incident is large enough if the rows themselves, all of its days together, differ by what an "
        "alert is for. The field's rules are asked each day for every feature and output, and 3 sd for "
        "performance too, against the first 28 days.\n"
    )
    pieces, nothing = _pieces(known, "incidents"), _pieces(known, "nothing")
    for log, many in sorted(pieces.items()):
        yield from _of_log(log, many, nothing.get(log, []))
    yield from _matched({log: one for log, (one,) in sorted(_pieces(known, "matched").items())})


def _of_log(log: str, many: Sequence[Any], nothing: Sequence[Any]) -> Iterator[str]:
    every = [one for piece in many for one in piece["incidents"]]
    above = [one for one in every if one["size"] >= 1]
    days = sum(piece["days"] for piece in many)
    quiet_days = max(1, sum(piece["days"] for piece in nothing))
    yield f"#### {log.capitalize()}: {len(above)} incidents large enough, of {len(every)}\n"
    yield "| | found | median delay, days | of labels | false alerts in 30 days | where nothing happens |"
    yield "|---|---|---|---|---|---|"
    for name in sorted(many[0]["false"], key=lambda rule: rule != "ours"):
        ours = name == "ours"
        found = [one for one in above if one["delay"][name] is not None]
        share = len(found) / max(1, len(above))
        delays = [one["delay"][name] for one in found if not one["labels"]]
        late = [one["delay"][name] for one in found if one["labels"]]
        false = sum(piece["false"][name] for piece in many) / days * 30
        idle = sum(piece["alerts"][name] for piece in nothing) / quiet_days * 30
        marked = f"**{share:.1%}**" if ours and share < 0.95 else f"{share:.1%}"
        yield (
            f"| {name} | {marked} | {_median(delays)} | {_median(late)} | {false:.2f} | "
            f"{_shown(idle, 0.5 if ours else np.inf)} |"
        )
    missed = Counter(
        one["kind"].replace("_", " ") for one in above if one["delay"]["ours"] is None
    ).most_common()
    yield f"\nNot found by us: {', '.join(f'{kind} ({n})' for kind, n in missed) or 'none'}.\n"


def _matched(known: Mapping[str, Any]) -> Iterator[str]:
    """The field's statistics at our number of false alerts."""
    if not known:
        return
    yield "#### The field's statistics, with limits that make as many false alerts as ours\n"
    yield (
        "Their limits are the lowest ones that make no more alerts than ours where nothing happens (one, "
        "where ours are none), on the same days. p is that of Kolmogorov and Smirnov's or the χ² test, index "
        "the stability index, Jensen and Shannon's distance that of NannyML and Evidently. Incidents large "
        "enough, labels' left out. Asked for: ours later by more than half a day in at most 2 %.\n"
    )
    yield "| log | statistic | limit | found | median days | ours later, or never | ours sooner, or only |"
    yield "|---|---|---|---|---|---|---|"
    for log, found in known.items():
        for name in ("ours", *found["limits"]):
            pairs = [(_never(one["ours"]), _never(one[name])) for one in found["delays"]]
            delays = [theirs for _, theirs in pairs if theirs < np.inf]
            later = sum(ours > theirs + 0.5 for ours, theirs in pairs)
            sooner = np.mean([theirs > ours + 0.5 for ours, theirs in pairs])
            limit = "" if name == "ours" else f"{abs(found['limits'][name]):.2g}"
            yield (
                f"| {log} | {name} | {limit} | {len(delays) / len(pairs):.0%} | {_median(delays)} | "
                f"{_shown(100 * later / len(pairs), 2.0, 0)} % ({later} of {len(pairs)}) | {sooner:.0%} |"
            )
    some = ", ".join(f"{log} {one['alerts']} in {one['days']:,} days" for log, one in known.items())
    yield f"\nOur alerts where nothing happens: {some}.\n"


def _never(delay: int | None) -> float:
    """Days, or infinity."""
    return np.inf if delay is None else delay


def _median(delays: Sequence[int]) -> str:
    return f"{np.median(delays):g}" if delays else "–"


def _twice(known: Known) -> Iterator[str]:
    yield "### Two in a row\n"
    yield "Broken, well for 4 to 10 days, broken again and less: class, labels, level, missing values.\n"
    yield "| log | pairs | first found | second found |"
    yield "|---|---|---|---|"
    for log, many in sorted(_pieces(known, "twice").items()):
        pairs = [found[1:] for piece in many for found in piece]
        counts = [sum(pair[at] for pair in pairs) for at in (0, 1)]
        shown = " | ".join(f"{count}" if count == len(pairs) else f"**{count}**" for count in counts)
        yield f"| {log} | {len(pairs)} | {shown} |"


def _in_order(known: Known) -> Iterator[str]:
    found = {name: known.get(f"in order|{name}|0") for name in in_order.SERIES}
    logs = {name: one for name, one in found.items() if one is not None}
    if not logs:
        return
    yield "\n### Real logs as they are\n"
    yield "All that begins in one cycle is one notice; asked for are at most 2 in 30 days.\n"
    for name, one in logs.items():
        yield from _of_series(in_order.SERIES[name], one)
    titles = " | ".join(in_order.SERIES[name].title for name in logs)
    yield f"\nNotices in 30 days, and the share of days on which an alert stands:\n\n| rule | {titles} |"
    yield "|---|" + "---|" * len(logs)
    for rule in next(iter(logs.values()))["rules"]:
        cells = (one["rules"][rule] for one in logs.values())
        yield f"| {rule} | {' | '.join(f'{notices:.1f}; {standing:.0%}' for _, notices, standing in cells)} |"


def _of_series(series: in_order.Series, found: Mapping[str, Any]) -> Iterator[str]:
    known = sum(day in series.happened for day, *_ in found["table"])
    calendar = "With a calendar of holidays" if series.holidays else "Without a calendar"
    without = f", without {found['without']:.2f}" if series.holidays else ""
    yield (
        f"* **{series.title[0].upper()}{series.title[1:]}**: {series.about} {calendar} "
        f"{_shown(found['notices'], 2.0)} notices in 30 days{without}. An alert stands on "
        f"{found['standing']:.0%} of the days. Of what had records, the values of {found['judged']:.0%} are "
        f"checked. Of {len(found['table'])} alerts we know what happened of {known} "
        "(`benchmarks/alert_gates`)."
    )


def _shown(value: float, most: float, digits: int = 2) -> str:
    text = f"{value:.{digits}f}"
    return text if value <= most else f"**{text}**"
