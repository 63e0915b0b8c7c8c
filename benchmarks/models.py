"""Models under channels: coverage of intervals, taggers from hidden tags, classifiers from candidate sets.

Run: python benchmarks/models.py [coverage | tags | sets] [seeds ...]. Data: $ASKANCE_DATA (ud-ewt, mnist).
Rules were chosen on the development file and seed 901; the seeds here are others.
"""

import gzip
import os
import sys
from itertools import product
from pathlib import Path

import numpy as np

import askance as ask

DATA = Path(os.environ.get("ASKANCE_DATA", "data"))


def sentences(split):
    """Words and universal tags of a part of the English Web Treebank."""
    found, words, tags = [], [], []
    with gzip.open(DATA / "ud-ewt" / f"en_ewt-ud-{split}.conllu.gz", "rt", encoding="utf-8") as lines:
        for line in map(str.strip, lines):
            if not line and words:
                found.append((words, tags))
                words, tags = [], []
            elif line and line[0] != "#" and line.split("\t")[0].isdigit():
                columns = line.split("\t")
                words.append(columns[1])
                tags.append(columns[3])
    return [row[0] for row in found], [row[1] for row in found]


def tagger(words, channel, reports, classes, design=None):
    model = ask.IndirectModel(ask.Chain(classes, "words"), ask.PerToken(channel), ridge=3.0, max_iter=100)
    return model.fit(words, reports, design=design)


def skewed_matrix(classes, one):
    """Kept with probability .45; half of the rest goes to one tag, the other half to all others."""
    count = len(classes)
    matrix = np.full((count, count), 0.275 / (count - 2))
    for k in range(count):
        to = classes.index(one) if one in classes else (k + 1) % count
        if to == k:
            matrix[:, k] = 0.55 / (count - 1)
        else:
            matrix[to, k] = 0.275
        matrix[k, k] = 0.45
    return matrix


def tags(seeds):
    """Every third training sentence, the whole test file, level 2 for each token, ridge 3, 100 steps."""
    words, truth = (part[::3] for part in sentences("train"))
    test, known = sentences("test")
    classes = sorted({tag for row in truth for tag in row})
    for seed in seeds:
        rng = np.random.default_rng(seed)
        response = ask.RandomizedResponse(classes, epsilon=2.0)
        reports = ask.PerToken(response).simulate(truth, rng)
        for name, channel in (("marginal", response), ("naive", ask.Identity(classes))):
            found = tagger(words, channel, reports, classes).score(test, known, of="truth")
            print(f"tags seed {seed} response at 2, {name}: {found:.4f}", flush=True)
        for one in ("NOUN", "the next tag"):
            skewed = ask.FiniteChannel(skewed_matrix(classes, one), classes)
            reports = ask.PerToken(skewed).simulate(truth, rng)
            for name, channel in (("marginal", skewed), ("naive", ask.Identity(classes))):
                found = tagger(words, channel, reports, classes).score(test, known, of="truth")
                print(f"tags seed {seed} skewed to {one}, {name}: {found:.4f}", flush=True)
        groups = {"nominal": [], "verbal": [], "other": []}
        for tag in classes:
            nominal, verbal = ("NOUN", "PROPN", "PRON", "NUM", "ADJ", "DET"), ("VERB", "AUX", "ADV", "PART")
            groups["nominal" if tag in nominal else "verbal" if tag in verbal else "other"].append(tag)
        coarse = ask.Coarsening(groups, classes)
        both = ask.DesignPerRow({"coarse": coarse, "exact": ask.Identity(classes)})
        design = np.where(rng.random(len(words)) < 0.05, "exact", "coarse")
        reports = ask.PerToken(both).simulate(truth, rng, design)
        found = tagger(words, both, reports, classes, design).score(test, known, of="truth")
        print(f"tags seed {seed} three groups + 5% exact: {found:.4f}", flush=True)


def pictures():
    with np.load(DATA / "mnist" / "mnist.npz") as kept:
        parts = [kept[name] for name in ("x_train", "y_train", "x_test", "y_test")]
    small = [part.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49) / 255 for part in parts[::2]]
    return small[0], parts[1].astype(int), small[1], parts[3].astype(int)


def sets(seeds):
    """Pictures of 7 x 7 pixels, 5000 of them, ridge 1."""
    X, y, new, known = pictures()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        some = rng.choice(len(X), 5000, replace=False)
        near = np.full((10, 10), 0.1)  # of each class three others join often
        for k in range(10):
            near[[(k + 1) % 10, (k + 3) % 10, (k + 7) % 10], k] = 0.7
        for name, channel, fitted in (
            ("size 3", ask.CandidateSets(range(10), size=3), None),
            ("size 5", ask.CandidateSets(range(10), size=5), None),
            ("correlated", ask.CandidateSets(range(10), inclusion=near), ask.CandidateSets(range(10))),
            ("correlated, known", ask.CandidateSets(range(10), inclusion=near), None),
        ):
            reports = channel.simulate(y[some], rng)
            rows = np.array([len(text.split("|")) < 10 for text in reports])
            model = ask.IndirectModel(ask.States(), fitted or channel, ridge=1.0).fit(X[some][rows], reports[rows])
            print(f"sets seed {seed} {name}: {model.score(new, known, of='truth'):.4f}", flush=True)


def coverage(seeds, n=4000, repeats=200):
    """Three bits with an intercept and a slope each: six parameters, intervals of 95%."""
    bits = np.array(list(product([0, 1], repeat=3)), dtype=float)
    theta = np.array([[0.5, 0.4], [-0.5, 0.3], [0.2, -0.6]])
    for seed in seeds:
        rng = np.random.default_rng(seed)
        for channel in (ask.RandomizedResponse(range(8), epsilon=3.0), ask.PerValueFlip(3, 3.0)):
            for method in ("marginal", "moments"):
                inside = np.zeros(6)
                for _ in range(repeats):
                    X = rng.normal(size=(n, 1))
                    scores = np.column_stack([np.ones(n), X]) @ theta.T @ bits.T
                    truth = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
                    reports = channel.simulate(bits[truth] if channel.hides == "numbers" else truth, rng)
                    model = ask.IndirectModel(ask.States(bits), channel, method).fit(X, reports)
                    inside += np.abs(model.parameters_ - theta.ravel()) < 1.959964 * model.standard_errors_
                shares = np.round(inside / repeats, 3)
                print(
                    f"coverage seed {seed} {type(channel).__name__} {method}: {shares.mean():.3f} {shares}", flush=True
                )


if __name__ == "__main__":
    chosen = {"coverage": coverage, "tags": tags, "sets": sets}
    named = [name for name in sys.argv[1:] if name in chosen] or list(chosen)
    seeds = [int(value) for value in sys.argv[1:] if value.isdigit()] or [911, 912, 913]
    for name in named:
        chosen[name](seeds)
