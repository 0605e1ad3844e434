"""Schema of the configuration file. What each key means stands in `config.example.toml`.

Durations and times are microseconds once read, class values canonical text. What one key says about
another is checked in `checks`.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from monitor.config.values import (
    Against,
    ByClass,
    ChannelUrl,
    Class,
    Duration,
    Id,
    Label,
    Length,
    Matrix,
    Moment,
    Name,
    Positive,
    Range,
    StoreUrl,
    Text,
    Threshold,
    TlsKey,
    Url,
    Zone,
    as_table,
)
from monitor.core.clock import DAY, HOUR, MINUTE, SECOND
from monitor.core.interval import Dependence, RateMethod

_STRICT = ConfigDict(
    extra="forbid",
    strict=True,
    validate_assignment=True,
    hide_input_in_errors=True,
    defer_build=True,  # tables are validated as parts of a whole: not one builds a validator at import
)

Unit: TypeAlias = Literal["s", "ms", "us"]
OtherUnit: TypeAlias = Literal["s", "ms", "us", "none"]  # none: no epoch, though the event time is one
Count: TypeAlias = Annotated[int, Field(gt=0)]
FamilyName: TypeAlias = Literal[
    "averages", "calibration", "comparison", "distances", "estimate", "gains", "shift", "values"
]


class Store(BaseModel):
    """Our own database."""

    model_config = _STRICT

    url: StoreUrl = Field(default="sqlite:///monitor.db", repr=False)
    retention: Duration | None = None


class Http(BaseModel):
    """Where the HTTP server listens, and whom it answers."""

    model_config = _STRICT

    host: Text = "127.0.0.1"
    port: Annotated[int, Field(strict=False, ge=0, le=65_535)] = 9839
    tls_certificate: Text | None = None
    tls_key: TlsKey = None
    secret_file: Text | None = None


class Log(BaseModel):
    """How the log is written."""

    model_config = _STRICT

    format: Literal["console", "json"] = "console"
    level: Literal["debug", "info", "warning", "error"] = "info"


class Daemon(BaseModel):
    """How the daemon makes up for missed ticks, and shares its store."""

    model_config = _STRICT

    catch_up: Annotated[Duration, Field(ge=0)] = DAY
    lease_ttl: Annotated[Duration, Field(ge=SECOND)] = MINUTE


class Source(BaseModel):
    """A database of the user."""

    model_config = _STRICT

    url: Url = Field(repr=False)
    timezone: Zone = "UTC"
    max_connections: Count = 2
    statement_timeout: Positive = MINUTE
    audit: Positive = DAY
    batch_rows: Count = 20_000
    max_rows_per_second: Count | None = None
    engine: Literal["local", "spark", "sql"] = "local"


class WindowTable(BaseModel):
    """A window: a duration or calendar unit, and the step at which its ends fall."""

    model_config = _STRICT

    length: Length
    step: Positive | None = None


class Predictions(BaseModel):
    """The prediction log."""

    model_config = _STRICT

    table: Text | None = None
    query: Text | None = None
    where: Text | None = None
    id: Id
    event_time: Text
    event_time_unit: Unit | None = None
    logged_at: Text | None = None
    logged_at_unit: OtherUnit | None = None
    score: Text | None = None
    score_range: Range = (0.0, 1.0)
    prediction: Text | None = None
    threshold: float | None = None
    probabilities: ByClass | None = None
    probabilities_prefix: Text | None = None
    version: Text | None = None


class Labels(BaseModel):
    """The ground truth."""

    model_config = _STRICT

    table: Text | None = None
    query: Text | None = None
    where: Text | None = None
    id: Id | None = None
    label: Text
    reported_at: Text | None = None
    reported_at_unit: OtherUnit | None = None
    revision: Text | None = None


class Classes(BaseModel):
    """Values of the label and of the prediction."""

    model_config = _STRICT

    positive: Class = "1"
    negative: Class = "0"
    values: list[Class] | None = None


class VersionReference(BaseModel):
    """What a version's distributions are compared with."""

    model_config = _STRICT

    file: Text | None = None
    table: Text | None = None
    query: Text | None = None
    start: Moment | None = Field(None, alias="from")
    end: Moment | None = Field(None, alias="to")


class Reference(VersionReference):
    """What the current distributions are compared with."""

    versions: dict[Text, VersionReference] = {}


class Serving(BaseModel):
    """Which rows serve; the others are shadow rows."""

    model_config = _STRICT

    column: Text
    values: Annotated[list[Class], Field(min_length=1)]


class Features(BaseModel):
    """Columns of the prediction table that the model was fed with."""

    model_config = _STRICT

    numeric: list[Text] = []
    categorical: list[Text] = []
    exclude: list[Text] = []


class Control(BaseModel):
    """Control and treatment group."""

    model_config = _STRICT

    arm_column: Text
    control_value: Class
    treatment_value: Class
    control_share: Annotated[float, Field(gt=0, lt=1)] | None = None
    since: Moment | None = None
    detect: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class Challenger(BaseModel):
    """Another model that predicts the same records."""

    model_config = _STRICT

    score: Text | None = None
    prediction: Text | None = None
    threshold: float | None = None
    version: Text | None = None
    since: Moment | None = None


class Profit(BaseModel):
    """Amount by actual and predicted class."""

    model_config = _STRICT

    matrix: Matrix


class ReadingTable(BaseModel):
    """How the tables are read again."""

    model_config = _STRICT

    overlap: Duration = 15 * MINUTE
    tolerance: Duration = 5 * MINUTE
    lookback: Positive = 2 * DAY
    recount_rows: Count = 2_000_000
    ready_after: Duration | None = None
    revise_every: Positive = DAY


class Alert(BaseModel):
    """A rule: when a measurement is worth an alert."""

    model_config = _STRICT

    name: Name
    measure: Text
    subject: str = ""
    window: Text | None = None
    truth: Literal["settled", "provisional"] | None = None
    against: Text | None = None
    version: str = ""
    segment: str = ""
    above: Threshold | None = None
    below: Threshold | None = None
    outside: Range | None = None
    bound: Literal["point", "lower", "upper"] = "point"
    and_above: Threshold | None = None
    features: Literal["each", "share"] | None = None
    share: Annotated[float, Field(ge=0, lt=1)] = 0.2
    min_n: Annotated[int, Field(ge=0)] = 0
    hold: Duration = Field(0, alias="for")
    keep_firing_for: Duration = 0
    clear_at: float | list[float] | None = None
    unknown_after: Duration | None = None
    severity: Literal["critical", "warning", "info"] = "warning"
    labels: dict[Label, str] = {}
    annotations: dict[Label, str] = {}


class Model(BaseModel):
    """A monitored model."""

    model_config = _STRICT

    name: Name
    formerly: Name | None = None
    source: str
    task: Literal["binary", "multiclass", "regression"]
    enabled: bool = True
    every: Positive = HOUR
    windows: list[Annotated[WindowTable, BeforeValidator(as_table)]] = [
        WindowTable(length="1d"),
        WindowTable(length="7d"),
        WindowTable(length="30d"),
    ]
    timezone: Zone = "UTC"
    pane: Positive = HOUR
    horizon: Positive = 60 * DAY
    settled_share: Annotated[float, Field(gt=0, le=1)] = 0.95
    settle_after: Duration | None = None
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    rate_interval: RateMethod = "wilson"
    dependence: Dependence = "none"
    resamples: Count = 400
    resample_segments: bool = False
    top_shares: list[Annotated[float, Field(gt=0, lt=1)]] = [0.01, 0.05, 0.1]
    measures: list[FamilyName] | None = None
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    against: list[Against] = []
    max_series: Count = 2_000
    predictions: Predictions
    labels: Labels | None = None
    classes: Classes = Classes()
    reference: Reference | None = None
    features: Features = Features()
    segments: list[Text] = []
    serving: Serving | None = None
    control: Control | None = None
    challenger: Challenger | None = None
    profit: Profit | None = None
    owner: Text | None = None
    runbook_url: Text | None = None
    alert_labels: dict[Label, str] = {}
    alerts: list[Alert] | None = None
    default_alerts: bool | None = None
    reading: ReadingTable = ReadingTable()


class Notify(BaseModel):
    """A channel that people are told of alerts by."""

    model_config = _STRICT

    name: Name
    url: ChannelUrl = Field(repr=False)
    models: list[Text] | None = None
    severity: Literal["critical", "warning", "info"] = "info"


class Configuration(BaseModel):
    """The whole file. The keys of `defaults` have been merged into every model when it is read."""

    model_config = _STRICT

    store: Store = Store()
    http: Http = Http()
    log: Log = Log()
    daemon: Daemon = Daemon()
    sources: dict[Name, Source] = {}
    defaults: dict[str, object] = {}
    include: list[Text] = []
    models: Annotated[list[Model], Field(min_length=1)]
    notify: list[Notify] = []
