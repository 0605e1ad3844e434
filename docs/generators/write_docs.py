"""Write what is generated from the code: `make docs`."""

from pathlib import Path

import architecture_picture
import commands_page
import concept_pictures
import config_schema
import measure_pictures
import measures_page
import messages_page
import runbook_page
from page_parts import write_part

from monitor.exposition.series_selection import exposed_family_name

ROOT = Path(__file__).parents[2]


def parts_of_pages() -> dict[str, dict[str, str]]:
    """By page: the parts of it that are made of the code."""
    return {
        "docs/measures.md": {"families": measures_page.families(), "reasons": measures_page.reasons()},
        "docs/messages.md": {"examples": messages_page.markdown()},
    }


def main() -> None:
    """Write references, parts of pages, pictures, the configuration's schema, the runbook's page."""
    example = (ROOT / "config.example.toml").read_text(encoding="utf-8")
    for page, parts in parts_of_pages().items():
        for name, text in parts.items():
            write_part(ROOT / page, name, text)
    texts = {
        "docs/measures-reference.md": measures_page.reference(exposed_family_name),
        "docs/commands.md": commands_page.markdown(),
        runbook_page.TEMPLATE: runbook_page.template(),
        **concept_pictures.pictures(),
        **measure_pictures.family_pictures(),
        "docs/pictures/architecture.svg": architecture_picture.picture(),
        "config.schema.json": config_schema.schema_text(example),
    }
    for name, text in texts.items():
        (ROOT / name).write_text(text, encoding="utf-8")
    print(", ".join([*parts_of_pages(), *texts]))


if __name__ == "__main__":
    main()
