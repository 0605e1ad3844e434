"""Counting by GROUP BY where the rows are: the statements, in SQL that means the same on every engine.

Each statement groups a derived table by its plain columns. Nothing whole is divided, no double becomes
an integer but a whole one, NULL is asked for first, and NaN and infinities lie outside the finite doubles.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from monitor.core.array_types import Ints
from monitor.records.counting import Counting
from monitor.sources.engines.engine import Engine
from monitor.sources.sql.relations import SurveyedRelation, make_event_time
from monitor.sources.sql.scan import MOST_FILTERS, select_feature_outputs, select_prediction_outputs
from monitor.sources.sql.statements import INT64_MAX, ColumnKind, OutputColumn, ReadSession, Statement
from monitor.sources.sql.time_ranges import FACTORS, close_smallest_gaps, merge_ranges
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import Range
from monitor.states.grids import NumericGrid
from monitor.states.sums import HALF, LIMIT

_LARGEST = 1.7976931348623157e308
_WHOLE = 2.0**52  # from here on every double is a whole number
PARTS = ("n", "out", "hi", "lo")  # of an exact sum, as the layout has them


@dataclass(frozen=True)
class PushedRows:
    """Rows of some panes as a derived table, and what is counted of them."""

    engine: Engine
    counting: Counting
    # SELECT of the rows that are visible: `pane`, `us`, `seen`, `unlogged`, and a column for each output.
    rows: str
    # columns of the log by role, as they are read where they are not pushed down.
    outputs: tuple[OutputColumn, ...]

    @cached_property
    def column_by_role(self) -> Mapping[str, str]:
        """Name of the column of a role."""
        return {output.name: f"r{at}" for at, output in enumerate(self.outputs)}

    @property
    def identifier_columns(self) -> list[str]:
        """Columns of the id."""
        return [self.column_by_role[role] for role in self.column_by_role if role.partition(":")[0] == "id"]

    def moments_statement(self) -> Statement:
        """When each row was, and became visible; `named` 1 if it has an id; whether it serves."""
        full_name = " AND ".join(f"b.{name} IS NOT NULL" for name in self.identifier_columns)
        there = OutputColumn(
            "named", self._integer_sql(f"CASE WHEN {full_name} THEN 1 ELSE 0 END"), ColumnKind.EPOCH
        )
        times = _output_columns("b", us=ColumnKind.EPOCH, seen=ColumnKind.EPOCH, unlogged=ColumnKind.EPOCH)
        serving = [
            OutputColumn(role, f"b.{self.column_by_role[role]}", ColumnKind.TEXT)
            for role in self._serving_roles
        ]
        return Statement((*times, there, *serving), f"FROM ({self.rows}) AS b")

    def has_repeats_statement(self) -> Statement:
        """One row if an id is there more than once in a pane."""
        keys = ", ".join(["pane", *self._key_columns])
        some = (
            f"SELECT {keys}, count(*) AS n FROM ({self._identified_rows_sql}) AS b GROUP BY {keys} "
            "HAVING count(*) > 1"
        )
        return Statement((OutputColumn("n", "c.n", ColumnKind.EPOCH),), f"FROM ({some}) AS c LIMIT 1")

    def repeated_rows_statement(self) -> Statement:
        """All rows of ids that are there more than once, as they are read; times are instants."""
        others = [
            OutputColumn(output.name, f"d.{self.column_by_role[output.name]}", output.kind)
            for output in self.outputs
            if output.name not in ("event_time", "logged_at")
        ]
        times = _output_columns("d", us=ColumnKind.EPOCH, seen=ColumnKind.EPOCH, unlogged=ColumnKind.EPOCH)
        return Statement((*others, *times), f"FROM ({self._copies_sql}) AS d WHERE d.copies > 1")

    def volumes_statement(self, role: str | None, *, alone: bool) -> Statement:
        """Rows, stale rows and rows without `logged_at` of each pane and value of a role."""
        columns, keys = self._group_outputs_sql(role)
        horizon = self.counting.reading.horizon
        stale = f"sum(CASE WHEN seen - us > {horizon} THEN 1 ELSE 0 END) AS stale, sum(unlogged) AS unlogged"
        counted = (
            f"SELECT {keys}, count(*) AS n, {stale} FROM ({self._member_rows_sql(alone)}) AS e GROUP "
            f"BY {keys}"
        )
        sums = (
            OutputColumn(name, self._integer_sql(f"f.{name}"), ColumnKind.EPOCH)
            for name in ("n", "stale", "unlogged")
        )
        return Statement((*columns, *sums), f"FROM ({counted}) AS f")

    def cells_statement(self, role: str | None, values: Sequence[str], *, alone: bool) -> Statement:
        """Rows of each pane, value of a role, and cell of each of some blocks.

        A number's cell is its position in the layout; a text is counted as it is, behind its place among the
        blocks and a sign: - for NULL.
        """
        columns, keys = self._group_outputs_sql(role)
        blocks = {name: self._cell_sql(name, at) for at, name in enumerate(values)}
        named = [(sql, f"k{at}", kind) for at, (sql, kind) in enumerate(blocks.values())]
        inner = ", ".join([keys, *(f"{sql} AS {key}" for sql, key, _ in named)])
        sets = ", ".join(f"({keys}, {key})" for _, key, _ in named)
        selected, outputs = [], list(columns)
        for name, kind in (("position", ColumnKind.EPOCH), ("text", ColumnKind.TEXT)):
            if those := [key for _, key, of in named if of is kind]:
                selected.append(f"coalesce({', '.join(those)}) AS {name}")
                outputs.append(OutputColumn(name, f"f.{name}", kind))
        counted = (
            f"SELECT {', '.join([keys, *selected])}, count(*) AS n "
            f"FROM (SELECT {inner} FROM ({self._member_rows_sql(alone)}) AS e) AS g GROUP BY GROUPING SETS "
            f"({sets})"
        )
        outputs.append(OutputColumn("n", self._integer_sql("f.n"), ColumnKind.EPOCH))
        return Statement(tuple(outputs), f"FROM ({counted}) AS f")

    def sums_statement(self, *, alone: bool) -> Statement:
        """Exact sums of deviations and of their squares, in two halves: as `states.sums` makes them."""
        columns, keys = self._group_outputs_sql(None)
        names = [name for name in self.counting.summed_names if self.value_sql(name) is not None]
        layers: list[list[str]] = [[] for _ in range(5)]
        selected: list[str] = []
        outputs = list(columns)
        for at, name in enumerate(names):
            for layer, more in zip(layers, self._sum_layers(at, name), strict=True):
                layer.extend(more)
            for power in ("y", "z"):
                key = f"{power}{at}"
                sums = (f"sum(v{at})", f"sum(v{at}) - count(h{key})", f"sum(h{key})", f"sum(l{key})")
                selected += [f"{sql} AS {part}_{key}" for part, sql in zip(PARTS, sums, strict=True)]
                outputs += [
                    OutputColumn(
                        f"{part}:{power}:{name}", self._integer_sql(f"f.{part}_{key}"), ColumnKind.EPOCH
                    )
                    for part in PARTS
                ]
        sql = self._member_rows_sql(alone)
        for depth, layer in enumerate(layers):
            sql = f"SELECT {', '.join([keys, *layer])} FROM ({sql}) AS q{depth}"
        selected.append("count(*) AS n")
        outputs.append(OutputColumn("n", self._integer_sql("f.n"), ColumnKind.EPOCH))
        counted = f"SELECT {', '.join([keys, *selected])} FROM ({sql}) AS e GROUP BY {keys}"
        return Statement(tuple(outputs), f"FROM ({counted}) AS f")

    def value_sql(self, block: str) -> str | None:
        """SQL of the value of an output or a feature; None: there is no column."""
        if block != "prediction" or "prediction" in self.column_by_role:
            return self.column_by_role.get(block)
        reading, score = self.counting.reading, self.column_by_role.get("score")
        if score is None or reading.threshold is None:
            return None
        negative, positive = (self.engine.text_literal(name) for name in reading.classes)
        of_class = (
            f"CASE WHEN {score} >= {_number_literal(reading.threshold)} THEN {positive} ELSE {negative} END"
        )
        return f"CASE WHEN {_closed_range_condition(score, *reading.score_range)} THEN {of_class} END"

    @property
    def _key_columns(self) -> list[str]:
        return [
            *self.identifier_columns,
            *(self.column_by_role[role] for role in ("version",) if role in self.column_by_role),
        ]

    @property
    def _serving_roles(self) -> list[str]:
        return [role for role in ("serving",) if role in self.column_by_role]

    @property
    def _identified_rows_sql(self) -> str:
        there = " AND ".join(f"{name} IS NOT NULL" for name in self.identifier_columns)
        return f"SELECT * FROM ({self.rows}) AS b WHERE {there}"

    @property
    def _copies_sql(self) -> str:
        keys = ", ".join(["pane", *self._key_columns])
        return (
            f"SELECT c.*, count(*) OVER (PARTITION BY {keys}) AS copies FROM "
            f"({self._identified_rows_sql}) AS c"
        )

    def _member_rows_sql(self, alone: bool) -> str:  # noqa: FBT001 -- private
        """Rows that are the only one of their id; `alone`: all are."""
        return (
            self._identified_rows_sql
            if alone
            else f"SELECT * FROM ({self._copies_sql}) AS d WHERE copies = 1"
        )

    def _group_outputs_sql(self, role: str | None) -> tuple[tuple[OutputColumn, ...], str]:
        roles = [
            *self._serving_roles,
            *(name for name in (role,) if name is not None and name in self.column_by_role),
        ]
        marks = [OutputColumn(role, f"f.{self.column_by_role[role]}", ColumnKind.TEXT) for role in roles]
        keys = ", ".join(["pane", *(self.column_by_role[role] for role in roles)])
        return (OutputColumn("pane", "f.pane", ColumnKind.EPOCH), *marks), keys

    def _cell_sql(self, block: str, at: int) -> tuple[str, ColumnKind]:
        grid, sql = self.counting.output_grids[block], str(self.value_sql(block))
        if isinstance(grid, NumericGrid):
            return _grid_cell_sql(
                self.engine, sql, grid, self.counting.records_layout.offsets[block]
            ), ColumnKind.EPOCH
        return f"CASE WHEN ({sql}) IS NULL THEN '{at}-' ELSE '{at}+' || ({sql}) END", ColumnKind.TEXT

    def _integer_sql(self, sql: str) -> str:
        return self.engine.bigint_sql(sql)

    def _sum_layers(self, at: int, name: str) -> list[list[str]]:
        """Columns of five derived tables, each of the one before: where there is a value, its halves."""
        grid = self.counting.output_grids[name]
        assert isinstance(grid, NumericGrid)
        column, centre, scale = (
            self.value_sql(name),
            _number_literal(grid.centre),
            _number_literal(grid.scale),
        )
        near = _closed_range_condition(
            str(column), grid.centre - 2 * LIMIT * grid.scale, grid.centre + 2 * LIMIT * grid.scale
        )
        valid = _closed_range_condition(str(column), grid.lower, grid.upper)
        away = f"CASE WHEN {valid} AND {near} THEN {column} - ({centre}) END AS d{at}"
        # Too small to count, and to be divided and squared without an underflow, which PostgreSQL refuses.
        tiny = _number_literal(grid.scale * 2.0**-60)
        square, half = f"a{at} * a{at}", _number_literal(HALF)
        units = f"CASE WHEN abs(a{at}) < {_number_literal(LIMIT)} THEN a{at} * {half} END AS y{at}"
        halves = [f"u{power}{at}" for power in ("y", "z")]
        return [
            [f"CASE WHEN {valid} THEN 1 ELSE 0 END AS v{at}", away],
            [f"v{at}", f"CASE WHEN abs(d{at}) < {tiny} THEN 0e0 ELSE d{at} / {scale} END AS a{at}"],
            [
                f"v{at}",
                units,
                f"CASE WHEN {square} < {_number_literal(LIMIT)} THEN {square} * {half} END AS z{at}",
            ],
            [f"v{at}", *(f"{_round_sql(f'{power}{at}')} AS u{power}{at}" for power in ("y", "z"))],
            [
                f"v{at}",
                *(f"{self._integer_sql(f'floor({u} / {half})')} AS h{u[1:]}" for u in halves),
                *(f"{self._integer_sql(f'{u} - floor({u} / {half}) * {half}')} AS l{u[1:]}" for u in halves),
            ],
        ]


def why_no_pushdown(model: ModelSpec, survey: SurveyedRelation, counting: Counting) -> str | None:
    """Why a model's records are read here and not counted where they are; None: they are counted there."""
    reading = model.reading
    if reading.probabilities or counting.probability_classes:
        return "class probabilities are compared with one another"
    outputs = {
        output.name: output
        for output in (*select_prediction_outputs(survey, model), *select_feature_outputs(survey, model))
    }
    for role in ("event_time", "logged_at"):
        if role in outputs and _micros_sql(survey.engine, "x", outputs[role].kind, model, role) is None:
            return (
                f'the times of column "{reading.column_name(role)}" are texts, or local times of '
                f"{reading.zone}"
            )
    for name, grid in counting.output_grids.items():
        if isinstance(grid, NumericGrid) and name in outputs and outputs[name].kind is not ColumnKind.NUMBER:
            return f'column "{reading.column_name(name).removeprefix("feature:")}" holds numbers as texts'
    return None


def make_pushed_rows(
    session: ReadSession,
    survey: SurveyedRelation,
    model: ModelSpec,
    ranges: Sequence[Range],
    counting: Counting,
    *,
    panes: Ints,
    as_of: int,
) -> PushedRows | None:
    """Rows of panes as a derived table; None: there can be none.

    Rows are found by intervals of what their column holds, and by the microseconds of it.
    """
    reading, engine = model.reading, survey.engine
    span = (min(lo for lo, _ in ranges), max(hi for _, hi in ranges)) if ranges else (0, 0)
    outputs = (*select_prediction_outputs(survey, model), *select_feature_outputs(survey, model))
    time = make_event_time(session, survey, model, span)
    spans = close_smallest_gaps(ranges, MOST_FILTERS)
    intervals = time.interval_literals(spans)
    if not intervals:
        return None
    wanted = time.within_days(time.any_interval_condition(intervals), *spans)
    read = ", ".join(f"{output.sql} AS r{at}" for at, output in enumerate(outputs))
    values = ", ".join(f"r{at}" for at in range(len(outputs)))
    micros = {
        output.name: _micros_sql(engine, f"r{at}", output.kind, model, output.name)
        for at, output in enumerate(outputs)
        if output.name in ("event_time", "logged_at")
    }
    event = micros["event_time"]
    logged = micros.get("logged_at", event)
    runs = merge_ranges([(start, start + reading.pane) for start in panes.tolist()])
    within = " OR ".join(f"(us >= {lo} AND us < {hi})" for lo, hi in runs)
    width = reading.pane
    rows = (
        f"SELECT us - mod(mod(us, {width}) + {width}, {width}) AS pane, us, coalesce(logged, us) AS seen, "
        f"CASE WHEN logged IS NULL THEN 1 ELSE 0 END AS unlogged, {values} "
        f"FROM (SELECT {event} AS us, {logged} AS logged, {values} "
        f"FROM (SELECT {read} FROM {survey.item} WHERE {wanted}) AS t) AS u "
        f"WHERE ({within}) AND us <= {as_of + reading.tolerance} AND coalesce(logged, us) <= {as_of}"
    )
    return PushedRows(engine, counting, rows, outputs)


def _micros_sql(engine: Engine, column: str, kind: ColumnKind, model: ModelSpec, role: str) -> str | None:
    """SQL of the microseconds of a column of times; None where only parsing tells them."""
    reading = model.reading
    unit = reading.unit_of(role)
    if kind is ColumnKind.EPOCH and unit is not None:
        most = INT64_MAX // FACTORS[unit]
        return f"CASE WHEN {column} BETWEEN -{most} AND {most} THEN {column} * {FACTORS[unit]} END"
    if kind is not ColumnKind.INSTANT and not (kind is ColumnKind.NAIVE and reading.zone == "UTC"):
        return None
    return engine.micros_sql(column)


def _output_columns(alias: str, **kinds: ColumnKind) -> tuple[OutputColumn, ...]:
    return tuple(OutputColumn(name, f"{alias}.{name}", kind) for name, kind in kinds.items())


def _number_literal(number: float) -> str:
    """A double that every engine reads as it is: with an exponent, else it is a decimal on some."""
    shortest = repr(float(number))
    return shortest if "e" in shortest else f"{shortest}e0"


def _closed_range_condition(sql: str, lower: float, upper: float) -> str:
    """Condition of finite numbers in a closed range: NaN is the largest number on some engines."""
    return (
        f"{sql} BETWEEN {_number_literal(max(lower, -_LARGEST))} AND {_number_literal(min(upper, _LARGEST))}"
    )


def _round_sql(name: str) -> str:
    """Nearest whole number, ties to even: what is added has no fraction left."""
    whole = _number_literal(_WHOLE)
    small = f"CASE WHEN {name} >= 0 THEN ({name} + {whole}) - {whole} ELSE ({name} - {whole}) + {whole} END"
    return f"CASE WHEN abs({name}) < {whole} THEN {small} ELSE {name} END"


def _grid_cell_sql(engine: Engine, sql: str, grid: NumericGrid, first: int) -> str:
    missing, invalid = first + grid.regular_size + 1, first + grid.regular_size + 2
    searched = engine.cell_sql(sql, [_number_literal(edge) for edge in grid.edges], first)
    regular = searched or _search_tree_sql(sql, grid.edges, 0, len(grid.edges), first)
    valid = _closed_range_condition(sql, grid.lower, grid.upper)
    return f"CASE WHEN {sql} IS NULL THEN {missing} WHEN {valid} THEN {regular} ELSE {invalid} END"


def _search_tree_sql(sql: str, edges: Sequence[float], low: int, high: int, first: int) -> str:
    """Balanced: a number is compared with few of the edges."""
    if low == high:
        return str(first + low)
    half = (low + high) // 2
    below, above = (
        _search_tree_sql(sql, edges, low, half, first),
        _search_tree_sql(sql, edges, half + 1, high, first),
    )
    return f"CASE WHEN {sql} < {_number_literal(edges[half])} THEN {below} ELSE {above} END"
