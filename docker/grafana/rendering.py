"""Descriptions as Grafana's JSON, by way of its own SDK."""

from dataclasses import dataclass
from typing import Any, TypeVar

from describing import Board, Kind, Panel, Query, Row, Steps, Variable, panel_id
from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    dashboard,
    prometheus,
    stat,
    statetimeline,
    statushistory,
    table,
    timeseries,
)
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models import common as common_model
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models import prometheus as prometheus_model

SOURCE = model.DataSourceRef(type_val="prometheus", uid="${datasource}")
_POSTGRESQL = "grafana-postgresql-datasource"
STORE = model.DataSourceRef(type_val=_POSTGRESQL, uid="${datasource}")
TAG = "model-monitor"
_ITS_PAGE = "Its page in the monitor"
PAGES = "http://127.0.0.1:9839"  # of the demo, and of a daemon on this machine
_MARK_STEP = "1h"
_SPANNED = 8 * 24 * 60 * 60 * 1_000.0  # milliseconds: windows that end once a week are a line
_Built = TypeVar(
    "_Built",
    bargauge.Panel,
    stat.Panel,
    statetimeline.Panel,
    statushistory.Panel,
    table.Panel,
    timeseries.Panel,
)
_Any = (
    bargauge.Panel | stat.Panel | statetimeline.Panel | statushistory.Panel | table.Panel | timeseries.Panel
)


def rendered(board: Board) -> str:
    """JSON of a dashboard, as it is committed and provisioned."""
    named, kind = ("Store", _POSTGRESQL) if board.of_store else ("Prometheus", "prometheus")
    built = (
        dashboard.Dashboard(f"Monitor: {board.title}")
        .uid(board.uid)
        .description(board.text)
        .tags([TAG])
        .timezone("utc")
        .time(board.since, "now")
        .refresh("1m")
        .tooltip(model.DashboardCursorSync.CROSSHAIR)
        .editable()
        .link(_others())
        .link(_pages(board))
        .with_variable(dashboard.DatasourceVariable("datasource").label(named).type(kind))
        .with_variable(dashboard.TextBoxVariable("pages").label("Pages").default_value(PAGES))
    )
    for mark in _marks(board.marked) if board.marked else ():
        built.annotation(mark)
    for variable in board.variables:
        built.with_variable(_variable(board, variable))
    for row in board.rows:
        built.with_row(dashboard.Row(row.title).id(panel_id(board, row)))
        for panel in row.panels:
            built.with_panel(_panel(board, row, panel))
    return JSONEncoder(sort_keys=True, indent=1, ensure_ascii=False).encode(built.build()) + "\n"


def _others() -> dashboard.DashboardLink:
    return (
        dashboard.DashboardLink("Dashboards")
        .type(model.DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .as_dropdown(True)
        .include_vars(True)
        .keep_time(True)
    )


def _pages(board: Board) -> dashboard.DashboardLink:
    link = dashboard.DashboardLink("Pages").type(model.DashboardLinkType.LINK).icon("external link")
    return link.url(f"${{pages}}{board.page}").target_blank(True).tooltip("The same in the monitor's pages")


class _Mark(model.AnnotationQuery, Builder[model.AnnotationQuery]):
    """An annotation that Prometheus answers: the SDK lacks the keys that its data source reads.

    Grafana joins moments that are at most a step apart to one mark, from the first to the last.
    """

    def __init__(self, name: str, colour: str, expr: str, text: str, *, at_value: bool = False) -> None:
        super().__init__(name=name, datasource=SOURCE, enable=True, hide=False, icon_color=colour, expr=expr)
        self._asked = {"step": _MARK_STEP, "titleFormat": name, "textFormat": text, "tagKeys": "model"}
        self._at_value = at_value

    def build(self) -> model.AnnotationQuery:
        return self

    def to_json(self) -> dict[str, object]:
        return super().to_json() | self._asked | {"useValueForTime": self._at_value}


def _marks(models: str) -> tuple[_Mark, ...]:
    """Incidents, from the first alert of each to the last, and versions, where their first record stands.

    They look back a day: kept alerts stand at cycles, which may be a day apart. The colour is that of the
    worst alert that fires.
    """
    by = "max by (model, incident)"
    firing = f'model_monitor_alert_firing{{{models}, incident!="", severity='
    critical = f'{by} (last_over_time({firing}"critical"}}[1d]))'
    warning = f'{by} (last_over_time({firing}"warning"}}[1d])) unless {critical}'
    first = f"model_monitor_version_first_seen_timestamp_seconds{{{models}}}"
    versions = f"1000 * max by (model, version) (last_over_time({first}[1d]))"
    since = "{{model}}: {{incident}}"
    return (
        _Mark("Critical incident", "red", critical, since),
        _Mark("Incident", "orange", warning, since),
        _Mark("Version", "blue", versions, "{{model}}: first record of {{version}}", at_value=True),
    )


def _variable(board: Board, variable: Variable) -> dashboard.QueryVariable:
    query = f"label_values({variable.found}, {variable.label})"
    asked = {"qryType": 1, "query": query, "refId": "PrometheusVariableQueryEditor-VariableQuery"}
    built = (
        dashboard.QueryVariable(variable.name or variable.label)
        .label((variable.name or variable.label).capitalize())
        .datasource(STORE if board.of_store else SOURCE)
        .query(variable.found if board.of_store else asked)
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.DISABLED if board.of_store else model.VariableSort.NATURAL_ASC)
    )
    if variable.everything:
        everything = model.VariableOption(selected=True, text=["All"], value=["$__all"])
        return built.multi(True).include_all(True).all_value(variable.everything).current(everything)
    if variable.first:
        return built.current(model.VariableOption(selected=True, text=variable.first, value=variable.first))
    return built


def _panel(board: Board, row: Row, panel: Panel) -> _Any:
    match panel.kind:
        case Kind.STAT:
            return _framed(_stat(panel), board, row, panel)
        case Kind.LINES:
            return _framed(_lines(panel), board, row, panel)
        case Kind.TABLE:
            return _framed(_table(panel), board, row, panel)
        case Kind.BARS:
            return _framed(
                bargauge.Panel().orientation(common_model.VizOrientation.HORIZONTAL), board, row, panel
            )
        case Kind.CELLS:
            return _framed(
                statushistory.Panel().show_value(common_model.VisibilityMode.AUTO), board, row, panel
            )
        case Kind.STATES:
            return _framed(
                statetimeline.Panel().show_value(common_model.VisibilityMode.NEVER), board, row, panel
            )


def _framed(built: _Built, board: Board, row: Row, panel: Panel) -> _Built:
    """What all kinds of panels have."""
    built = (
        built.id(panel_id(board, row, panel))
        .title(panel.title)
        .description(panel.text)
        .datasource(STORE if board.of_store else SOURCE)
        .unit(panel.unit)
        .span(panel.width)
        .height(panel.height)
        .targets(
            [_asked(panel, at) if board.of_store else _target(panel, at) for at in range(len(panel.queries))]
        )
    )
    if panel.page:
        link = dashboard.DashboardLink(_ITS_PAGE).type(model.DashboardLinkType.LINK)
        built = built.data_links([link.url(f"${{pages}}{panel.page}").target_blank(True)])
    if panel.decimals is not None:
        built = built.decimals(panel.decimals)
    if panel.steps:
        built = built.thresholds(
            dashboard.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(_thresholds(panel.steps))
        )
    return built


def _thresholds(steps: Steps) -> list[model.Threshold]:
    return [model.Threshold(value=value, color=colour) for value, colour in steps]


@dataclass(frozen=True, slots=True)
class _Sql(Dataquery, Builder[Dataquery]):
    """A query in SQL: the SDK's lowest version has none for PostgreSQL."""

    ref_id: str
    text: str
    format: str

    def build(self) -> Dataquery:
        return self

    def to_json(self) -> dict[str, object]:
        known: dict[str, object] = {"datasource": STORE, "refId": self.ref_id, "format": self.format}
        return known | {"rawSql": self.text, "rawQuery": True, "editorMode": "code"}


def _asked(panel: Panel, at: int) -> _Sql:
    """Of tables the rows; of all else series, named by the column `metric`."""
    form = "table" if panel.kind is Kind.TABLE else "time_series"
    return _Sql(chr(ord("A") + at), panel.queries[at].expr.strip(), form)


def _target(panel: Panel, at: int) -> prometheus.Dataquery:
    query = panel.queries[at]
    target = prometheus.Dataquery().ref_id(chr(ord("A") + at)).datasource(SOURCE).expr(query.expr)
    target = target.legend_format(query.legend)
    if panel.kind is Kind.TABLE:
        return target.instant().format(prometheus_model.PromQueryFormat.TABLE)
    return target.instant() if panel.kind in {Kind.STAT, Kind.BARS} else target.range()


def _stat(panel: Panel) -> stat.Panel:
    named = panel.queries[0].legend.startswith("{{")
    mode = common_model.BigValueTextMode.VALUE_AND_NAME if named else common_model.BigValueTextMode.VALUE
    return stat.Panel().graph_mode(common_model.BigValueGraphMode.NONE).text_mode(mode)


def _lines(panel: Panel) -> timeseries.Panel:
    """Lines; bounds of an interval are filled between, the reference is a dashed line."""
    legend = common.VizLegendOptions().show_legend(True).placement(common_model.LegendPlacement.BOTTOM)
    built = (
        timeseries.Panel()
        .legend(legend.display_mode(common_model.LegendDisplayMode.LIST))
        .tooltip(common.VizTooltipOptions().mode(common_model.TooltipDisplayMode.MULTI))
        .show_points(common_model.VisibilityMode.AUTO)
        .span_nulls(_SPANNED)
        .line_width(2)
        .line_interpolation(common_model.LineInterpolation.STEP_AFTER)
    )
    legends = [query.legend for query in panel.queries]
    if panel.queries[0].bounds or any(legend.endswith(" upper") for legend in legends):
        built = _banded(built, legends[0])
    if panel.steps:
        dashes = common.GraphThresholdsStyleConfig().mode(common_model.GraphThresholdsStyleMode.DASHED)
        built = built.thresholds_style(dashes)
    if panel.soft_most is not None:
        built = built.axis_soft_min(0).axis_soft_max(panel.soft_most)
    if "reference" in legends:
        dashed = {"dash": [10, 10], "fill": "dash"}
        built = built.override_by_name("reference", [_value("custom.lineStyle", dashed), *_colour("text")])
    return built


def _banded(built: timeseries.Panel, legend: str) -> timeseries.Panel:
    """Bounds without lines and legend, filled between; series of one truth share a colour."""
    hidden = {"legend": True, "tooltip": False, "viz": False}
    bounds = [_value("custom.lineWidth", 0), _value("custom.hideFrom", hidden)]
    built = built.override_by_regexp("/ (lower|upper)$/", bounds)
    plain = legend.replace("{{subject}}", "")
    truths = {"settled": "blue", "nowcast": "green", "provisional": "orange", "value": "purple"}
    told = truths if plain == "{{truth}}" else {plain: "purple"}
    for name, colour in told.items():
        built = built.override_by_regexp(f"/^{name}( lower| upper)?$/", _colour(colour))
        below = [_value("custom.fillBelowTo", f"{name} lower"), _value("custom.fillOpacity", 18)]
        built = built.override_by_name(f"{name} upper", below)
    return built


def _table(panel: Panel) -> table.Panel:
    """One line for each set of labels; the columns are the queries, or the labels of the only one."""
    columns = {f"Value #{chr(ord('A') + at)}": query.legend for at, query in enumerate(panel.queries)}
    if len(panel.queries) == 1:
        columns["Value"] = panel.queries[0].legend
    organised = {"excludeByName": {"Time": True}, "renameByName": columns}
    built = (
        table.Panel()
        .with_transformation(model.DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(model.DataTransformerConfig(id_val="organize", options=organised))
    )
    order: list[Builder[common_model.TableSortByFieldState]] = [
        common.TableSortByFieldState().display_name(name).desc(True) for name in panel.sorted_by
    ]
    built = built.sort_by(order) if order else built
    for query in panel.queries:
        if properties := _column(query):
            built = built.override_by_name(query.legend, properties)
    return built


def _column(query: Query) -> list[model.DynamicConfigValue]:
    """What a column has that is not the table's."""
    properties = [_value("unit", query.unit)] if query.unit else []
    if query.decimals is not None:
        properties.append(_value("decimals", query.decimals))
    if query.steps:
        coloured = {"type": "color-background", "mode": "basic"}
        thresholds = {"mode": "absolute", "steps": _thresholds(query.steps)}
        properties += [_value("thresholds", thresholds), _value("custom.cellOptions", coloured)]
    if query.page:
        link = {"title": _ITS_PAGE, "url": f"${{pages}}{query.page}", "targetBlank": True}
        properties.append(_value("links", [link]))
    return properties


def _colour(name: str) -> list[model.DynamicConfigValue]:
    return [_value("color", {"fixedColor": name, "mode": "fixed"})]


def _value(name: str, value: Any) -> model.DynamicConfigValue:
    return model.DynamicConfigValue(id_val=name, value=value)
