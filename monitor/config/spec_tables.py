"""Tables of the file that are read straight into a specification."""

from dataclasses import MISSING, fields
from typing import Any, get_type_hints

from pydantic import BaseModel, Field, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function

from monitor.specs.value_types import STRICT


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
