"""What is monitored: plain values, made of the configuration by `config.build`."""

from dataclasses import dataclass, field

from monitor.alerts.alert_rules import Rule
from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.core.measurement import LEVEL, Dependence, RateMethod
from monitor.measures.catalogue.measure import OPTIONAL_FAMILIES, MeasureFamily
from monitor.measures.measure_options import RATE_METHOD, RESAMPLES, TOPS, MeasureOptions
from monitor.records.reading import ReadingOptions
from monitor.windows.window_ends import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """A database of the user."""

    name: str = ""  # that of its table in the configuration; set once all tables are read
    # SQLAlchemy URL, secrets filled in but for files, which are read for each connection: see `specs.urls`;
    # never logged: see `specs.urls.shown`.
    url: str = field(repr=False)
    timezone: str = "UTC"  # IANA name of the zone of naive times
    max_connections: int = 2
    statement_timeout: int = MINUTE
    audit: int = DAY  # microseconds between audits
    batch_rows: int = 20_000
    max_rows_per_second: int | None = None
    # where panes are counted: "local", of rows brought here; "spark", by the workers of a cluster; "sql", by
    # the database.
    engine: str = "local"


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
    # "week" or "year": shift is compared with the same phase of earlier ones too; empty: it is not.
    season: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSpec:
    """What is compared from a moment on, each record entering once."""

    since: int | None = None  # microseconds; None: from the oldest pane that is counted
    # planned share of the control arm in both arms; None: it is not compared.
    control_share: float | None = None
    # size of the differences between the arms that matter; None: they are not tested.
    detect: float | None = None
    challenger_since: int | None = None  # as `since`, of the challenger


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSpec:
    """How many false alerts a model may cost, and what is too small to be told."""

    false_alerts: float = 1.0  # in 30 days, over all that is watched of the model
    smallest: float = 0.1  # stability index below which a change is shown, not told
    # (first, last) days as numbers of days since 1970-01-01 in the model's time zone: judged by nobody,
    # learned from by nobody.
    unusual_days: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model and all its options. Durations are microseconds.

    Parameters
    ----------
    labels
        None: no labels. Its `table` and `query` both None: the columns are in the prediction table.
        Its column of role "id" is the name of the id in the labels.
    features
        None: found in the reference (`exclude` left out), see `reading` once it is resolved.
    profit
        ((actual, predicted, amount), …), classes as canonical text.
    rate_interval
        method of the intervals of accuracy, recall and the other rates of classes.
    dependence
        "none": records are independent; "day": those of one day may depend on one another.
    resample_segments
        versions, segments and arms have bootstrap intervals too; else those of closed forms alone.
    top_shares
        of the records, of the highest scores, that precision and recall are told of.
    families
        of measures that are wanted, of those that a model may leave out.
    against
        what windows are compared with beside the reference: "previous", or trailing spans, "28d".
    append_only
        rows of labels are only ever added; None: told by the revision, or the table's key.
    formerly
        name that its history had, if it was renamed.
    rules
        what its alerts are judged by.
    budget
        of false alerts, by which days are judged; None: the model states rules of its own, and no budget.
    settle_after
        age at which a window settles; None: learnt from the delays.
    config, config_hash
        what is configured of the model, as JSON without secrets, and its hash: for provenance.
    """

    name: str
    source: str
    reading: ReadingOptions
    predictions: Relation
    labels: Relation | None = None
    reference: ReferenceSpec | None = None
    find_features: bool = False
    exclude: tuple[str, ...] = ()
    windows: tuple[Window, ...] = ()
    every: int = HOUR
    overlap: int = 15 * MINUTE
    lookback: int = 2 * DAY
    recount_rows: int = 2_000_000
    ready_after: int = overlap
    revise_every: int = DAY
    settled_share: float = 0.95
    settle_after: int | None = None
    profit: tuple[tuple[str, str, float], ...] = ()
    compared: ComparedSpec = ComparedSpec()
    level: float = LEVEL
    rate_interval: RateMethod = RATE_METHOD
    dependence: Dependence = "none"
    resamples: int = RESAMPLES
    resample_segments: bool = False
    top_shares: tuple[float, ...] = TOPS
    families: frozenset[MeasureFamily] = OPTIONAL_FAMILIES
    against: tuple[str, ...] = ()
    max_series: int = 2_000
    append_only: bool | None = None
    formerly: str | None = None
    rules: tuple[Rule, ...] = ()
    budget: BudgetSpec | None = None
    config: str = "{}"
    config_hash: str = ""

    @property
    def season(self) -> str:
        """Season that its shift is compared with too; empty: none is."""
        return "" if self.reference is None else self.reference.season

    @property
    def unusual_days(self) -> tuple[tuple[int, int], ...]:
        """Days that nothing is learned from, as in `BudgetSpec`."""
        return () if self.budget is None else self.budget.unusual_days

    @property
    def options(self) -> MeasureOptions:
        """Options of its measures, without a threshold chosen on the reference."""
        return MeasureOptions(
            level=self.level,
            resamples=self.resamples,
            tops=self.top_shares,
            profit={(actual, predicted): amount for actual, predicted, amount in self.profit},
            rate_interval=self.rate_interval,
            families=self.families,
        )
