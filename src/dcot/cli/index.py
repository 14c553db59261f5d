"""``dcot index``: make documents searchable."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dcot.cli import options as o
from dcot.cli.errors import UserError
from dcot.cli.session import Session

if TYPE_CHECKING:
    from dcot.cli.corpus import Corpus

EXAMPLES = {
    "index": (
        "dcot index model news.csv --text body --id number -o index",
        "dcot index new news.txt -o index",
    )
}
NEW = "new"  # in place of a model folder


def index(
    model: Annotated[
        Path,
        o.argument(
            "A model folder; or the word new, to fit one for search on the corpus itself.",
            "MODEL",
        ),
    ],
    corpus: o.Corpora,
    output: Annotated[
        Path, o.output("The index folder to write; an older index is replaced.", "INDEX")
    ],
    *,
    hybrid: o.Hybrid = None,
    texts: Annotated[bool, o.option("Keep the texts, to show them in results.")] = True,
    precision: o.Precision = None,
    reading: o.Reading,
    identifier: o.Identifier = None,
    metadata: o.Metadata = None,
    session: Session,
) -> None:
    """Make documents searchable by meaning and by words."""
    from dcot.cli.corpus import Corpus
    from dcot.cli.models import check_target, load_model, save_model

    check_target(output, "SearchIndex")
    source = Corpus(corpus, reading, identifier=identifier, metadata=tuple(metadata or ()))
    source.check()
    is_new = str(model) == NEW and not model.exists()
    loaded = None if is_new else load_model(model, "DCoTVectorizer", hint="make one with dcot fit")
    from dcot import SearchIndex

    documents = source.whole()
    start = time.perf_counter()
    options: dict[str, Any] = {} if hybrid is None else {"hybrid": hybrid}
    found = SearchIndex(loaded, store_texts=texts, **options)
    found.add(documents.texts, ids=_unique(documents.ids, source), metadata=documents.metadata)
    seconds = time.perf_counter() - start
    size = save_model(found, output, precision)
    from dcot.runtime.resources import format_bytes

    facts = {
        "index": str(output),
        "documents": len(found),
        "seconds": round(seconds, 3),
        "bytes": size,
    }
    session.done(
        facts,
        f"Indexed {len(found):,} documents in {seconds:.1f} s.\n"
        f"Saved to {output} ({format_bytes(size)}).",
    )


def _unique(ids: list[Any], source: Corpus) -> list[Any]:
    """Identifiers for the index: numbers, or text."""
    plain = [one if isinstance(one, int) else str(one) for one in ids]
    seen: set[Any] = set()
    for one in plain:
        if one in seen:
            raise UserError(
                f"{source.name}: two documents have the id {one!r}; identifiers have to be "
                "different: use another column for --id, or none"
            )
        seen.add(one)
    return plain
