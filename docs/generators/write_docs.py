"""Write what is generated from the code: `make docs`."""

from pathlib import Path

import architecture_picture
import commands_page
import concept_pictures
import config_schema
import measures_page
import messages_page
import runbook_page

from monitor.exposition.series_selection import exposed_family_name

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Write the pages of measures and messages, pictures, the configuration's schema, the runbook's page."""
    example = (ROOT / "config.example.toml").read_text(encoding="utf-8")
    texts = {
        **measures_page.pages(exposed_family_name),
        "docs/commands.md": commands_page.markdown(),
        runbook_page.TEMPLATE: runbook_page.template(),
        "docs/alerts-messages.md": messages_page.markdown(),
        **concept_pictures.pictures(),
        "docs/pictures/architecture.svg": architecture_picture.picture(),
        "config.schema.json": config_schema.schema_text(example),
    }
    for name, text in texts.items():
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(text, encoding="utf-8")
    print(", ".join(texts))


if __name__ == "__main__":
    main()
