"""How Iceberg's reader reaches places that it does not know by itself. Imported by its name alone."""

from urllib.parse import urlsplit

from pyarrow import fs as pafs
from pyiceberg.io.pyarrow import PyArrowFileIO

ANONYMOUS = "gcs.anonymous"  # a property of our own
_AZURE = ("az", "abfs", "abfss", "wasb", "wasbs")


class PlaceFileIO(PyArrowFileIO):  # type: ignore[misc] # it is looked at nowhere
    """Files as Arrow reads them, by the properties of a place, or by what a catalogue lends."""

    @staticmethod
    def parse_location(location: str, properties: dict[str, str] | None = None) -> tuple[str, str, str]:
        """Scheme, host and path: Azure's may name the account behind the container."""
        scheme, netloc, path = PyArrowFileIO.parse_location(location, properties or {})
        if scheme in _AZURE:
            container = netloc.partition("@")[0]
            return scheme, container, f"{container}{urlsplit(location).path}"
        return scheme, netloc, path

    def _initialize_fs(self, scheme: str, netloc: str | None = None) -> pafs.FileSystem:
        if scheme in _AZURE:
            return self._initialize_azure_fs()
        if scheme == "gs" and self.properties.get(ANONYMOUS) == "true":
            at = urlsplit(self.properties.get("gcs.service.host", "https://storage.googleapis.com"))
            return pafs.GcsFileSystem(anonymous=True, scheme=at.scheme, endpoint_override=at.netloc)
        return super()._initialize_fs(scheme, netloc)
