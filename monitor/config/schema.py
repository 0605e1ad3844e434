"""Schema of the configuration file: its tables. What each key means stands in `config.example.toml`.

The keys of a model are those of `specs.model_table`, those of the other tables the fields of their
specifications. What one key says about another is checked in `key_checks`.
"""

from typing import Annotated, TypeAlias

from pydantic import BaseModel, Field

from monitor.config.spec_tables import SpecKeys
from monitor.specs.model_spec import SourceSpec
from monitor.specs.model_table import ModelTable
from monitor.specs.settings import ChannelSpec, DaemonSpec, HttpSpec, LogSpec, StoreSpec
from monitor.specs.value_types import STRICT, Name, Text

StoreTable: TypeAlias = Annotated[StoreSpec, SpecKeys("StoreTable", StoreSpec)]
HttpTable: TypeAlias = Annotated[HttpSpec, SpecKeys("Http", HttpSpec)]
LogTable: TypeAlias = Annotated[LogSpec, SpecKeys("Log", LogSpec)]
DaemonTable: TypeAlias = Annotated[DaemonSpec, SpecKeys("Daemon", DaemonSpec)]
SourceTable: TypeAlias = Annotated[SourceSpec, SpecKeys("Source", SourceSpec, without="name")]
NotifyTable: TypeAlias = Annotated[ChannelSpec, SpecKeys("Notify", ChannelSpec)]


class Configuration(BaseModel):
    """The whole file. The keys of `defaults` have been merged into every model when it is read."""

    model_config = STRICT

    store: StoreTable = StoreSpec()
    http: HttpTable = HttpSpec()
    log: LogTable = LogSpec()
    daemon: DaemonTable = DaemonSpec()
    sources: dict[Name, SourceTable] = {}
    defaults: dict[str, object] = {}
    include: list[Text] = []
    models: Annotated[list[ModelTable], Field(min_length=1)]
    notify: list[NotifyTable] = []
