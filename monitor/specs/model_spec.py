"""What is monitored: the keys of a model and what they say together, made by `config.build_settings`."""

from dataclasses import dataclass, field, replace
from typing import Literal

from monitor.alerts.alert_rules import Rule
from monitor.alerts.default_rules import main_measure, main_window
from monitor.core.clock import DAY, MINUTE
from monitor.measures.catalogue.measure import OPTIONAL_FAMILIES, MeasureFamily
from monitor.measures.measure_options import MeasureOptions
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.specs.model_table import BudgetTable, ModelTable
from monitor.specs.value_types import Count, Positive, Url, Zone
from monitor.windows.window_ends import Window

_DETECT = 0.01  # difference of rates


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """A database of the user."""

    name: str = ""  # that of its table in the configuration, no key; set once all tables are read
    url: Url = field(repr=False)  # as `StoreSpec.url`
    catalog: Url | None = field(default=None, repr=False)  # of Iceberg; url is then the place of its files
    timezone: Zone = "UTC"  # IANA name of the zone of naive times
    max_connections: Count = 2
    statement_timeout: Positive = MINUTE
    audit: Positive = DAY  # microseconds between audits
    batch_rows: Count = 20_000
    max_rows_per_second: Count | None = None
    # where panes are counted: "local", of rows brought here; "spark", by the workers of a cluster; "sql", by
    # the database.
    engine: Literal["local", "spark", "sql"] = "local"
    proven: bool = False  # its user has compared what it counts by "sql": `monitor check --prove`


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A table, view or query."""

    table: str | None = None  # name, split at dots; None where `query` is given
    query: str | None = None
    where: str | None = None  # the owner's own SQL condition
    # (role, column name): see `records.reading`. An id of several columns has the roles id, id:1, id:2, ….
    columns: tuple[tuple[str, str], ...] = ()

    def column_of(self, role: str) -> str | None:
        """Column of a role, if configured."""
        return dict(self.columns).get(role)

    @property
    def id_columns(self) -> tuple[tuple[str, str], ...]:
        """(Role, column) of the id, in order."""
        return tuple((role, column) for role, column in self.columns if role.partition(":")[0] == "id")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceSpec:
    """Where the reference comes from: exactly one of file, relation, (start, end) of the log."""

    file: str | None = None
    relation: Relation | None = None
    start: int | None = None
    end: int | None = None
    version: str | None = None  # of the log only the rows of this version; None: those that serve
    # (version, its own reference), sorted; the others are compared with this one.
    versions: tuple[tuple[str, "ReferenceSpec"], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model: the keys of its table, and what they say together. Durations are microseconds."""

    keys: ModelTable
    reading: ReadingOptions  # without the features that are found in a reference, until it is resolved
    predictions: Relation
    # None: no labels. Its `table` and `query` both None: the columns are in the prediction table. Its column
    # of role "id" is the name of the id in the labels.
    labels: Relation | None = None
    reference: ReferenceSpec | None = None
    find_features: bool = False  # in the reference, `exclude` left out
    exclude: tuple[str, ...] = ()
    windows: tuple[Window, ...] = ()
    profit: tuple[tuple[str, str, float], ...] = ()  # (actual, predicted, amount), classes as canonical text
    families: frozenset[MeasureFamily] = OPTIONAL_FAMILIES  # of those that a model may leave out
    rules: tuple[Rule, ...] = ()  # what its alerts are judged by
    # of false alerts, by which days are judged; None: the model states rules of its own, and no budget.
    budget: BudgetTable | None = None
    # what is configured of the model, as JSON without secrets, and its hash: for provenance.
    config: str = "{}"
    config_hash: str = ""

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.keys.name

    @property
    def source(self) -> str:
        """Name of its source."""
        return self.keys.source

    @property
    def records_table(self) -> str:
        """Name of the table of records; empty: a query reads them."""
        return self.predictions.table or ""

    @property
    def labels_table(self) -> str:
        """Name of the table of labels, which may be that of the records; empty: a query, or none."""
        labels = self.labels
        if labels is None or labels.query is not None:
            return ""
        return labels.table or self.records_table

    @property
    def main_window(self) -> str:
        """Name of the window that rules judge, and sentences speak of."""
        return main_window([window.name for window in self.windows])

    @property
    def main_measure(self) -> str:
        """Measure of performance that stands for the others."""
        return main_measure(self.reading.task, scored=self.reading.has_score)

    @property
    def ready_after(self) -> int:
        """How long after its end a window is measured."""
        reread = self.keys.reading
        return reread.overlap if reread.ready_after is None else reread.ready_after

    @property
    def season(self) -> str:
        """Season that its shift is compared with too, "week" or "year"; empty: none is."""
        reference = self.keys.reference
        return "" if reference is None else reference.season or ""

    @property
    def unusual_days(self) -> tuple[tuple[int, int], ...]:
        """Days that nothing is learned from, as in the budget."""
        return () if self.budget is None else self.budget.unusual_days

    @property
    def append_only(self) -> bool | None:
        """Whether rows of labels are only ever added; None: it is not said."""
        return None if self.keys.labels is None else self.keys.labels.append_only

    @property
    def control_share(self) -> float | None:
        """Planned share of the control arm in both arms; None: it is not compared."""
        return None if self.keys.control is None else self.keys.control.control_share

    @property
    def detect(self) -> float | None:
        """Size of the differences between the arms that matter; None: they are not tested."""
        control = self.keys.control
        if control is None:
            return None
        of_rates = self.reading.task is not ModelTask.REGRESSION
        return _DETECT if control.detect is None and of_rates else control.detect

    @property
    def options(self) -> MeasureOptions:
        """Options of its measures, without a threshold chosen on the reference."""
        return MeasureOptions(
            level=self.keys.level,
            resamples=self.keys.resamples,
            tops=self.keys.top_shares,
            profit={(actual, predicted): amount for actual, predicted, amount in self.profit},
            rate_interval=self.keys.rate_interval,
            families=self.families,
        )

    def with_keys(self, **changes: object) -> "ModelSpec":
        """The same model with other values of keys, as the program holds them."""
        return replace(self, keys=self.keys.model_copy(update=changes))
