"""Models that watch the generated log, configured as users do it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import data

from monitor.app.application import App
from monitor.config.config_loading import settings_of
from monitor.store.store_database import migrate_store, open_store

MODEL = """
[[models]]
name = "{name}"
source = "log"
task = "binary"
windows = {windows}
{options}

[models.predictions]
table = "predictions"
id = "id"
event_time = "event_time"
event_time_unit = "us"
logged_at = "event_time"
score = "score"
threshold = 0.5

[models.labels]
{labels}
label = "label"

[models.reference]
file = "{reference}"

[models.features]
numeric = {numeric}
categorical = {categorical}
"""
WITHIN = "# in the prediction table"
APART = (
    'table = "labels"\nid = "id"\nreported_at = "reported_at"\nreported_at_unit = "us"\nappend_only = true'
)


def model(
    reference: Path,
    name: str = "scored",
    *,
    windows: Sequence[str] = ("1d",),
    options: str = 'settle_after = "1d"\nhorizon = "40d"',
    labels: str = WITHIN,
    numeric: Sequence[str] = data.NUMERIC,
    categorical: Sequence[str] = data.CATEGORICAL,
) -> str:
    """Configuration of a model."""
    return MODEL.format(
        name=name,
        windows=list(windows),
        options=options,
        labels=labels,
        reference=reference.resolve(),
        numeric=list(numeric),
        categorical=list(categorical),
    )


def configure(directory: Path, source: str, *models: str, head: str = "") -> Path:
    """Write the configuration of models on a source, with a store in SQLite beside it."""
    text = f'{head}[store]\nurl = "sqlite:///{directory / "monitor.db"}"\n'
    text += f'[sources.log]\nurl = "{source}"\nstatement_timeout = "1h"\n'
    file = directory / "config.toml"
    file.write_text(text + "".join(models), encoding="utf-8")
    return file


def opened(config: Path) -> App:
    """The monitor on a configuration, its store migrated."""
    settings = settings_of(config, {})
    migrate_store(settings.store.url)
    return App(settings, config.parent, open_store(settings.store.url, "live"))


@contextmanager
def closed_at_end(app: App) -> Iterator[App]:
    """An opened monitor, closed at the end."""
    try:
        yield app
    finally:
        app.close_all()
