"""Figures: what is on them, that nothing overlaps, and no trace in pyplot."""

from __future__ import annotations

from itertools import combinations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from dcot import DCoT, DCoTClassifier, DCoTVectorizer, plots
from dcot.errors import DcotError
from dcot.plots._map import plane

mpl.use("agg")

TEXTS = [
    "crude oil prices rose",
    "opec cut crude oil output",
    "nasdaq stocks fell",
    "stocks and shares on the nasdaq",
    "opec oil exports",
    "shares and stocks rose",
]


@pytest.fixture(scope="module")
def model():
    return DCoTVectorizer(noise=0.5, shrinkage=0.1).fit(TEXTS)


@pytest.fixture(scope="module")
def classifier():
    texts = [f"{text} {word}" for text in TEXTS for word in ("today", "again", "now")]
    labels = [
        name for name in ("oil", "oil", "stocks", "stocks", "oil", "stocks") for _ in range(3)
    ]
    return DCoTClassifier(grid={"n_prototypes": (8, 4)}, random_state=0).fit(texts, labels)


def written(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


def test_columns_of_words_from_a_model(model):
    words = ["", "nasdaq", "opec"]
    figure = plots.word_columns([model.explain(word) for word in words], layer=2, k=3)
    expected = []
    for word in words:
        expected += [word or "(empty)", *(name for name, _ in model.explain(word).layer(2).top(3))]
    assert written(figure.axes[0]) == expected
    with pytest.raises(DcotError, match="no words to draw"):
        plots.word_columns([])


def test_equal_texts_have_a_column_each(model):
    long = "opec cut crude oil output again and again"
    meanings = [model.explain(text) for text in ("opec", "opec", long + " today", long + " now")]
    found = written(plots.word_columns(meanings, k=1).axes[0])
    assert found[::2] == [
        "opec",
        "opec (2)",
        "opec cut crude oil output …",
        "opec cut crude oil output … (2)",
    ]


@pytest.mark.parametrize(
    "draw",
    [
        lambda model: plots.accuracy_bars({}),
        lambda model: plots.accuracy_bars({"a": []}),
        lambda model: plots.accuracy_bars([0.5]),
        lambda model: plots.accuracy_bars({"a": 0.5}),
        lambda model: plots.accuracy_bars({"a": ["high"]}),
        lambda model: plots.label_curves([[0.5]]),
        lambda model: plots.label_curves({"a": [0.5]}),
        lambda model: plots.label_curves({"a": {10: []}}),
        lambda model: plots.term_map(model, None),
        lambda model: plots.term_map(model, [["opec"]]),
        lambda model: plots.term_map(model, ["opec"], neighbours="8"),
        lambda model: plots.term_map(model, ["opec"], neighbours=np.ones(2)),
        lambda model: plots.word_columns(None),
        lambda model: plots.word_columns([model.explain("opec")], k="1"),
        lambda model: plots.document_layers(model.explain("opec"), k=-1),
        lambda model: plots.noise_heatmap([[1, 2], [3]], noises=[0.5, 0.9]),
        lambda model: plots.word_columns([model.explain("opec")], layer="1"),
        lambda model: model.explain("opec").layer(1.5),
    ],
)
def test_what_cannot_be_drawn_is_refused(model, draw):
    with pytest.raises(DcotError):
        draw(model)


def test_a_document_layer_by_layer(model):
    meaning = model.explain("opec stocks")
    figure = plots.document_layers(meaning, k=4)
    names = [[label.get_text() for label in ax.get_yticklabels()] for ax in figure.axes]
    assert sorted(names[0]) == ["opec", "stocks"]
    assert names[1:] == [[name for name, _ in part.top(4)] for part in meaning]
    hatched = [bar.get_hatch() is not None for bar in figure.axes[1].patches]
    assert hatched == [name not in meaning.words for name in names[1]]
    assert len(plots.document_layers(model.explain("")).axes) == 2


def test_what_a_classifier_explains_is_not_a_meaning(classifier):
    for draw in (plots.document_layers, lambda found: plots.word_columns([found])):
        with pytest.raises(
            DcotError, match=r"got Explanation.*meaning\(text\) of a DCoTClassifier"
        ):
            draw(classifier.explain("opec stocks"))
        assert draw(classifier.meaning("opec stocks")).axes


def test_dollars_are_not_formulas():
    texts = [f"{text} $5 to_$10 $x^{{" for text in TEXTS]
    model = DCoTVectorizer(noise=0.5, token_pattern=r"\S+").fit(texts)
    meaning = model.explain("oil $5 to_$10 $x^{")
    figures = [
        plots.document_layers(meaning),
        plots.word_columns([meaning]),
        plots.term_map(model, ["$5", "to_$10", "$x^{"], neighbours=2),
    ]
    for figure in figures:
        assert figure._repr_png_()  # parses all text
        shown = [*figure.axes[-1].texts, *figure.axes[-1].get_yticklabels()]
        assert not any("$" in text.get_text().replace(r"\$", "") for text in shown)


def test_a_map_of_terms(model, classifier):
    figure = plots.term_map(model, ["oil", "stocks"], neighbours=4, title="words")
    names = written(figure.axes[0])
    assert {"oil", "stocks"} <= set(names)
    assert set(model.similar_terms("oil", 4).terms) <= set(names)
    again = plots.term_map(model, ["oil", "stocks"], neighbours=4)
    positions = [[text.xy for text in one.axes[0].texts] for one in (figure, again)]
    assert positions[0] == positions[1]
    assert plots.term_map(classifier, ["oil", "stocks", "opec"], neighbours=0).axes
    matrix = DCoT(5).fit(np.random.default_rng(0).random((20, 9)))
    assert "x3" in written(plots.term_map(matrix, ["x3"]).axes[0])
    named = plots.term_map(matrix, ["d"], names=list("abcdefghi"))
    assert "d" in written(named.axes[0])
    for bad in ("oil", []):
        with pytest.raises(DcotError, match="words must be a list"):
            plots.term_map(model, bad)
    with pytest.raises(DcotError, match="at least three terms"):
        plots.term_map(model, ["oil"], neighbours=1)


def test_distances_on_the_map_are_the_angles():
    angles = np.linspace(0, 0.9, 7)
    flat = np.column_stack([np.cos(angles), np.sin(angles)])  # angles that fit on a line
    points = plane(flat * np.arange(1, 8)[:, None])
    found = np.linalg.norm(points[:, None] - points[None, :], axis=2)
    np.testing.assert_allclose(found, np.abs(angles[:, None] - angles[None, :]), atol=3e-3)


def test_names_on_the_map_do_not_overlap():
    rng = np.random.default_rng(0)
    words = [f"word{place}" for place in range(25)]
    texts = [" ".join(rng.choice(words, 6)) for _ in range(40)]
    model = DCoTVectorizer(noise=0.5).fit(texts)
    figure = plots.term_map(model, words, neighbours=0)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text()]
    assert len(boxes) == 25
    for one, other in combinations(boxes, 2):
        assert not one.overlaps(other)
    inside = figure.axes[0].get_window_extent()
    assert all(inside.x0 <= box.x0 and box.x1 <= inside.x1 for box in boxes)


def test_noise_and_layers():
    values = [[80.0, 85.0, np.nan], [82.0, 91.0, 90.0]]
    figure = plots.noise_heatmap(values, [0.5, 0.8, 0.9], label="accuracy (%)", title="R8")
    ax = figure.axes[0]
    assert written(ax) == ["80.0", "85.0", "–", "82.0", "91.0", "90.0"]
    frame = next(patch for patch in ax.patches if not patch.get_fill())
    assert np.round(frame.get_xy() + np.array([0.5, 0.5])).tolist() == [1, 1]
    lower = plots.noise_heatmap(values, [0.5, 0.8, 0.9], better="lower").axes[0]
    frame = next(patch for patch in lower.patches if not patch.get_fill())
    assert np.round(frame.get_xy() + np.array([0.5, 0.5])).tolist() == [0, 0]
    with pytest.raises(DcotError, match="values must have a row for each of 2 layers"):
        plots.noise_heatmap(values, [0.5, 0.8])
    with pytest.raises(DcotError, match="better must be"):
        plots.noise_heatmap(values, [0.5, 0.8, 0.9], better="worse")


def test_curves_of_labels():
    curves = {
        "TF-IDF": {100: [0.5, 0.6], 1000: [0.7, 0.8]},
        "LSI": {100: [0.55, 0.6], 1000: [0.75, 0.8]},
        "dCoT": {100: [0.6, 0.7], 1000: [0.8, 0.9]},
    }
    ax = plots.label_curves(curves).axes[0]
    lines = [container.lines[0] for container in ax.containers]
    means = np.array([line.get_ydata() for line in lines], dtype=float)
    np.testing.assert_allclose(means, [[55, 75], [57.5, 77.5], [65, 85]])
    styles = {(line.get_marker(), line.get_linestyle()) for line in lines}
    assert len({mark for mark, _ in styles}) == len({style for _, style in styles}) == 3
    assert [label.get_text() for label in ax.get_xticklabels()] == ["100", "1,000"]
    with pytest.raises(DcotError, match="at least one draw each"):
        plots.label_curves({"TF-IDF": {100: []}})


def test_names_of_curves_are_readable_and_no_line_crosses_them():
    ends = (0.80, 0.81, 0.82, 0.83, 0.84, 0.85, 0.86)
    figure = plots.label_curves({f"system {end}": {10: [0.5], 100: [end]} for end in ends})
    figure.draw_without_rendering()
    names = [text for text in figure.axes[0].texts if text.get_text()]
    assert len(names) == len(ends)
    left = min(Text.get_window_extent(text).x0 for text in names)  # without the line
    for text in names:
        red, green, blue = (part**2.2 for part in to_rgb(text.get_color()))
        contrast = 1.05 / (0.05 + 0.2126 * red + 0.7152 * green + 0.0722 * blue)
        assert contrast > 3.5, text.get_text()
        line = text.arrow_patch.get_path().transformed(text.arrow_patch.get_transform())
        assert line.vertices[:, 0].max() <= left + 1


def test_a_curve_that_is_missing_in_a_panel_leaves_the_styles_of_the_others():
    curve = {100: [0.5, 0.6], 1000: [0.7, 0.8]}

    def drawn(curves):
        ax = plots.label_curves(curves).axes[0]
        return {
            bars.get_label(): (
                bars.lines[0].get_marker(),
                bars.lines[0].get_linestyle(),
                bars.lines[0].get_color(),
                bars.lines[0].get_linewidth(),
            )
            for bars in ax.containers
        }

    everything = drawn({"LSI": curve, "LDA": curve, "dCoT": curve})
    for missing in everything:
        some = drawn({name: {} if name == missing else curve for name in everything})
        assert some == {name: style for name, style in everything.items() if name != missing}
    with pytest.raises(DcotError, match="expected numbers of labels"):
        plots.label_curves({"LSI": {}})


def test_the_choice_of_a_classifier(classifier):
    figure = plots.selection_results(classifier)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(names) == len(classifier.cv_results_["params"])
    assert "default" in names
    assert "prototypes 4, both layers" in names
    bold = [label for label in figure.axes[0].get_yticklabels() if label.get_weight() == "bold"]
    assert len(bold) in (1, 2)
    with pytest.raises(DcotError, match="most must be"):
        plots.selection_results(classifier, most="all")
    few = plots.selection_results(classifier, most=1)
    assert 1 <= len(few.axes[0].get_yticklabels()) <= 3
    with pytest.raises(DcotError, match="a fitted DCoTClassifier is needed"):
        plots.selection_results(DCoTClassifier())


def test_figures_are_not_kept_by_pyplot_and_show_in_a_notebook(model):
    figure = plots.word_columns([model.explain("oil")])
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert not hasattr(figure, "number")  # pyplot numbers what it keeps alive


def test_figures_can_be_drawn_on_given_axes(model):
    from matplotlib.figure import Figure

    figure = Figure()
    ax = figure.subplots()
    assert plots.term_map(model, ["oil", "stocks"], neighbours=2, ax=ax) is figure
    assert plots.noise_heatmap([[1.0]], [0.5], ax=ax) is figure
    assert plots.label_curves({"a": {0: [0.5]}}, ax=ax) is figure


@pytest.mark.parametrize("value", [None, 0.5, True, "a", [None], np.array(3), object()])
def test_a_heatmap_of_what_is_no_list_of_numbers(value):
    with pytest.raises(DcotError, match="noises must be"):
        plots.noise_heatmap([[1.0]], noises=value)
    if value is not None and value != [None]:
        with pytest.raises(DcotError, match="layers must be a list"):
            plots.noise_heatmap([[1.0]], noises=[0.5], layers=value)


@pytest.mark.parametrize("value", [None, "model.npz", TEXTS])
def test_a_map_of_what_is_no_model(value):
    with pytest.raises(DcotError, match=f"got {type(value).__name__}"):
        plots.term_map(value, ["oil"])
