"""Tables of what is counted, referred to, coordinated and told."""

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
)

from monitor.store.tables.columns import METADATA, count, key, owner, time

panes = Table(
    "panes",
    METADATA,
    *owner(),
    key("records or labels", "part"),
    time("start", "start of the pane"),
    key("hash of what the counters mean", "layout"),
    Column("codec", Integer, nullable=False, comment="version of the blob's format"),
    time("counted_as_of", "as of the last whole count"),
    count("rows", "rows read, repeats included; of labels the records"),
    time("newest", "largest logged_at or reported_at read", nullable=True),
    count("records", "records of the pane"),
    count("labelled", "of them with a label"),
    count("checksum", "which record has which label: a sum of hashes modulo 2^63"),
    Column("blob", LargeBinary, nullable=False, comment="counters by stratum, see monitor.records.codec"),
    time("labelled_as_of", "as of the last difference of its labels since then", nullable=True),
    Column("mapping", Text, comment="hash of the tables, columns and conditions that it was read by"),
    Column("holds", BigInteger, comment="of labels: number of the last difference that is in it"),
    PrimaryKeyConstraint("run", "model", "part", "start"),
    comment="counted parts of panes",
)

differences = Table(
    "differences",
    METADATA,
    *owner(),
    count("number", "of this write of labels parts, see models.label_writes"),
    time("as_of", "labels that were known then"),
    key("hash of what the counters mean", "layout"),
    Column("blob", LargeBinary, nullable=False, comment="see monitor.records.codec"),
    PrimaryKeyConstraint("run", "model", "number"),
    comment="what labels have added to panes since these were stored; added to them once a day",
)

waiting = Table(
    "waiting",
    METADATA,
    *owner(),
    key("records or labels", "part"),
    time("start", "start of the pane"),
    time("since", "as of at which it was first seen changed"),
    PrimaryKeyConstraint("run", "model", "part", "start"),
    comment="parts of panes that changed in the source and are not yet counted again",
)

models = Table(
    "models",
    METADATA,
    *owner(),
    time("as_of", "as of the last cycle", nullable=True),
    time("first_as_of", "as of the first cycle", nullable=True),
    time("oldest", "oldest event time of the log at the first cycle", nullable=True),
    time("logged_cursor", "predictions are seen up to here", nullable=True),
    time("reported_cursor", "labels are seen up to here", nullable=True),
    time("audited_as_of", "as of the last audit", nullable=True),
    Column(
        "settling_age",
        BigInteger,
        comment="age from which windows could settle at the last cycle; microseconds",
    ),
    Column("seen_again", Text, comment="labels by pane that the next search for changes sees again, JSON"),
    Column("rows_seen_again", Text, comment="rows by pane that the next search for changes sees again, JSON"),
    Column("label_writes", BigInteger, comment="how often labels parts of panes were written"),
    PrimaryKeyConstraint("run", "model"),
    comment="where the history of a model stands",
)

windows = Table(
    "windows",
    METADATA,
    *owner(),
    key("window as configured", "window"),
    time("window_end", "end of the window (exclusive)"),
    time("first_as_of", "as of its first measurement"),
    time("settled_as_of", "as of which enough labels were in", nullable=True),
    time("measured_as_of", "as of its last measurement", nullable=True),
    count("records_seen", "rows behind it when it was last measured"),
    count("labels_seen", "checksum of its panes' labels when it was last measured, compared for equality"),
    key("partial, low_coverage, or empty", "warning"),
    PrimaryKeyConstraint("run", "model", "window", "window_end"),
    comment="what has happened to the kept windows",
)

provenance = Table(
    "provenance",
    METADATA,
    *owner(),
    time("as_of", "as of the cycle"),
    key("hash of the grids", "grid"),
    key("hash of the reference; empty: none", "reference"),
    key("hash of the model's configuration", "config"),
    key("version of the code", "code"),
    count("rows_read", "rows read by the cycle"),
    time("newest_logged_at", "newest logged_at seen", nullable=True),
    time("newest_reported_at", "newest reported_at seen", nullable=True),
    PrimaryKeyConstraint("run", "model", "as_of"),
    comment="what stood behind the snapshots of one as of",
)

entries = Table(
    "entries",
    METADATA,
    *owner(),
    key("outcome, sample_ratio or challenger", "comparison"),
    key("hash of what is compared: another begins anew", "key"),
    time("start", "start of what entered"),
    time("until", "its end (exclusive)"),
    time("as_of", "as of which it entered"),
    key("its counts, JSON", "entered"),
    key("counts of all that has entered so far, JSON", "total"),
    Column("most", Double, nullable=False, comment="logarithm of the most evidence that there was so far"),
    PrimaryKeyConstraint("run", "model", "comparison", "key", "start"),
    comment="what has entered the comparisons that go on: each record once, in the order of event time",
)

days = Table(
    "days",
    METADATA,
    *owner(),
    key("records or labels", "part"),
    time("start", "start of the day"),
    time("until", "its end (exclusive)"),
    time("due", "as of which it was counted: a function of the day alone"),
    count("age", "of its labels then, in days; 0 of records"),
    key("hash of what is watched: another begins anew", "key"),
    Column("blob", LargeBinary, nullable=False, comment="its counters, or statistics: see monitor.evidence"),
    PrimaryKeyConstraint("run", "model", "part", "key", "start"),
    comment="days as they were judged against the false-alarm budget: append-only, once and for good",
)

references = Table(
    "references_",
    METADATA,
    key("hash of the reference's specification", "key"),
    key("name of the model it was made for", "model"),
    key("hash of its grids", "hash"),
    key("grids and reading options, JSON", "counting"),
    Column("records", LargeBinary, nullable=False, comment="counters of its records"),
    Column("labels", LargeBinary, nullable=False, comment="counters of its labels"),
    time("created", "when it was kept"),
    key("what it was made of: file, table, query or time range", "made_of"),
    PrimaryKeyConstraint("key"),
    comment="references: how to count, and what is compared against",
)

configurations = Table(
    "configurations",
    METADATA,
    key("of what is configured, defaults included", "hash"),
    key("name of the model", "model"),
    key("what is configured, JSON; a value of the environment or of a file is its place", "content"),
    time("created", "when it was first used"),
    PrimaryKeyConstraint("hash"),
    comment="configurations of models: kept for ever",
)

leases = Table(
    "leases",
    METADATA,
    *owner(),
    key("process that has the model", "owner"),
    count("token", "grows with each claim; checked by a commit"),
    time("expires_at", "by the clock of this database"),
    PrimaryKeyConstraint("run", "model"),
    comment="which process runs a model's cycles",
)

daemons = Table(
    "daemons",
    METADATA,
    key("history that it writes", "run"),
    key("process", "owner"),
    key("hash of its configuration and code", "config"),
    count("generation", "grows with each other configuration that comes into use"),
    time("expires_at", "by the clock of this database"),
    PrimaryKeyConstraint("run", "owner"),
    comment="which daemons share a run, and whose configuration is the newest",
)

troubles = Table(
    "troubles",
    METADATA,
    *owner(),
    time("as_of", "of its last cycle"),
    time("since", "as of of the first"),
    count("failed", "cycles that failed in a row; 0: none did"),
    Column("told", Text, nullable=False, comment="what it is, in words"),
    PrimaryKeyConstraint("run", "model"),
    comment="what stands in the way of a model's cycles, as long as it does",
)

events = Table(
    "events",
    METADATA,
    Column(
        "id",
        BigInteger().with_variant(Integer, "sqlite"),  # SQLite numbers rows by an INTEGER key only
        autoincrement=True,
        nullable=False,
        comment="grows with each event",
    ),
    *owner(),
    time("at", "when"),
    key("what happened: renamed, recounted, forgotten, …", "kind"),
    key("to what: a version, an old name, or empty", "subject"),
    key("person or process; empty: the service itself", "who"),
    key("in words, or empty", "why"),
    key("figures of the kind, JSON", "detail"),
    PrimaryKeyConstraint("id"),
    Index(None, "run", "model", "kind"),
    comment="what happened to histories: kept for ever",
)

alerts = Table(
    "alerts",
    METADATA,
    *owner(),
    key("name of the rule", "rule"),
    key("version of the model; empty: the whole", "version"),
    key("column=value; empty: the whole", "segment"),
    key("window as configured; empty: figures of the cycle itself", "window"),
    key("score, feature:NAME, feature:* (a share of them), … or empty", "subject"),
    time("since", "as of of the first breach"),
    key("critical, warning or info", "severity"),
    key("pending, firing or resolved", "state"),
    time("fired_at", "as of at which it fired", nullable=True),
    time("resolved_at", "as of at which it ended", nullable=True),
    Column("ended", Text, comment="why it ended: cleared, revised, no_data, removed"),
    time("window_end", "end of the window of its newest breach"),
    Column("value", Double, comment="of its newest breach"),
    Column("lower", Double, comment="lower bound of the interval"),
    Column("upper", Double, comment="upper bound of the interval"),
    count("n", "records behind the value"),
    Column("limit_", Double, comment="that the value is beyond"),
    Column("cause", Text, comment="cells that moved, segments or features that contribute most, JSON"),
    time("judged_at", "as of of the newest verdict: the revision that it speaks of"),
    key("newest verdict, JSON", "verdict"),
    count("breached", "for how long it has been in breach; microseconds"),
    time("clear_since", "as of since which its verdicts are clear", nullable=True),
    time("unknown_since", "as of since which its verdicts are unknown", nullable=True),
    Column(
        "told", Text, comment="its breach as it began, fired and became twice as bad, each as of when, JSON"
    ),
    PrimaryKeyConstraint("run", "model", "rule", "version", "segment", "window", "subject", "since"),
    comment="alerts, one row an episode: kept for ever",
)

outbox = Table(
    "outbox",
    METADATA,
    key("always the same for a notice and a channel: a receiver knows by it what it has already", "key"),
    *owner(),
    key("name of the rule", "rule"),
    key("firing or resolved", "kind"),
    key("name of the channel that it goes to", "channel"),
    time("as_of", "as of of the cycle that it tells of"),
    key("what is told, JSON", "payload"),
    time("written_at", "when it was written, by the clock of this database"),
    count("attempts", "how often it was tried"),
    time("next_at", "not tried before, by that clock"),
    time("delivered_at", "when the channel took it, by that clock", nullable=True),
    time("given_up_at", "when it was too old to be told, by that clock", nullable=True),
    key("why the channel did not take it last; empty: it did, or was not tried", "error"),
    PrimaryKeyConstraint("key"),
    Index(None, "run", "channel", "as_of"),
    comment="notices of alerts to channels: written with the alerts, delivered at least once",
)
