"""Files that were changed by somebody who makes their digest anew: what follows from the rest is not believed.

The fields of every kind of release are found by walking its JSON, so that a new field cannot be forgotten: either its
forgery is refused, or it is on the list of facts that nothing else in the file follows from, and that only a signature
protects.
"""

import copy
import json
import re
from pathlib import Path

import numpy as np
import pytest

import askance as ask
from askance.releases.restated import content_digest

GOLDEN = Path(__file__).parents[1] / "golden"
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (60, 2))
Y = RNG.integers(0, 2, 60)
KINDS = RNG.integers(0, 3, 60)
IDS = [f"person {i}" for i in range(60)]
TABLE = [[40, 60], [11, 9], [300, 100]]


def operator(mechanism, classes=(0, 1), epsilon=1, delta=0, **options):
    labels = Y if len(classes) == 2 else KINDS
    options = {"columns": ["age", "height"], "ids": IDS} | options
    return ask.release_mean_operator(X, labels, epsilon, delta, mechanism, classes=classes, **options)


RELEASES = {
    "counts": ask.release_counts(TABLE, 1, classes=["ill", "well"], bags=["a", "b", "c"]),
    "shared bags": ask.release_counts(TABLE, 1, mechanism="discrete-laplace", disjoint=False),
    "discrete-gaussian": ask.release_counts(TABLE, 1, "1e-3", "discrete-gaussian"),
    "truncated-laplace": ask.release_counts(TABLE, "0.1", "1e-3", "truncated-laplace"),
    "counts laplace": ask.release_counts(TABLE, "0.3", mechanism="laplace"),
    "counts gaussian": ask.release_counts(TABLE, "0.3", "1e-6", mechanism="gaussian"),
    "laplace-prior": ask.release_counts(TABLE, "0.3", mechanism="laplace-prior"),
    "dirichlet": ask.release_counts(TABLE[:1], 1, "1e-3", "dirichlet"),
    "paper": ask.release_counts(TABLE[:1], 1, "1e-3", "scaled-dirichlet-paper"),
    "operator": operator("auto"),
    "operator with delta": operator("auto", delta="1e-6"),
    "laplace": operator("laplace"),
    "knorm": operator("knorm", ids=None),
    "gaussian": operator("gaussian", delta="1e-6", fit_intercept=False),
    "response": operator("response"),
    "three classes": operator("laplace", (0, 1, 2)),
    "three classes by response": operator("response", (0, 1, 2)),
}
GOLDEN_FILES = sorted([*GOLDEN.glob("counts-v1*.json"), *GOLDEN.glob("mean-operator-v1*.json")])

# Facts: nothing else in the file follows from them. Names; values with their noise; how long all rows are together;
# which features were digested; what the mechanisms that were not taken would have cost; which version wrote it.
FACTS = [
    r"askance",
    r"(classes|bags|columns)\[\d+\]",
    r"values.*",
    r"sums\.squared_sum",
    r"features\.(ids|salt)",
    r"features\.columns\[\d+\]\[1\]",
    r"predicted\.(?!{mechanism}$).*",
    r"shape\..*",  # of features, which are not in the file; those who hold them compare
]
# What the published mechanism without a guarantee looked at is private.
FACTS_OF = {
    "scaled-dirichlet-paper": [r"asked\..*", r"disjoint", r"parameters\[\d+\]\.sigma", r"noise_variance.*"],
    "dirichlet": [r"parameters\[\d+\]\.pseudo_count"],
}


def leaves(value, place=""):
    """Return the places of all values that are no lists or objects; of the empty ones too."""
    if isinstance(value, dict) and value:
        return [leaf for name, item in value.items() for leaf in leaves(item, f"{place}.{name}" if place else name)]
    if isinstance(value, list) and value:
        return [leaf for number, item in enumerate(value) for leaf in leaves(item, f"{place}[{number}]")]
    return [place]


def some_leaves(content):
    """Return the places of all values but those of long lists and matrices, of which three are enough."""
    alike = {}
    for place in leaves(content):
        alike.setdefault(re.sub(r"\d+", "#", place), []).append(place)
    return [place for places in alike.values() for place in {places[0], places[len(places) // 2], places[-1]}]


def changed(content, place, change):
    """Return content with another value at a place."""
    forged = copy.deepcopy(content)
    *path, last = [int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", place)]
    parent = forged
    for part in path:
        parent = parent[part]
    parent[last] = change(parent[last])
    return forged


def forgeries(value):
    """Other values of the same type, and of other types."""
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, int | float):
        others = [value * 1.01 + 0.001, value / 2 if value else 0.5, value * 2 + 1, -value - 1, str(value), None]
        return [other for other in others if other != value]  # twice -1, and 1, is -1 again
    if isinstance(value, str):
        return [value + " indeed", f"1{value}", 1, None]
    return [1.0, "something", [0.5]]


def is_fact(place, content):
    listed = [*FACTS, *FACTS_OF.get(content["mechanism"], [])]
    return any(re.fullmatch(each.replace("{mechanism}", content["mechanism"]), place) for each in listed)


def read(content, tmp_path):
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(content))
    return ask.read_release(path)


def sealed(content):
    return content | {"digest": content_digest(content)}


@pytest.mark.parametrize("name", RELEASES)
def test_every_field_that_is_forged_is_refused_or_a_fact(name, tmp_path):
    content = RELEASES[name].to_dict()
    assert read(content, tmp_path).to_dict() == content
    believed = set()
    for place in some_leaves(content):
        if place == "digest":
            continue
        for number in range(6):
            try:
                forged = changed(content, place, lambda value, number=number: forgeries(value)[number])
            except IndexError:
                break
            try:
                read(sealed(forged), tmp_path)
            except ask.ReleaseError:
                continue
            believed.add(place)
    assert {place for place in believed if not is_fact(place, content)} == set()


@pytest.mark.parametrize("name", RELEASES)
def test_without_a_new_digest_every_change_is_refused(name, tmp_path):
    content = RELEASES[name].to_dict()
    for place in some_leaves(content):
        forged = changed(content, place, lambda value: forgeries(value)[0])
        with pytest.raises(ask.ReleaseError):
            read(forged, tmp_path)
    for field in content:
        with pytest.raises(ask.ReleaseError):
            read({name: value for name, value in content.items() if name != field}, tmp_path)
    with pytest.raises(ask.ReleaseError):
        read(content | {"new": 1}, tmp_path)
    with pytest.raises(ask.ReleaseError, match="nothing called new"):
        read(sealed(content | {"new": 1}), tmp_path)


@pytest.mark.filterwarnings("ignore:this release was written by askance 0.1.0")
@pytest.mark.parametrize("path", GOLDEN_FILES, ids=lambda path: path.name)
def test_guarantees_of_earlier_versions_are_recomputed_too(path, tmp_path):
    content = json.loads(path.read_text())
    assert read(content, tmp_path).to_dict() == content | {"digest": content_digest(content)}
    promises = ["guarantee.epsilon", "guarantee.delta", "guarantee.protects", "guarantee.neighbours", "how_known"]
    places = [place for place in some_leaves(content) if place.startswith(("noise_", "totals", "rows", "counts"))]
    for place in [*promises, *places]:
        if content["mechanism"] == "scaled-dirichlet-paper" and place.startswith("noise"):
            continue
        # Three times the level would be that of three bags that share people, which version 1 did not say.
        which = 0 if place == "guarantee.epsilon" else 2
        forged = changed(content, place, lambda value, which=which: forgeries(value)[which])
        with pytest.raises(ask.ReleaseError):
            read(forged, tmp_path)


def test_the_forgery_that_was_found(tmp_path):
    for release in (ask.release_counts([30, 70], 5), ask.release_mean_operator(X, Y, 5, classes=(0, 1))):
        content = release.to_dict()
        content["guarantee"]["epsilon"] = 0.01
        with pytest.raises(ask.ReleaseError, match="not what its digest was made of"):
            read(content, tmp_path)
        with pytest.raises(ask.ReleaseError, match=r"guarantee.epsilon = 0.01; expected 5.0"):
            read(sealed(content), tmp_path)


def test_a_name_that_comes_twice_is_refused(tmp_path):
    text = ask.release_counts([30, 70], 5).to_json().replace('"version": 3,', '"version": 3, "version": 3,')
    (tmp_path / "twice.json").write_text(text)
    with pytest.raises(ask.ReleaseError, match="'version' more than once"):
        ask.read_release(tmp_path / "twice.json")
