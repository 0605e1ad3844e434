"""Look at tables that nobody has described, write a configuration that passes the check, hand it over."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, unquote_plus

import click
import numpy as np

from monitor.advice.label_counting import LabelCounting, label_counting
from monitor.advice.log_habits import far_off
from monitor.advice.log_silence import silence_warnings
from monitor.advice.row_findings import shortest_horizon_text
from monitor.advice.table_inspection import TableInspection, inspect_model
from monitor.config.config_loading import settings_of
from monitor.config.secret_filling import PlaceFilling
from monitor.core.array_types import Ints
from monitor.core.clock import DAY, floor_to, format_duration
from monitor.core.errors import ConfigurationError, MonitorError
from monitor.core.text import double_quoted, unquote_table
from monitor.look.id_matches import found_ids, labelled_values
from monitor.look.row_samples import find_log_span
from monitor.look.table_look import ENOUGH, TableLook, look_at_columns, time_of_column
from monitor.setup.column_roles import guess_roles
from monitor.setup.config_text import ConfigDraft, config_text, missing_roles
from monitor.setup.learnt_outputs import learn_outputs, learn_prediction
from monitor.setup.nested_columns import holds_json, json_values_query
from monitor.setup.output_guesses import number_columns
from monitor.setup.role_guess import GuessedRoles, RoleGuess
from monitor.show.terminal_words import counted_noun, say_line, say_lines
from monitor.sources import SqlSource, open_source
from monitor.sources.reference_loading import load_reference_file
from monitor.specs.model_spec import ModelSpec, Relation, SourceSpec
from monitor.specs.protocols import Range
from monitor.specs.urls import PLACES, is_secret, resolve_url

_PASSWORD = re.compile(r"^([^:/?#]+://[^:/@]*:)(.*)(@)", re.DOTALL)
_PLACE = re.compile(r"\$\{[^{}]*\}")

_FEW_VALUES = 12  # of a column whose values are worth to be measured apart
_REFERENCE_DAYS = 28  # more, where these hold fewer rows than
_REFERENCE_ENOUGH = 2_000
_REFERENCE_ROWS = 200_000
_ENOUGH = 2  # days of log that are left beside the reference, at least


def template_url(url: str, name: str) -> tuple[str, dict[str, str]]:
    """URL with `${…}` for its password and for secrets of its query string, and their values by name.

    >>> template_url("postgresql://ann:s%40t@db/app", "APP")
    ('postgresql://ann:${APP_PASSWORD}@db/app', {'APP_PASSWORD': 's@t'})
    >>> template_url("postgresql://ann:${PW}@db/app", "APP")
    ('postgresql://ann:${PW}@db/app', {})
    """
    values: dict[str, str] = {}
    base, mark, query = url.partition("?")
    of_value = unquote if url.partition("://")[0] in PLACES else unquote_plus  # keys of stores hold +
    password = _PASSWORD.match(base)
    if password and password[2] and not _PLACE.fullmatch(password[2]):
        values[f"{name}_PASSWORD"] = unquote(password[2])
        base = f"{password[1]}${{{name}_PASSWORD}}@{base[password.end() :]}"
    parts = []
    for part in query.split("&"):
        key, equals, value = part.partition("=")
        if equals and is_secret(key) and not _PLACE.fullmatch(value):
            place = f"{name}_{re.sub(r'[^A-Za-z0-9]+', '_', key).upper()}"
            values[place] = of_value(value)
            parts.append(f"{key}=${{{place}}}")
        else:
            parts.append(part)
    return base + mark + "&".join(parts), values


def source_name(url: str) -> str:
    """Name for a source: that of its database, or of the place that is filled with its URL.

    >>> source_name("sqlite:////data/my flights.db"), source_name("postgresql://db.example/app?sslmode=on")
    ('my_flights', 'app')
    >>> source_name("s3://bucket?region=eu-central-1"), source_name("s3://bucket/ml/")
    ('bucket', 'ml')
    >>> source_name("${SERVING_URL}")
    'serving'
    """
    if _PLACE.fullmatch(url):
        return _source_word(re.sub(r"(?i)_?(url|uri|dsn)$", "", url.strip("${}").rpartition("/")[2]).lower())
    host, _, path = url.partition("?")[0].partition("://")[2].rstrip("/").partition("/")
    path = path or (host if url.partition("://")[0] in PLACES else "")
    stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    return _source_word(unquote(stem))


def _source_word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_") or "source"


@dataclass(frozen=True, slots=True)
class FirstConfig:
    """A configuration, and what is to be done about it."""

    text: str  # TOML
    missing: tuple[str, ...]  # roles to fill in before it can be used
    # faults, warnings: what `check` says of it.
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()  # names of environment variables that it needs
    # how its labels will be counted; None: it has none, or faults.
    label_counting: LabelCounting | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTables:
    """Tables that nobody has described, as `monitor init` is told of them."""

    url: str  # of the database; may hold `${NAME}`: secrets are not written
    predictions: str  # as `labels`: a table or a view
    labels: str | None = None
    labels_where: str | None = None  # condition on the labels: the table may be shared by several models
    name: str | None = None  # of the model; None: that of the table
    reference: Path | None = None  # file of it; None: the log's own first days
    catalog: str | None = None  # URL of the Iceberg catalogue that names the tables, as `url`


def first_config(
    asked: AskedTables, environ: Mapping[str, str], now: int, directory: Path = Path()
) -> FirstConfig:
    """Look at tables and write what they seem to be.

    Parameters
    ----------
    environ
        environment for `${NAME}`.
    now
        what lies after it is in the future.
    directory
        in which the configuration will stand.

    Raises
    ------
    ConfigurationError
        if a place in a URL cannot be filled.
    SourceError
        if the database does not answer, or there is no such table.
    """
    predictions, labels, reference = asked.predictions, asked.labels, asked.reference
    try:
        predictions, labels = unquote_table(predictions), None if labels is None else unquote_table(labels)
    except ValueError as error:
        raise ConfigurationError([str(error)]) from None
    filling = PlaceFilling(environ)
    url, catalog = (
        None if text is None else str(filling.fill_value(text, (key,)))
        for key, text in (("url", asked.url), ("catalog", asked.catalog))
    )
    if filling.faults:
        raise ConfigurationError([f"--{fault.loc[0]}: {fault.text}" for fault in filling.faults])
    name_of_source, below = source_name(asked.url), Path(os.path.relpath(Path(), directory))
    prefix = re.sub(r"\W", "_", name_of_source).upper()
    written, secrets = template_url(_placed_url(asked.url, below), prefix)
    named_by, more = (
        (None, {})
        if asked.catalog is None
        else template_url(_placed_url(asked.catalog, below), f"{prefix}_CATALOG")
    )
    secrets |= more
    source = open_source(SourceSpec(name=name_of_source, url=str(url), catalog=catalog))
    try:
        of_labels = None if labels is None else Relation(table=labels, where=asked.labels_where)
        first = look_at_columns(source, Relation(table=predictions), "p", now)
        second = None if of_labels is None else look_at_columns(source, of_labels, "l", now)
        draft = _draft_config(source, first, second, now, asked.name, name_of_source, written)
        draft = replace(draft, catalog=named_by)
        if reference is not None:
            draft = _with_file(draft, reference, directory)
        missing, guessed = missing_roles(draft.roles), draft.roles
        if missing:
            # Without rows a type alone tells times, and nothing tells ids.
            empty = f'table "{predictions}" has no rows: run init again once it has some'
            return FirstConfig(
                config_text(draft),
                tuple(missing),
                faults=() if first.looked else (empty,),
                variables=tuple(secrets),
            )
        tables = {"p": first} if second is None else {"p": first, "l": second}
        filled_places = {**environ, **secrets}
        checked, model = _check_draft(draft, source, tables, filled_places, now, directory)
        learnt = learn_outputs(draft.roles, checked.findings, model.reading)
        draft = replace(draft, roles=learnt, horizon=_longer_horizon(checked.findings.delays, model))
        # What was learnt changes how rows are read: what is said must be of the configuration as it is
        # written.
        if draft.horizon is not None or learnt != guessed:
            checked, model = _check_draft(draft, source, tables, filled_places, now, directory)
        labelling = (
            None
            if checked.faults
            else label_counting(model, source, checked.index_remedies, checked.warnings)
        )
    finally:
        source.close()
    warnings = [*_unused_labels_warning(draft), *checked.warnings]
    records = checked.findings.records
    if records is not None and checked.reference is not None and reference is not None:
        warnings += far_off(records, checked.reference[0], model)
    return FirstConfig(config_text(draft), (), checked.faults, tuple(warnings), tuple(secrets), labelling)


def _placed_url(url: str, directory: Path) -> str:
    """URL as it is meant from another directory."""
    return url if _PLACE.search(url) else resolve_url(url, directory)


def _unused_labels_warning(draft: ConfigDraft) -> list[str]:
    """That a table of labels was named, and nothing of it is in what is written."""
    if draft.labels is None or draft.roles.own_table is not None:
        return []
    why = f"no column of table {double_quoted(draft.labels)} is seen to be the truth, as in an empty table"
    effect = (
        f"{why}: [models.labels] is left out, and performance would not be watched; fill it in, or run init "
        "again once there are labels. A prediction may be among the features"
    )
    return [effect]


def _draft_config(
    source: SqlSource,
    first: TableLook,
    second: TableLook | None,
    now: int,
    name: str | None,
    of: str,
    url: str,
) -> ConfigDraft:
    predictions = str(first.relation.table)
    of_labels = None if second is None else second.relation
    roles = guess_roles(
        first,
        second,
        lambda own, theirs: None if second is None else found_ids(source, first, second, own, theirs),
    )
    if roles.task == "regression" and "prediction" not in roles.predictions:
        roles = _find_prediction(source, first, second, roles)
    nested = [column for column in first.columns if holds_json(column)]
    event_time = roles.predictions.get("event_time")
    naive = event_time is not None and event_time.unit is None and first.find_column(event_time.column).naive
    return ConfigDraft(
        source=of,
        url=url,
        name=re.sub(r"[^A-Za-z0-9_.-]+", "_", name or re.split("[./]", predictions)[-1]),
        predictions=predictions,
        labels=None if of_labels is None else of_labels.table,
        roles=roles,
        looked="; ".join(
            f"{counted_noun(table.looked, 'row')} of {table.rows} in {table.relation.table}"
            f"{'' if table.files is None else f' ({table.files})'}"
            for table in (first, second)
            if table is not None
        ),
        naive=naive,
        reference=_reference_range(source, first, roles, now),
        refused=first.refused,
        nested=tuple(column.name for column in nested),
        taken_out=json_values_query(source.reader.engine, predictions, nested),
        labels_where=None if of_labels is None else of_labels.where,
        few=tuple(column.name for column in first.columns if 1 < column.distinct <= _FEW_VALUES),
    )


def _find_prediction(
    source: SqlSource, first: TableLook, second: TableLook | None, roles: GuessedRoles
) -> GuessedRoles:
    """The column that goes with the label, where no name tells which one is the prediction."""
    label, (own, their) = (
        roles.labels.get("label"),
        (side.get("id") for side in (roles.predictions, roles.labels)),
    )
    columns = number_columns(first, roles)
    if label is None or not columns or (second is not None and (own is None or their is None)):
        return roles
    ids = [[] if guess is None else [guess.column, *guess.more] for guess in (own, their)]
    rows = labelled_values(source, first, second, (ids[0], ids[1]), label.column, columns)
    return roles if rows is None else learn_prediction(roles, first, rows)


def _with_file(draft: ConfigDraft, file: Path, directory: Path) -> ConfigDraft:
    """With a file as reference: features are those of the columns that it has too."""
    there = set(load_reference_file(file).column_names)
    roles = replace(
        draft.roles,
        numeric=tuple(name for name in draft.roles.numeric if name in there),
        categorical=tuple(name for name in draft.roles.categorical if name in there),
    )
    return replace(draft, roles=roles, file=os.path.relpath(file, directory))


def _reference_range(
    source: SqlSource, log: TableLook, roles: GuessedRoles, now: int
) -> tuple[int, int] | None:
    """Whole days from the log's first on: few enough rows to read at once, at most half of the log."""
    guess = roles.predictions.get("event_time")
    if guess is None:
        return None
    span = _log_span(source, log, guess, now)
    if span is None or span[1] - span[0] < 2 * _ENOUGH * DAY:
        return None
    days = (span[1] - span[0]) // DAY
    a_day = max(_rows_per_day(log, guess, span), 0.01)
    wanted = max(_REFERENCE_DAYS, int(_REFERENCE_ENOUGH / a_day))
    length = min(wanted, days // 2, int(_REFERENCE_ROWS / a_day))
    start = floor_to(span[0] + DAY - 1, DAY)
    return (start, start + length * DAY) if length >= 1 else None


def _log_span(source: SqlSource, log: TableLook, guess: RoleGuess, now: int) -> Range | None:
    """First and last event time; of the rows looked at, where finding those of all would read all."""
    column = log.find_column(guess.column)
    with source.reader.open_session() as session:
        event = time_of_column(session, log, column)
        if event is not None and event.sortable:
            span = find_log_span(session, log, event, now)
            return None if span is None else (span.oldest, span.newest)
    times = column.parse_moments(guess.unit)
    moments = np.zeros(0, np.int64) if times is None else times.us[times.known]
    return (int(moments.min()), int(moments.max())) if len(moments) else None


def _rows_per_day(log: TableLook, guess: RoleGuess, span: Range) -> float:
    """Rows a day: of the whole log, or, where it was not counted to its end, of the rows looked at."""
    times = log.find_column(guess.column).parse_moments(guess.unit)
    if not log.rows.more or times is None or not times.known.any():
        return log.rows.n * DAY / (span[1] - span[0])
    moments = times.us[times.known]
    return len(moments) * DAY / max(float(moments.max() - moments.min()), 1.0)


def _check_draft(
    draft: ConfigDraft,
    source: SqlSource,
    tables: Mapping[str, TableLook],
    environ: Mapping[str, str],
    now: int,
    base: Path,
) -> tuple[TableInspection, ModelSpec]:
    """Read the text as `check` would, and look at the tables by it."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "config.toml"
        path.write_text(config_text(draft), encoding="utf-8")
        (model,) = settings_of(path, environ).models
        found = inspect_model(model, source, base, now, tables)
        silent = () if found.look is None else silence_warnings(found.look, source, found.findings.newest)
        return replace(found, warnings=(*found.warnings, *silent)), model


def _longer_horizon(delays: Ints, model: ModelSpec) -> tuple[str, str] | None:
    """A longer horizon than the default, where labels come late: it should be several times their delay."""
    if len(delays) < ENOUGH:
        return None
    age = max(0, int(np.quantile(delays, model.keys.settled_share, method="inverted_cdf")))
    wanted = shortest_horizon_text(model, 2 * age)
    days = int(wanted.removesuffix("d"))
    if days * DAY <= model.reading.horizon:
        return None
    longest = format_duration(max(window.length for window in model.windows))
    share = f"{model.keys.settled_share:.0%} of {len(delays):,} labels"
    return wanted, f"the longest window, {longest}, and twice the {age / DAY:.1f}d in which {share} came"


def run_init(output: Path | None, asked: AskedTables, environ: Mapping[str, str], now: int) -> int:
    """Write a first configuration; return the exit code: 1 where something must be filled in by hand.

    Parameters
    ----------
    output
        None: to standard output. An existing file is never overwritten.
    now
        what lies after it is in the future.
    """
    if output is not None and output.exists():
        raise click.UsageError(f"{output} is there already and is not overwritten: name another file")
    config = first_config(asked, environ, now, Path() if output is None else output.parent)
    if output is None:
        say_lines(config.text)
    else:
        try:
            with output.open("x", encoding="utf-8") as file:
                file.write(config.text)
        except OSError as error:
            raise MonitorError(f"{output} cannot be written: {error.strerror}") from error
        say_line(f"{output} is written", err=True)
    for line in _left_to_do(config):
        say_line(line, err=True)
    return 1 if config.missing or config.faults else 0


def _left_to_do(config: FirstConfig) -> list[str]:
    lines = [f"fill in before use: {role} (no column looks like it)" for role in config.missing]
    lines += [f"fault: {text}" for text in config.faults]
    lines += [f"warning: {text}" for text in config.warnings]
    lines += [] if config.label_counting is None else [str(config.label_counting)]
    lines += [f"set the environment variable {name} where the monitor runs" for name in config.variables]
    return lines
