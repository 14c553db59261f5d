"""Check the parameters of a term counter before any text is read."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from dcot.core.centred import as_dtype
from dcot.core.options import check_flag
from dcot.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from dcot.text.analysis import (
    DEFAULT_PATTERN,
    Analysis,
    compile_pattern,
    strip_accents_ascii,
    strip_accents_unicode,
)
from dcot.text.inputs import Ints, Texts
from dcot.text.terms import Terms

# Limits far above normal use, so that sizes computed from them cannot overflow.
MAX_NGRAM = 1000
MAX_WORD_LENGTH = 1000
MAX_THREADS = 1024
_ANALYZERS = ("word", "char", "char_wb")
# The first two bytes, in UTF-8, of letters of scripts without spaces between words
_SPACELESS = (
    (0xE0B8, 0xE0BB),  # Thai, Lao
    (0xE180, 0xE182),  # Burmese
    (0xE19E, 0xE19F),  # Khmer
    (0xE381, 0xE383),  # Hiragana, Katakana
    (0xE390, 0xE9BF),  # Chinese characters
)
_PHRASE = 6  # so many of these letters in a word: few words have them, and most phrases have more
_MANY_PHRASES, _FEWEST_PHRASES = 0.1, 10  # as a share of all words, and as a number
_ACCENTS = {"ascii": strip_accents_ascii, "unicode": strip_accents_unicode}


def analysis_from(parameters: Mapping[str, Any]) -> Analysis:
    """Build an analysis from the parameters of a ``TermCounter``."""
    check_flags(parameters, "lowercase", "binary", "grow_vocabulary")
    _check_choices(parameters)
    analyzer, accents = parameters["analyzer"], parameters["strip_accents"]
    pattern = stop_words = None
    if analyzer == "word":
        shortest = _at_least_one("min_word_length", parameters["min_word_length"], MAX_WORD_LENGTH)
        pattern = compile_pattern(parameters["token_pattern"], shortest)
        stop_words = stop_list(parameters["stop_words"])
    return Analysis(
        analyzer=analyzer,
        pattern=pattern,
        lowercase=bool(parameters["lowercase"]),
        strip_accents=accents if callable(accents) else _ACCENTS.get(accents or ""),
        accents_of_ascii=callable(accents),
        stop_words=_terms("stop_words", sorted(stop_words)) if stop_words else None,
        ngram_range=ngrams(parameters["ngram_range"]),
    )


def _check_choices(parameters: Mapping[str, Any]) -> None:
    analyzer, accents = parameters["analyzer"], parameters["strip_accents"]
    if not callable(analyzer) and not (isinstance(analyzer, str) and analyzer in _ANALYZERS):
        raise InvalidParameterError(
            f"analyzer must be one of {', '.join(_ANALYZERS)} or a function, got {analyzer!r}"
        )
    known = accents is None or (isinstance(accents, str) and accents in _ACCENTS)
    if not known and not callable(accents):
        raise InvalidParameterError(
            f"strip_accents must be 'ascii', 'unicode', a function or None, got {accents!r}"
        )
    if analyzer == "word" and not isinstance(parameters["token_pattern"], str):
        raise InvalidTypeError(
            f"token_pattern must be a regular expression, got {parameters['token_pattern']!r}"
        )


def ngrams(ngram_range: Any) -> tuple[int, int]:
    """Check ``ngram_range``, and return it as two integers."""
    try:
        low, high = ngram_range
        fine = all(isinstance(n, Integral) for n in (low, high)) and 1 <= low <= high <= MAX_NGRAM
    except (TypeError, ValueError):
        fine = False
    if not fine:
        raise InvalidParameterError(
            f"ngram_range must be two whole numbers with 1 <= first <= second <= {MAX_NGRAM}, got "
            f"{ngram_range!r}"
        )
    return int(low), int(high)


def stop_list(stop_words: Any) -> frozenset[str]:
    """Return the set of stop words.

    >>> "the" in stop_list("english"), len(stop_list(None))
    (True, 0)
    """
    if stop_words is None:
        return frozenset()
    if isinstance(stop_words, str):
        if stop_words != "english":
            raise InvalidParameterError(
                f"stop_words must be 'english' or a list of words, got {stop_words!r}"
            )
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS)
    # an iterator would be empty the next time
    readable = _is_iterable(stop_words) and not isinstance(stop_words, Iterator)
    words: list[Any] = list(stop_words) if readable else [None]
    if not all(isinstance(word, str) for word in words):
        raise InvalidTypeError(
            f"stop_words must be 'english' or a list of words, got {type(stop_words).__name__}"
        )
    return frozenset(words)


def _is_iterable(value: Any) -> bool:
    """Whether it can be iterated over, as an array without dimensions cannot, whatever it says."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def fixed_terms(vocabulary: Any) -> Terms:
    """Return terms in column order, from a list, a set (sorted) or a mapping to columns."""
    if isinstance(vocabulary, str) or not _is_iterable(vocabulary):
        raise InvalidTypeError(
            "vocabulary must be a list of terms or a mapping of terms to columns, got "
            f"{type(vocabulary).__name__}"
        )
    strings = _in_column_order(vocabulary) if isinstance(vocabulary, Mapping) else [*vocabulary]
    seen: set[str] = set()
    for term in strings:
        if not isinstance(term, str):
            raise InvalidTypeError(f"vocabulary must hold strings, got {term!r}")
        if term in seen:
            raise InvalidParameterError(f"vocabulary has the term {term!r} twice: remove one")
        seen.add(term)
    if not strings:
        raise InvalidParameterError(
            "vocabulary is empty: pass at least one term, or None to learn the terms"
        )
    if isinstance(vocabulary, set | frozenset):
        strings.sort()
    return _terms("vocabulary", strings)


def _terms(name: str, strings: list[str]) -> Terms:
    try:
        return Terms.of(strings)
    except UnicodeEncodeError as error:
        raise InvalidParameterError(
            f"{name} has {error.object!r} with a lone surrogate, which is half a character: decode "
            "it again from its bytes"
        ) from None


def _in_column_order(vocabulary: Mapping[str, int]) -> list[str]:
    wrong = [column for column in vocabulary.values() if not isinstance(column, Integral)]
    if wrong:
        raise InvalidTypeError(
            f"vocabulary maps terms to columns, got the column {wrong[0]!r}: number them 0, 1, ..."
        )
    columns = set(vocabulary.values())
    if len(columns) != len(vocabulary):
        raise InvalidParameterError(
            "vocabulary gives two terms the same column: number them 0, 1, 2, ..."
        )
    for column in range(len(vocabulary)):
        if column not in columns:
            raise InvalidParameterError(
                f"vocabulary of {len(vocabulary)} terms has none for column {column}: number them "
                "0, 1, 2, ..."
            )
    return sorted(vocabulary, key=lambda term: vocabulary[term])


# From this many documents on, ``min_df="auto"`` drops terms that are in only one document.
MANY_DOCUMENTS = 1000


def document_limits(min_df: Any, max_df: Any, n_documents: int) -> tuple[float, float]:
    """Return the minimum and maximum number of documents for a term."""
    if isinstance(min_df, str):  # "auto"
        min_df = 2 if n_documents >= MANY_DOCUMENTS else 1
    beyond = n_documents + 1  # a larger number may be too large for a float
    fewest = min(int(min_df), beyond) if isinstance(min_df, Integral) else min_df * n_documents
    most = min(int(max_df), beyond) if isinstance(max_df, Integral) else max_df * n_documents
    return float(fewest), float(most)


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Check limits, threads and dtype; ``analysis_from`` checks the others."""
    for name in ("min_df", "max_df"):
        value = parameters[name]
        if name == "min_df" and isinstance(value, str) and value == "auto":
            continue
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if whole and value >= 1:
            continue
        if isinstance(value, Real) and not isinstance(value, Integral) and 0 <= float(value) <= 1:
            continue
        raise InvalidParameterError(
            f"{name} must be a whole number of documents (at least 1) or a fraction in [0, 1]"
            f"{', or auto' if name == 'min_df' else ''}, got {value!r}"
        )
    _at_least_one("max_features", parameters["max_features"])
    _at_least_one("n_threads", parameters["n_threads"], MAX_THREADS)
    dtype = as_dtype(parameters["dtype"])
    # SciPy has no float16, and a model folder no long double
    if dtype.kind not in "iu" and dtype not in (np.float32, np.float64):
        raise InvalidTypeError(
            "dtype must be a type of whole numbers, float32 or float64, got "
            f"{parameters['dtype']!r}"
        )


def _at_least_one(name: str, value: Any, most: int = 2**31 - 1) -> int | None:
    if value is None:
        return None
    if not isinstance(value, Integral) or isinstance(value, bool) or not 1 <= int(value) <= most:
        raise InvalidParameterError(
            f"{name} must be None or a whole number from 1 to {most:,}, got {value!r}"
        )
    return int(value)


def check_flags(parameters: Mapping[str, Any], *names: str) -> None:
    """Check that the named parameters are True or False."""
    for name in names:
        check_flag(name, parameters[name])


def chosen_terms(documents: Any, totals: Any, limits: tuple[float, float], most: int | None) -> Any:
    """Return a mask of the terms to keep, from document frequencies and totals in sorted order.

    Ties at the limit of ``max_features`` are broken as in scikit-learn, by NumPy's argsort.
    """
    mask = (documents >= limits[0]) & (documents <= limits[1])
    if most is not None and mask.sum() > most:
        best = np.flatnonzero(mask)[(-totals[mask]).argsort()[:most]]
        mask = np.zeros_like(mask)
        mask[best] = True
    return mask


def sum_type(dtype: Any) -> Any:
    """Return the type in which SciPy sums counts of this type; the order of ties depends on it."""
    dtype = np.dtype(dtype)
    if dtype.kind == "u":
        return np.uint
    return np.int_ if np.can_cast(dtype, np.int_) else dtype


def refuse_limits_while_growing(parameters: Mapping[str, Any]) -> None:
    """Reject limits while the vocabulary grows: their result would depend on the batches."""
    limits = {"min_df": 1, "max_df": 1.0, "max_features": None}
    for name, default in limits.items():
        value = parameters[name]
        if name == "min_df" and value == "auto":  # drops nothing while the vocabulary grows
            continue
        if value != default or type(value) is not type(default):  # 1 and 1.0 differ here
            raise InvalidParameterError(
                f"{name}={value} cannot be applied while the vocabulary grows: leave it at "
                f"{default}, or set grow_vocabulary=False to keep the terms of the first batch, "
                "or pass a vocabulary"
            )


def warn_about(parameters: Mapping[str, Any], analysis: Analysis) -> None:
    """Warn about parameters that have no effect or an unintended one."""
    if analysis.analyzer != "word":
        defaults = {"stop_words": None, "token_pattern": DEFAULT_PATTERN, "min_word_length": None}
        for name, default in defaults.items():
            if parameters[name] is not default and parameters[name] != default:
                _warn(f"{name} has no effect: it is for analyzer='word'")
    if callable(analysis.analyzer) and analysis.ngram_range != (1, 1):
        _warn("ngram_range has no effect: the analyzer is a function")
    vocabulary = parameters["vocabulary"]
    # an iterator can be read only once, so not here
    readable = isinstance(vocabulary, Collection) and _is_iterable(vocabulary)
    if readable and analysis.lowercase and not callable(analysis.analyzer):
        terms = (term for term in vocabulary if isinstance(term, str))
        upper = next((term for term in terms if any(map(str.isupper, term))), None)
        if upper is not None:
            _warn(
                f"vocabulary has {upper!r} with upper-case letters, which no document can match: "
                "lower its terms, or set lowercase=False"
            )
    if analysis.stop_words is not None:
        _warn_about_stop_words(analysis, analysis.stop_words)


def _warn_about_stop_words(analysis: Analysis, stop_words: Terms) -> None:
    """Warn about stop words that are split, such as "don't", into words that are kept."""
    plain = replace(analysis, stop_words=None, ngram_range=(1, 1))
    words = stop_words.to_list()
    spans = plain.spans(Texts.of(words))
    data = spans.text.tobytes()
    tokens = {data[i:j].decode() for i, j in zip(spans.starts, spans.ends, strict=True)}
    missing = sorted(tokens - set(words))
    if missing:
        _warn(
            f"stop_words become {missing[:10]} as words of a text, which are not stop_words "
            "themselves: add them"
        )


def warn_of_phrases(terms: Terms, documents: Ints, max_words: int) -> None:
    """Warn if many terms are whole phrases, because the language has no spaces between words.

    A word has at most a few of these letters, so words are not mistaken for phrases if the texts
    are split into words already. ``documents`` is how many contain each term, and ``max_words``
    how many words a term may have.
    """
    lead = np.flatnonzero((terms.data[:-1] >= 0xE0) & (terms.data[:-1] <= 0xE9))
    pairs = (terms.data[lead].astype(np.uint16) << 8) | terms.data[lead + 1]
    spaceless = np.zeros(len(lead), dtype=bool)
    for first, last in _SPACELESS:
        spaceless |= (pairs >= first) & (pairs <= last)
    owner = np.searchsorted(terms.bounds, lead[spaceless], side="right") - 1
    phrases = np.flatnonzero(np.bincount(owner, minlength=len(terms)) >= _PHRASE * max_words)
    found = int(documents[phrases].sum())
    share = found / max(int(documents.sum()), 1)
    if found < _FEWEST_PHRASES or share < _MANY_PHRASES:
        return
    start, end = terms.bounds[phrases[0]], terms.bounds[phrases[0] + 1]
    example = terms.data[start:end].tobytes().decode()
    _warn(
        f"{100 * share:.0f} % of the words are whole phrases, such "
        f"as {example[:20]!r}, because the language has no spaces between words: count pairs of "
        "characters, with analyzer='char' and ngram_range=(2, 2) (--analyzer char --ngram-range "
        "2,2), or put spaces between the words"
    )


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=5)


def nothing_found(n_documents: int, n_stopped: int, has_stop_words: bool) -> InvalidInputError:
    """Return the error for a corpus without terms."""
    stopped = f"stop_words dropped all {n_stopped:,} words that " if has_stop_words else ""
    nothing = "" if has_stop_words else " nothing"
    if n_documents == 0:
        return InvalidInputError("no documents were given, so there are no terms to learn")
    return InvalidInputError(
        f"no terms in {n_documents:,} documents: {stopped}token_pattern, analyzer and ngram_range "
        f"found{nothing}; are the texts empty, or their words too short for the pattern?"
    )


def nothing_kept(documents: Any, parameters: Mapping[str, Any], n_documents: int) -> Exception:
    """Return the error for a corpus whose terms were all dropped by the limits."""
    fewest, most = document_limits(parameters["min_df"], parameters["max_df"], n_documents)
    rare, common = int((documents < fewest).sum()), int((documents > most).sum())
    impossible = (
        f" (no term can be in at least {fewest:g} and at most {most:g} documents)"
        if most < fewest
        else ""
    )
    return InvalidInputError(
        f"none of the {len(documents):,} terms in {n_documents:,} documents remain: "
        f"min_df={parameters['min_df']} dropped {rare:,} and max_df={parameters['max_df']} dropped "
        f"{common:,}{impossible}; lower min_df or raise max_df"
    )
