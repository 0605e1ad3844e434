"""Files of a lake, by SQL: DuckDB joins and filters what Arrow reads of Parquet files and Delta tables."""

from typing import ClassVar

from monitor.sources.engines.duckdb import DuckdbEngine
from monitor.sources.sql.statements import ReadSession
from monitor.specs.model_spec import Relation

LISTING = "tables of the place"  # a view of every session, with the column name


class LakeEngine(DuckdbEngine):
    """Files. A session opens a table once, so its statements read the same files."""

    title: ClassVar[str] = "files"
    counts: ClassVar[bool] = False
    has_indexes: ClassVar[bool] = False

    def quote_table(self, name: str) -> str:
        """A path below the source's place is one name."""
        return self.quote_name(name)

    def same_id(self, left: str, right: str, left_kind: str, right_kind: str) -> str:  # noqa: ARG002
        """As they are: no column of a file has a collation."""
        return f"{right} = {left}"

    def group_key(self, ref: str, kind: str) -> str:  # noqa: ARG002
        """As it is, for the same reason."""
        return ref

    def list_tables(self, session: ReadSession) -> list[str]:
        """Folders and files of the source's place."""
        rows = session.read_rows(f"SELECT name FROM {self.quote_name(LISTING)}")
        return [str(name) for (name,) in rows]

    def types_of(self, session: ReadSession, relation: Relation) -> dict[str, str]:
        """Types as DuckDB calls those of Arrow."""
        if relation.table is not None and relation.table not in self.list_tables(session):
            raise self.missing_table_error(session, relation.table)
        return super().types_of(session, relation)
