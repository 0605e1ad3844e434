"""Post-deployment model monitoring, computed from mergeable counts."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from monitor.app.export import read_snapshots

__all__ = ["read_snapshots"]


def __getattr__(name: str) -> object:
    """Import what is public when it is first asked for: `import monitor` itself costs nothing."""
    if name == "read_snapshots":
        from monitor.app.export import read_snapshots

        return read_snapshots
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
