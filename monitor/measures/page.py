"""The page of the documentation under the name that `make docs` calls it by."""

from monitor.measures.documentation import markdown as page

__all__ = ["page"]
