"""The keys of a model: types, defaults, and what the program reads of them. `config.example.toml` explains.

Durations and times are microseconds once read, class values canonical text. What the file means beyond its
keys (columns by role, windows, rules) is `ModelSpec`, made in `config.build_settings`.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, Field

from monitor.alerts import alert_rules
from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.core.measurement import LEVEL, Dependence, RateMethod
from monitor.measures.measure_options import RATE_METHOD, RESAMPLES, TOPS
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.specs.value_types import (
    STRICT,
    Against,
    ByClass,
    Class,
    Count,
    Days,
    Duration,
    Id,
    Label,
    Length,
    Matrix,
    Moment,
    Name,
    PageName,
    Positive,
    Proportion,
    Range,
    Row,
    SeverityName,
    TableName,
    Text,
    Threshold,
    Words,
    Zone,
    as_table,
)

DEFAULT_RULE = alert_rules.Rule(name="", measure="", condition=alert_rules.BreachCondition())
_READING = ReadingOptions(task=ModelTask.BINARY)  # of its defaults

EpochUnit: TypeAlias = Literal["s", "ms", "us"]
OtherUnit: TypeAlias = Literal["s", "ms", "us", "none"]  # none: no epoch, though the event time is one
FamilyName: TypeAlias = Literal[
    "averages", "calibration", "comparison", "distances", "estimate", "gains", "shift", "values"
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
    partition: Text | None = None
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
    partition: Text | None = None
    revision: Text | None = None
    append_only: bool | None = None  # None: told by the revision, or the table's key
    only_for: Annotated[list[Class], Field(min_length=1)] | None = None


class ClassesTable(BaseModel):
    """Values of the label and of the prediction."""

    model_config = STRICT

    positive: Class = "1"
    negative: Class = "0"
    values: Row[Class] | None = None
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

    numeric: Row[Text] = ()
    categorical: Row[Text] = ()
    exclude: Row[Text] = ()


class Control(BaseModel):
    """Control and treatment group."""

    model_config = STRICT

    arm_column: Text
    control_value: Class
    treatment_value: Class
    control_share: Proportion | None = None
    since: Moment | None = None  # None: from the oldest pane that is counted
    detect: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class ChallengerTable(BaseModel):
    """Another model that predicts the same records."""

    model_config = STRICT

    score: Text | None = None
    prediction: Text | None = None
    threshold: float | None = None
    version: Text | None = None
    since: Moment | None = None  # as that of the arms


class Profit(BaseModel):
    """Amount by actual and predicted class."""

    model_config = STRICT

    matrix: Matrix


class BudgetTable(BaseModel):
    """How many false alerts the model may cost."""

    model_config = STRICT

    # in 30 days, over all that is watched of the model.
    false_alerts: Annotated[float, Field(gt=0, le=30)] = 1.0
    # stability index below which a change is shown, not told.
    smallest: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.1
    # (first, last) days as numbers of days since 1970-01-01 in the model's time zone: judged by nobody,
    # learned from by nobody.
    unusual_days: Row[Days] = ()


class ReadingTable(BaseModel):
    """How the tables are read again."""

    model_config = STRICT

    overlap: Duration = 15 * MINUTE
    tolerance: Duration = _READING.tolerance
    lookback: Positive = 2 * DAY
    recount_rows: Count = 2_000_000
    ready_after: Duration | None = None  # None: `overlap`, see `ModelSpec.ready_after`
    revise_every: Positive = DAY


class ReportTable(BaseModel):
    """How often the model's report is sent, and to which channels."""

    model_config = STRICT

    every: Literal["week", "month", "quarter"]
    to: Annotated[list[Text], Field(min_length=1)]


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
    formerly: Name | None = None  # name that its history had, if it was renamed
    source: str
    task: Literal["binary", "multiclass", "regression"]
    enabled: bool = True
    every: Positive = HOUR
    windows: Row[Annotated[WindowTable, BeforeValidator(as_table)]] = (
        WindowTable(length="1d"),
        WindowTable(length="7d"),
        WindowTable(length="30d"),
    )
    timezone: Zone = "UTC"
    pane: Positive = _READING.pane
    horizon: Positive = _READING.horizon
    settled_share: Annotated[float, Field(gt=0, le=1)] = 0.95
    settle_after: Duration | None = None  # age at which a window settles; None: learnt from the delays
    level: Proportion = LEVEL
    # method of the intervals of accuracy, recall and the other rates of classes.
    rate_interval: RateMethod = RATE_METHOD
    # "none": records are independent; "day": those of one day may depend on one another.
    dependence: Dependence = "none"
    resamples: Count = RESAMPLES
    # versions, segments and arms have bootstrap intervals too; else those of closed forms alone.
    resample_segments: bool = False
    # of the records, of the highest scores, that precision and recall are told of.
    top_shares: Row[Proportion] = TOPS
    measures: Row[FamilyName] | None = None
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)] = _READING.scale
    # what windows are compared with beside the reference: "previous", or trailing spans, "28d".
    against: Row[Against] = ()
    effects: bool = True  # what features do to the mean score is learnt from the reference, and said
    max_series: Count = 2_000
    predictions: Predictions
    labels: LabelsTable | None = None
    classes: ClassesTable = ClassesTable()
    reference: ReferenceTable | None = None
    features: FeaturesTable = FeaturesTable()
    segments: Row[Text] = ()
    serving: ServingTable | None = None
    control: Control | None = None
    challenger: ChallengerTable | None = None
    profit: Profit | None = None
    owner: Text | None = None
    runbook_url: Text | None = None
    alert_labels: dict[Label, str] = {}
    report: ReportTable | None = None
    budget: BudgetTable | None = None
    alerts: Row[AlertTable] | None = None
    default_alerts: bool | None = None
    reading: ReadingTable = ReadingTable()
