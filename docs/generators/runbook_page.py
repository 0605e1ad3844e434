"""The runbook as a page of the daemon: a section of docs/troubleshoot.md as a template."""

import re
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
TEMPLATE = "monitor/pages/templates/runbook.html"
RUNBOOK = "## Runbook\n"  # where the section begins; it ends with the page
_ELSEWHERE = re.compile(r"\[([^\]]+)\]\((?!https?://|#)[^)]+\)")


def runbook() -> str:
    """The section, in Markdown."""
    _, heading, text = (ROOT / "docs" / "troubleshoot.md").read_text(encoding="utf-8").partition(RUNBOOK)
    return heading + text


def template() -> str:
    """Template of the page. Sections have the anchors that alerts link to."""
    text = _ELSEWHERE.sub(r"\1", runbook())
    reader = MarkdownIt("commonmark").enable("table")
    tokens = reader.parse(text)
    for opening, title in pairwise(tokens):
        if opening.type == "heading_open":
            opening.attrSet("id", re.sub(r"\W+", "-", title.content.lower()).strip("-"))
    for heading in tokens:
        if heading.type.startswith("heading"):
            heading.tag = f"h{int(heading.tag[1]) - 1}"
    body = reader.renderer.render(tokens, reader.options, {})
    return "\n".join(
        [
            '{% extends "base.html" %}',
            "{% block content %}{% raw %}",
            f'<article class="runbook">\n{body}</article>',
            "{% endraw %}{% endblock %}\n",
        ]
    )
