"""What the program is called where it is installed, and its version: the metadata are made of them."""

DISTRIBUTION = "model-monitor-daemon"
VERSION = "0.1.0"


def install_command(extra: str) -> str:
    """Command that brings an extra.

    >>> install_command("duckdb")
    "pip install 'model-monitor-daemon[duckdb]'"
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"
