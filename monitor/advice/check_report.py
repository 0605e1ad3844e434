"""How `monitor check` says what it found, of channels, too: lines for people, JSON, an exit code."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

from monitor.advice.model_checks import CheckedModel, CheckFinding, CheckResult, check_tables
from monitor.advice.relation_forecast import relation_lines
from monitor.advice.watch_forecast import WatchForecast, forecast_lines, forecast_watch
from monitor.config.config_loading import examine_file
from monitor.config.unjudgeable_rules import never_judged
from monitor.core.clock import DAY, SECOND, floor_to, to_iso
from monitor.core.errors import ConfigurationError, NotificationError
from monitor.core.secrets import SHORTEST
from monitor.core.text import json_text, readable_text
from monitor.measures.catalogue.daily_measures import FEWEST_DAYS
from monitor.notify.channels import open_channel, service_behind
from monitor.show.terminal_words import counted_noun, iso_or_none, say_line, say_lines, wrap_width
from monitor.specs.fault_words import quote_names
from monitor.specs.settings import ChannelSpec, HttpSpec, Settings
from monitor.specs.urls import fill_url, has_short_password
from monitor.web.guard import exposure_warning
from monitor.web.server_files import make_certificate_reloader, make_secrets_reloader


def run_check(
    path: Path,
    environ: Mapping[str, str],
    now: int,
    *,
    offline: bool,
    strict: bool,
    explain: bool,
    prove: bool,
    form: str,
) -> int:
    """Check a configuration and its tables, print what was found; return the exit code.

    Parameters
    ----------
    now
        what lies after it is in the future.
    form
        "text" or "json".
    """
    try:
        examined = examine_file(path, environ)
        if examined.faults:
            checked = CheckResult(
                tuple(CheckFinding(model, text, placed=True) for model, text in examined.faults)
            )
            models = 0
        else:
            settings = examined.settings
            checked = _check_valid_settings(
                settings, path.parent, now, offline=offline, explain=explain, prove=prove
            )
            models = len(settings.models)
    except ConfigurationError as error:
        checked, models = CheckResult(tuple(CheckFinding(None, text) for text in error.faults)), 0
    if form == "json":
        say_lines(json_text(plain_check_result(path, checked), indent=2))
    else:
        _say_result(path, checked, models, now, explain=explain)
    if checked.faults:
        return 2
    return 1 if strict and checked.warnings else 0


def _check_valid_settings(
    settings: Settings, base: Path, now: int, *, offline: bool, explain: bool, prove: bool
) -> CheckResult:
    """What is found of a file that has no fault."""
    if offline:
        unseen = ((model.name, forecast_watch(model, looked=False)) for model in settings.models)
        checked = CheckResult(unseen=tuple(unseen))
    else:
        checked = check_tables(settings, base, now, explain=explain, prove=prove, say=_say_of_model)
        checked = replace(checked, faults=(*_file_faults(settings.http, base), *checked.faults))
    of_channels, odd_channels = check_channels(settings)
    of_settings = [*filter(None, [exposure_warning(settings.http)]), *_password_warnings(settings)]
    return replace(
        checked,
        faults=(*checked.faults, *(CheckFinding(None, text) for text in of_channels)),
        warnings=(
            *_rule_warnings(settings),
            *(CheckFinding(None, text) for text in of_settings),
            *checked.warnings,
            *(CheckFinding(None, text) for text in odd_channels),
        ),
    )


def plain_check_result(path: Path, checked: CheckResult) -> dict[str, Any]:
    """Everything that was found, for JSON."""
    return {
        "config": str(path),
        "faults": [{"model": finding.model, "text": finding.text} for finding in checked.faults],
        "warnings": [{"model": finding.model, "text": finding.text} for finding in checked.warnings],
        "models": [
            *(_plain_model(model) for model in checked.models),
            *({"model": name} | _plain_watched(watched) for name, watched in checked.unseen),
        ],
        "notes": list(checked.notes),
    }


def explained_lines(model: CheckedModel) -> Iterator[str]:
    """Lines on what a model costs, and each of its statements with its plan."""
    yield f'model "{model.name}"'
    found = model.inspection
    newest = "" if found.findings.newest is None else f", the newest of {to_iso(found.findings.newest)}"
    labels = "" if found.labels is None else f"; {found.labels} labels"
    yield f"  rows: {found.rows} predictions{newest}{labels}"
    yield from _read_lines(model)
    held = ", ".join(f"{name} {count:,}" for name, count in model.series.by_group.items() if count)
    yield f"  series: about {model.series.total:,} of max_series {model.max_series:,} ({held})"
    if model.bill:
        yield f"  {model.bill}"
    for query in model.queries:
        yield f"  -- each {query.every}: {query.purpose}"
        yield from (f"     {line}" for line in query.sql.split("\n"))
        yield from (f"       plan: {line}" for line in query.plan)


def _rule_warnings(settings: Settings) -> Iterator[CheckFinding]:
    """Warnings of rules that can never run."""
    for model in settings.models:
        for rule, reason in never_judged(model):
            yield CheckFinding(model.name, f'rule "{rule}" can never run: {reason}')


def _password_warnings(settings: Settings) -> Iterator[str]:
    """Warnings of passwords that messages may show."""
    urls = {"store.url": settings.store.url}
    urls |= {f"sources.{source.name}.url": source.url for source in settings.sources}
    urls |= {
        f"sources.{source.name}.catalog": source.catalog for source in settings.sources if source.catalog
    }
    for key, url in urls.items():
        with suppress(ValueError):  # a file that cannot be read is told of where it is needed
            if has_short_password(fill_url(url)):
                yield (
                    f"{key}: a password of less than {SHORTEST} characters is hidden in URLs alone, "
                    "not wherever a message quotes it: take a longer one"
                )


def _file_faults(http: HttpSpec, base: Path) -> Iterator[CheckFinding]:
    """Faults of the files that the port needs."""
    for read in (make_certificate_reloader, make_secrets_reloader):
        try:
            read(http, base)
        except ConfigurationError as error:
            yield from (CheckFinding(None, text) for text in error.faults)


def _read_lines(model: CheckedModel) -> Iterator[str]:
    if model.reads is None:
        yield "  reads: not known: no index finds the rows of the last week, or there are none"
        return
    yield (
        f"  reads: about {counted_noun(round(model.reads.per_cycle), 'row')} a cycle for new predictions "
        f"({model.reads.per_hour:,.1f} come in an hour)"
    )
    if model.reads.per_label is not None:
        yield f"  reads: about {model.reads.per_label:,.1f} rows for each new label"
    if model.reads.searched is not None:
        predictions, labels = model.reads.searched
        yield (
            f"  reads: to find whose new labels are, a cycle reads some columns of about {predictions:,} "
            f"predictions and {labels:,} labels: files have no index"
        )


def _say_result(path: Path, checked: CheckResult, models: int, now: int, *, explain: bool) -> None:
    for warning in checked.warnings:
        say_line(f"warning: {warning}", err=True)
    for fault in checked.faults:
        say_line(str(fault), err=True)
    for model in checked.models if explain else ():
        say_lines("\n".join(map(readable_text, explained_lines(model))), width=wrap_width())
    for name, line in ((model.name, line) for model in checked.models for line in _proof_lines(model)):
        say_lines(readable_text(f'model "{name}": {line}'), width=wrap_width())
    if checked.faults:
        return
    for note in checked.notes:
        say_line(note)
    notes = [(model.name, _note_lines(model, now)) for model in checked.models]
    notes += [(name, forecast_lines(watched)) for name, watched in checked.unseen]
    for name, line in ((name, line) for name, lines in notes for line in lines):
        say_lines(readable_text(f'model "{name}": {line}'), width=wrap_width())
    warned = counted_noun(len(checked.warnings), "warning")
    say_line(f"{path}: {counted_noun(models, 'model')}, no faults, {warned}")


def _say_of_model(name: str, text: str) -> None:
    """What costs something is said before it is done, beside what is read by programs."""
    say_line(readable_text(f'model "{name}": {text}'), err=True)


def _proof_lines(model: CheckedModel) -> Iterator[str]:
    """How a pane counted by GROUP BY compares, if that is no fault; what either way cost."""
    proof = model.proof
    if proof is None:
        return
    if not proof.failed:
        yield proof.text
    if proof.here is not None and proof.grouped is not None:
        yield (
            f"counting {counted_noun(proof.rows, 'row')} took {proof.here.seconds:.1f} s here "
            f"({counted_noun(proof.here.rows, 'row')} came), {proof.grouped.seconds:.1f} s by GROUP BY "
            f"({proof.grouped.rows:,} came)"
        )


def _note_lines(model: CheckedModel, now: int) -> Iterator[str]:
    """What was found by itself, how labels are counted, what will be watched and when it can be judged."""
    findings = model.inspection.findings
    if findings.oldest is not None and findings.newest is not None:
        yield _log_line(model, findings.oldest, findings.newest, now)
    if model.find_features:
        numeric, categorical = (", ".join(names) or "none" for names in (model.numeric, model.categorical))
        yield f"numeric features: {numeric}; categorical: {categorical}"
    if model.label_counting is not None:
        yield str(model.label_counting)
    yield from forecast_lines(model.watching, findings.oldest, findings.newest)
    if model.relation is not None:
        yield from relation_lines(model.relation)
    yield from model.accepted
    rows = "rows not known"
    if model.reads is not None:
        rows = f"about {counted_noun(round(24 * model.reads.per_hour), 'row')} a day"
    most = f"max_series = {model.max_series:,} at most"
    yield f"expected: {rows}; about {model.series.total:,} series for Prometheus, {most}"


def _log_line(model: CheckedModel, oldest: int, newest: int, now: int) -> str:
    """Since when there are rows, and what lives those days again of which one is judged."""
    rows = f"log: rows from {to_iso(oldest)[:10]} to {to_iso(newest)[:10]}"
    misdated = model.inspection.findings.misdated
    if misdated is not None and misdated.n:
        rows += f", and {misdated} dated years off, which no window counts"
    elif model.inspection.findings.has_older:
        rows += ", and older ones before a pause of half a year or more"
    start = floor_to(oldest, DAY) + (1 + FEWEST_DAYS) * DAY
    end = min(floor_to(newest, DAY) + DAY, floor_to(now, DAY))
    if end <= start:
        return rows
    time = f"--from {to_iso(start)[:10]} --to {to_iso(end)[:10]}"
    return (
        f"{rows}; to replay its history: monitor replay --model {shlex.quote(model.name)} {time} --every 1d"
    )


def _plain_model(model: CheckedModel) -> dict[str, Any]:
    reads, labels = model.reads, model.label_counting
    found, findings = model.inspection, model.inspection.findings
    return {
        "model": model.name,
        "numeric": list(model.numeric),
        "categorical": list(model.categorical),
        "rows": None if found.rows is None else found.rows.n,
        "rows_are_more": found.rows is not None and found.rows.more,
        "labels": None if found.labels is None else found.labels.n,
        "oldest": iso_or_none(findings.oldest),
        "newest": iso_or_none(findings.newest),
        "misdated": None if findings.misdated is None else findings.misdated.n,
        "series": dict(model.series.by_group),
        "max_series": model.max_series,
        "rows_per_hour": None if reads is None else reads.per_hour,
        "rows_per_cycle": None if reads is None else reads.per_cycle,
        "rows_per_label": None if reads is None else reads.per_label,
        "labels_by_difference": None if labels is None else not labels.whole_because,
        "labels_whole_because": None if labels is None else labels.whole_because or None,
        **_plain_watched(model.watching),
        "accepted": list(model.accepted),
        "queries": [
            {"purpose": query.purpose, "every": query.every, "sql": query.sql, "plan": list(query.plan)}
            for query in model.queries
        ],
        **({} if model.proof is None else {"proof": model.proof.plain_values()}),
    }


def _plain_watched(watched: WatchForecast) -> dict[str, Any]:
    return {
        "windows": list(watched.windows),
        "rules_now": list(watched.now),
        "rules_later": dict(watched.later),
        "rules_never": dict(watched.never),
        "settles_after": None if watched.settles_after is None else watched.settles_after / SECOND,
    }


def check_channels(settings: Settings) -> tuple[list[str], list[str]]:
    """Faults and warnings of the channels; nothing is sent."""
    faults, warnings = list[str](), list[str]()
    targets: list[tuple[ChannelSpec, str]] = []
    shows_files = False
    for spec in settings.channels:
        try:
            channel = open_channel(spec.url)
            targets.append((spec, channel.receiver_identity))
            shows_files |= channel.shows_files
        except NotificationError as error:
            faults.append(f'channel "{spec.name}": url: {error}')
        if service := service_behind(spec.url):
            rule = f"this is an address of {service}, which takes no webhook's JSON"
            warnings.append(f'channel "{spec.name}": url: {rule}: write it as an Apprise URL')
    if shows_files and find_spec("resvg_py") is not None:
        from monitor.pages.png_drawing import draws_words

        if not draws_words():
            warnings.append(
                "messages go without pictures: there are no fonts here, as fonts-dejavu-core of Debian"
            )
    return faults, [*warnings, *_duplicate_warnings(targets, settings), *_routed_warnings(settings)]


def _duplicate_warnings(targets: Sequence[tuple[ChannelSpec, str]], settings: Settings) -> Iterator[str]:
    for (first, here), (second, there) in combinations(targets, 2):
        both = [
            model
            for model in _models_of_channel(first, settings)
            if model in _models_of_channel(second, settings)
        ]
        if here == there and both:
            yield (
                f'channels "{first.name}" and "{second.name}" go to the same receiver: '
                f"alerts of {quote_names(both)} arrive twice"
            )


def _routed_warnings(settings: Settings) -> Iterator[str]:
    """Labels are there for Alertmanager: what it sends, and what a channel is sent, are two messages."""
    models = [
        model.name
        for model in settings.models
        if settings.list_recipients(model.name) and any(rule.labels for rule in model.rules)
    ]
    if models:
        yield (
            f"alerts of {quote_names(models)} have labels for Alertmanager, and channels: where Prometheus "
            "knows "
            "their rules too, they arrive twice; leave one of [[notify]] and the labels out"
        )


def _models_of_channel(spec: ChannelSpec, settings: Settings) -> list[str]:
    names = [model.name for model in settings.models]
    return names if spec.models is None else [name for name in names if name in spec.models]
