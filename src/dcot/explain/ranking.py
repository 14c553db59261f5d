"""Terms in order, with a number each: neighbours of a word, the cohort of a prototype."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from dcot.explain import showing


@dataclass(frozen=True)
class RankedTerms(Sequence[tuple[str, float]]):
    """A list of ``(term, value)`` that prints well.

    Attributes
    ----------
    title : what was asked
    measure : what the values are
    terms, values : the answer, the largest value first
    """

    title: str
    measure: str
    terms: tuple[str, ...]
    values: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.terms)

    @overload
    def __getitem__(self, place: int) -> tuple[str, float]: ...
    @overload
    def __getitem__(self, place: slice) -> RankedTerms: ...
    def __getitem__(self, place: int | slice) -> tuple[str, float] | RankedTerms:
        if isinstance(place, slice):
            return RankedTerms(self.title, self.measure, self.terms[place], self.values[place])
        return self.terms[place], self.values[place]

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return iter(zip(self.terms, self.values, strict=True))

    def __str__(self) -> str:
        if not self.terms:
            return f"{self.title}: none"
        return f"{self.title}\n" + "\n".join(f"  {cell}  {term}" for cell, term in self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        digits = showing.decimals(self.values)
        cells = (showing.signed(value, digits) for value in self.values)
        return list(zip(cells, self.terms, strict=True))

    def to_frame(self) -> Any:
        """A polars frame with a row for each term."""
        import polars as pl

        columns = {"term": list(self.terms), self.measure: list(self.values)}
        return pl.DataFrame(columns, schema={"term": pl.String, self.measure: pl.Float64})

    def _repr_html_(self) -> str:
        largest = max(self.values, default=0.0)
        bars = [value / largest for value in self.values] if largest > 0 else []
        rows = [(term, cell) for cell, term in self._rows()]
        return showing.html_block(
            "", [], [showing.html_table(self.title, ("term", self.measure), rows, bars)]
        )
