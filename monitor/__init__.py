"""Post-deployment model monitoring, computed from mergeable counts.

In a notebook: `evaluate` measures data frames, `open` reads what a store keeps.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from monitor.app.exports.export_files import read_snapshots
    from monitor.notebook.evaluation import Evaluation, evaluate
    from monitor.notebook.opened_store import OpenedStore
    from monitor.notebook.opened_store import open_kept as open  # noqa: A004 -- it is `monitor.open`
    from monitor.notebook.over_time import OverTime

__all__ = ["Evaluation", "OpenedStore", "OverTime", "evaluate", "open", "read_snapshots"]
_HOMES = {
    "Evaluation": ("monitor.notebook.evaluation", "Evaluation"),
    "OpenedStore": ("monitor.notebook.opened_store", "OpenedStore"),
    "OverTime": ("monitor.notebook.over_time", "OverTime"),
    "evaluate": ("monitor.notebook.evaluation", "evaluate"),
    "open": ("monitor.notebook.opened_store", "open_kept"),
    "read_snapshots": ("monitor.app.exports.export_files", "read_snapshots"),
}


def __getattr__(name: str) -> object:
    """Import what is public when it is first asked for: `import monitor` itself costs nothing."""
    if name in _HOMES:
        module, attribute = _HOMES[name]
        return getattr(import_module(module), attribute)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
