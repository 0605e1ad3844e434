"""Write Grafana's dashboards: `make dashboards`."""

from pathlib import Path

from boards import boards
from rendering import rendered

TARGET = Path(__file__).parent / "dashboards"


def main() -> None:
    """Write one file a dashboard; files of dashboards that are no more go."""
    texts = {f"{board.uid}.json": rendered(board) for board in boards()}
    for path in TARGET.glob("*.json"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        (TARGET / name).write_text(text, encoding="utf-8")
    print(f"{len(texts)} dashboards in {TARGET}")


if __name__ == "__main__":
    main()
