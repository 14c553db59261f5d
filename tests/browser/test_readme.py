"""The README as hosts of repositories show it: two screens, with its picture."""

from __future__ import annotations

from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
WIDTH, SCREEN = 1012, 1080
LOOKS = """
body { margin: 0; padding: 32px; font: 16px/1.5 "Segoe UI", "Noto Sans", Helvetica, sans-serif; }
p, ul, table, pre { margin: 0 0 16px; }
h1, h2 { margin: 24px 0 16px; padding-bottom: 0.3em; border-bottom: 1px solid; line-height: 1.25; }
h1 { margin-top: 0; }
ul { padding-left: 2em; }
li + li { margin-top: 0.25em; }
img { max-width: 100%; }
code { padding: 0.2em 0.4em; font: 85% monospace; }
pre { padding: 16px; overflow: auto; font-size: 85%; line-height: 1.45; }
pre code { padding: 0; font-size: 100%; line-height: inherit; }
table { display: block; border-collapse: collapse; }
td, th { padding: 6px 13px; border: 1px solid; }
"""


def test_it_fits_on_two_screens(page, tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    head = f'<base href="{ROOT.as_uri()}/"><meta charset="utf-8"><style>{LOOKS}</style>'
    shown = tmp_path / "readme.html"
    shown.write_text(f"<!doctype html>{head}{html}", encoding="utf-8")
    page.set_viewport_size({"width": WIDTH, "height": SCREEN})
    page.goto(shown.as_uri())
    assert page.evaluate("[...document.images].map(image => image.naturalWidth > 0)") == [True]
    assert page.evaluate("document.body.offsetHeight") <= 2 * SCREEN
