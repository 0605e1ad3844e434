"""Schema of the configuration file: its tables, read straight into specifications.

What each key means stands in `config.example.toml`.

The keys of a model are those of `specs.model_table`, those of the other tables the fields of their
specifications. What one key says about another is checked in `key_checks`.
"""

from dataclasses import MISSING, fields
from typing import Annotated, Any, TypeAlias, get_type_hints

from pydantic import BaseModel, Field, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function

from monitor.specs.model_spec import SourceSpec
from monitor.specs.model_table import ModelTable
from monitor.specs.settings import ChannelSpec, DaemonSpec, HttpSpec, LogSpec, StoreSpec
from monitor.specs.value_types import STRICT, Name, Text


class SpecKeys:
    """Annotates a specification, a dataclass: a table of the file is read into it, a key a field.

    The field is the only home of the key: of its type, its default and what it is.

    Parameters
    ----------
    name
        of the table, for editors; its title is the specification's first line.
    without
        a field that is no key.
    """

    def __init__(self, name: str, spec: type, *, without: str = "") -> None:
        types = get_type_hints(spec, include_extras=True)
        keys: dict[str, Any] = {
            key.name: (types[key.name], Field(... if key.default is MISSING else key.default, repr=key.repr))
            for key in fields(spec)
            if key.name != without
        }
        title = (spec.__doc__ or "").partition("\n")[0]
        self.table: type[BaseModel] = create_model(name, __config__=STRICT, __doc__=title, **keys)

    def __get_pydantic_core_schema__(self, spec: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate the table, then make the specification."""

        def made(table: BaseModel) -> object:
            return spec(**{key: getattr(table, key) for key in type(table).model_fields})

        return no_info_after_validator_function(made, handler.generate_schema(self.table))


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
