"""Schema of the configuration file. What each key means stands in `config.example.toml`.

Durations and times are microseconds once read, class values canonical text. What one key says about
another is checked in `checks`.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
)

from monitor.alerts import alert_rules
from monitor.config.value_types import (
    STRICT,
    Against,
    ByClass,
    ChannelUrl,
    Class,
    Days,
    Duration,
    Id,
    Label,
    Length,
    Matrix,
    Moment,
    Name,
    OutsideUrl,
    PageName,
    Positive,
    Range,
    SpecKeys,
    StoreUrl,
    TableName,
    Text,
    Threshold,
    TlsKey,
    Url,
    Words,
    Zone,
    as_table,
)
from monitor.core.clock import SECOND
from monitor.core.measurement import Dependence, RateMethod
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.specs.model_spec import BudgetSpec, ModelSpec, Relation, SourceSpec
from monitor.specs.settings import ChannelSpec, DaemonSpec, HttpSpec, LogSpec

DEFAULT_MODEL = ModelSpec(
    name="", source="", reading=ReadingOptions(task=ModelTask.BINARY), predictions=Relation()
)
DEFAULT_BUDGET = BudgetSpec()
DEFAULT_RULE = alert_rules.Rule(name="", measure="", condition=alert_rules.BreachCondition())

EpochUnit: TypeAlias = Literal["s", "ms", "us"]
OtherUnit: TypeAlias = Literal["s", "ms", "us", "none"]  # none: no epoch, though the event time is one
Count: TypeAlias = Annotated[int, Field(gt=0)]
SeverityName: TypeAlias = Literal["critical", "warning", "info"]
FamilyName: TypeAlias = Literal[
    "averages", "calibration", "comparison", "distances", "estimate", "gains", "shift", "values"
]


class StoreTable(BaseModel):
    """Our own database."""

    model_config = STRICT

    url: StoreUrl = Field(default="sqlite:///monitor.db", repr=False)
    retention: Duration | None = None
    thin: bool = True


HttpTable: TypeAlias = Annotated[
    HttpSpec,
    SpecKeys(
        "Http",
        "Where the HTTP server listens, and whom it answers.",
        HttpSpec,
        host=Text,
        port=Annotated[int, Field(strict=False, ge=0, le=65_535)],
        tls_certificate=Text | None,
        tls_key=TlsKey,
        secret_file=Text | None,
        pages=bool | None,
        url=OutsideUrl | None,
    ),
]
LogTable: TypeAlias = Annotated[
    LogSpec,
    SpecKeys(
        "Log",
        "How the log is written.",
        LogSpec,
        format=Literal["console", "json"],
        level=Literal["debug", "info", "warning", "error"],
    ),
]
DaemonTable: TypeAlias = Annotated[
    DaemonSpec,
    SpecKeys(
        "Daemon",
        "How the daemon makes up for missed ticks, and shares its store.",
        DaemonSpec,
        catch_up=Annotated[Duration, Field(ge=0)],
        lease_ttl=Annotated[Duration, Field(ge=SECOND)],
    ),
]
SourceTable: TypeAlias = Annotated[
    SourceSpec,
    SpecKeys(
        "Source",
        "A database of the user.",
        SourceSpec,
        url=Annotated[Url, Field(repr=False)],
        timezone=Zone,
        max_connections=Count,
        statement_timeout=Positive,
        audit=Positive,
        batch_rows=Count,
        max_rows_per_second=Count | None,
        engine=Literal["local", "spark", "sql"],
    ),
]


def _parse_severity(name: str) -> alert_rules.Severity:
    # pydantic refuses an enum in this place from Python 3.12 on, by its signature
    return alert_rules.Severity(name)


NotifyTable: TypeAlias = Annotated[
    ChannelSpec,
    SpecKeys(
        "Notify",
        "A channel that people are told of alerts by.",
        ChannelSpec,
        name=Name,
        url=Annotated[ChannelUrl, Field(repr=False)],
        models=Annotated[list[Text], AfterValidator(tuple)] | None,
        severity=Annotated[SeverityName, AfterValidator(_parse_severity)],
    ),
]


class WindowTable(BaseModel):
    """A window: a duration or calendar unit, and the step at which its ends fall."""

    model_config = STRICT

    length: Length
    step: Positive | None = None


class Predictions(BaseModel):
    """The prediction log."""

    model_config = STRICT

    table: TableName | None = None
    query: Text | None = None
    where: Text | None = None
    id: Id
    event_time: Text
    event_time_unit: EpochUnit | None = None
    logged_at: Text | None = None
    logged_at_unit: OtherUnit | None = None
    score: Text | None = None
    score_range: Range = (0.0, 1.0)
    prediction: Text | None = None
    threshold: float | None = None
    probabilities: ByClass | None = None
    probabilities_prefix: Text | None = None
    version: Text | None = None


class LabelsTable(BaseModel):
    """The ground truth."""

    model_config = STRICT

    table: TableName | None = None
    query: Text | None = None
    where: Text | None = None
    id: Id | None = None
    label: Text
    reported_at: Text | None = None
    reported_at_unit: OtherUnit | None = None
    revision: Text | None = None
    append_only: bool | None = None
    only_for: Annotated[list[Class], Field(min_length=1)] | None = None


class ClassesTable(BaseModel):
    """Values of the label and of the prediction."""

    model_config = STRICT

    positive: Class = "1"
    negative: Class = "0"
    values: list[Class] | None = None
    names: Words = {}


class VersionReference(BaseModel):
    """What a version's distributions are compared with."""

    model_config = STRICT

    file: Text | None = None
    table: TableName | None = None
    query: Text | None = None
    start: Moment | None = Field(None, alias="from")
    end: Moment | None = Field(None, alias="to")


class ReferenceTable(VersionReference):
    """What the current distributions are compared with."""

    versions: dict[Text, VersionReference] = {}
    season: Literal["week", "year"] | None = None


class ServingTable(BaseModel):
    """Which rows serve; the others are shadow rows."""

    model_config = STRICT

    column: Text
    values: Annotated[list[Class], Field(min_length=1)]


class FeaturesTable(BaseModel):
    """Columns of the prediction table that the model was fed with."""

    model_config = STRICT

    numeric: list[Text] = []
    categorical: list[Text] = []
    exclude: list[Text] = []


class Control(BaseModel):
    """Control and treatment group."""

    model_config = STRICT

    arm_column: Text
    control_value: Class
    treatment_value: Class
    control_share: Annotated[float, Field(gt=0, lt=1)] | None = None
    since: Moment | None = None
    detect: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class ChallengerTable(BaseModel):
    """Another model that predicts the same records."""

    model_config = STRICT

    score: Text | None = None
    prediction: Text | None = None
    threshold: float | None = None
    version: Text | None = None
    since: Moment | None = None


class Profit(BaseModel):
    """Amount by actual and predicted class."""

    model_config = STRICT

    matrix: Matrix


class BudgetTable(BaseModel):
    """How many false alerts the model may cost."""

    model_config = STRICT

    false_alerts: Annotated[float, Field(gt=0, le=30)] = DEFAULT_BUDGET.false_alerts
    smallest: Annotated[float, Field(ge=0, allow_inf_nan=False)] = DEFAULT_BUDGET.smallest
    unusual_days: list[Days] = []


class ReadingTable(BaseModel):
    """How the tables are read again."""

    model_config = STRICT

    overlap: Duration = DEFAULT_MODEL.overlap
    tolerance: Duration = DEFAULT_MODEL.reading.tolerance
    lookback: Positive = DEFAULT_MODEL.lookback
    recount_rows: Count = DEFAULT_MODEL.recount_rows
    ready_after: Duration | None = None
    revise_every: Positive = DEFAULT_MODEL.revise_every


class AlertTable(BaseModel):
    """A rule: when a measurement is worth an alert."""

    model_config = STRICT

    name: PageName
    measure: Text
    subject: str = ""
    window: Text | None = None
    truth: Literal["settled", "provisional", "nowcast"] | None = None
    against: Text | None = None
    version: str = ""
    segment: str = ""
    above: Threshold | None = None
    below: Threshold | None = None
    outside: Range | None = None
    bound: Literal["point", "lower", "upper"] = DEFAULT_RULE.condition.bound.value
    and_above: Threshold | None = None
    features: Literal["each", "share"] | None = None
    share: Annotated[float, Field(ge=0, lt=1)] = DEFAULT_RULE.share
    min_n: Annotated[int, Field(ge=0)] = DEFAULT_RULE.min_n
    hold: Duration = Field(DEFAULT_RULE.hold, alias="for")
    keep_firing_for: Duration = DEFAULT_RULE.keep_firing_for
    clear_at: float | list[float] | None = None
    unknown_after: Duration | None = None
    severity: SeverityName = DEFAULT_RULE.severity.value
    labels: dict[Label, str] = {}
    annotations: dict[Label, str] = {}


class ModelTable(BaseModel):
    """A monitored model."""

    model_config = STRICT

    name: PageName
    formerly: Name | None = None
    source: str
    task: Literal["binary", "multiclass", "regression"]
    enabled: bool = True
    every: Positive = DEFAULT_MODEL.every
    windows: list[Annotated[WindowTable, BeforeValidator(as_table)]] = [
        WindowTable(length="1d"),
        WindowTable(length="7d"),
        WindowTable(length="30d"),
    ]
    timezone: Zone = "UTC"
    pane: Positive = DEFAULT_MODEL.reading.pane
    horizon: Positive = DEFAULT_MODEL.reading.horizon
    settled_share: Annotated[float, Field(gt=0, le=1)] = DEFAULT_MODEL.settled_share
    settle_after: Duration | None = DEFAULT_MODEL.settle_after
    level: Annotated[float, Field(gt=0, lt=1)] = DEFAULT_MODEL.level
    rate_interval: RateMethod = DEFAULT_MODEL.rate_interval
    dependence: Dependence = DEFAULT_MODEL.dependence
    resamples: Count = DEFAULT_MODEL.resamples
    resample_segments: bool = DEFAULT_MODEL.resample_segments
    top_shares: list[Annotated[float, Field(gt=0, lt=1)]] = [*DEFAULT_MODEL.top_shares]
    measures: list[FamilyName] | None = None
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)] = DEFAULT_MODEL.reading.scale
    against: list[Against] = []
    max_series: Count = DEFAULT_MODEL.max_series
    predictions: Predictions
    labels: LabelsTable | None = None
    classes: ClassesTable = ClassesTable()
    reference: ReferenceTable | None = None
    features: FeaturesTable = FeaturesTable()
    segments: list[Text] = []
    serving: ServingTable | None = None
    control: Control | None = None
    challenger: ChallengerTable | None = None
    profit: Profit | None = None
    owner: Text | None = None
    runbook_url: Text | None = None
    alert_labels: dict[Label, str] = {}
    budget: BudgetTable | None = None
    alerts: list[AlertTable] | None = None
    default_alerts: bool | None = None
    reading: ReadingTable = ReadingTable()


class Configuration(BaseModel):
    """The whole file. The keys of `defaults` have been merged into every model when it is read."""

    model_config = STRICT

    store: StoreTable = StoreTable()
    http: HttpTable = HttpSpec()
    log: LogTable = LogSpec()
    daemon: DaemonTable = DaemonSpec()
    sources: dict[Name, SourceTable] = {}
    defaults: dict[str, object] = {}
    include: list[Text] = []
    models: Annotated[list[ModelTable], Field(min_length=1)]
    notify: list[NotifyTable] = []
