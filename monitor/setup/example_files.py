"""Files beside the program: an example of a configuration, its schema, dashboards, Prometheus."""

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from monitor.core.errors import ConfigurationError, MonitorError


def write_files(directory: Path) -> list[Path]:
    """Write all of them below a directory; nothing that is there is overwritten.

    Raises
    ------
    ConfigurationError
        which names each file that is there already; then none is written.
    MonitorError
        if one cannot be written.
    """
    found = [
        (directory / name, entry) for name, entry in _walk_package_files(files("monitor.setup") / "files")
    ]
    if there := [path for path, _ in found if path.exists()]:
        raise ConfigurationError([f"{path} is there already and is not overwritten" for path in there])
    for path, entry in found:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(entry.read_bytes())
        except OSError as error:
            raise MonitorError(f"{path} cannot be written: {error.strerror}") from error
    return [path for path, _ in found]


def _walk_package_files(entry: Traversable, above: str = "") -> Iterator[tuple[str, Traversable]]:
    """Path below the directory of each file, in their order."""
    for each in sorted(entry.iterdir(), key=lambda one: one.name):
        name = f"{above}{each.name}"
        if each.is_dir():
            yield from _walk_package_files(each, f"{name}/")
        else:
            yield name, each
