"""What a client accepts."""


def likes(header: str) -> dict[str, float]:
    """Kinds of an Accept or Accept-Encoding header and how much each is liked, 0 to 1.

    >>> likes("text/plain;version=0.0.4;q=0.5, */*")
    {'text/plain': 0.5, '*/*': 1.0}
    """
    found: dict[str, float] = {}
    for part in header.lower().split(","):
        kind, *parameters = (piece.strip() for piece in part.split(";"))
        found[kind] = max(found.get(kind, 0.0), _quality(parameters))
    return found


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter[2:])
            except ValueError:
                return 0.0
    return 1.0
