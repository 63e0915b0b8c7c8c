"""Models under channels: exactness, coverage, taggers from hidden tags, classifiers from candidate sets, speed.

Run: python -m benchmarks models. Data: $ASKANCE_DATA (ud-ewt, mnist). Rules were chosen on the development file of the
treebank and seed 901; the seeds here are others. $ASKANCE_MODELS names some of its parts (exact, responses, coverage,
tags, sets, speed), with commas between, where not all are wanted.
"""

import gzip
import json
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import askance as ask
from askance.learning.models.chain_loops import expectations
from askance.learning.models.chain_problem import ChainProblem
from askance.learning.models.token_features import token_table, word_features
from benchmarks import Measurement
from benchmarks._peers import PeersUnavailable, environment, run

DATA = Path(os.environ.get("ASKANCE_DATA", "data"))
SEEDS = (911, 912, 913)
PEERS = ("python-crfsuite==0.9.12",)
PEER_SCRIPT = """
import json, time
import pycrfsuite
trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
for features, tags in json.load(open(PATH)):
    trainer.append(features, tags)
def seconds(iterations):
    trainer.set_params({"max_iterations": iterations, "c2": 0.1, "feature.minfreq": 2})
    start = time.process_time()
    trainer.train(PATH + ".model")
    return time.process_time() - start
few, many = seconds(2), seconds(12)
print(json.dumps({"seconds": (many - few) / 10}))
"""


def main() -> Iterator[Measurement]:
    warnings.simplefilter("ignore", ask.AskanceWarning)
    parts = {"exact": exact, "responses": responses, "coverage": coverage, "tags": tags, "sets": sets, "speed": speed}
    for name in os.environ.get("ASKANCE_MODELS", ",".join(parts)).split(","):
        yield from parts[name.strip()]()


# -- exactness -----------------------------------------------------------------------------------------------------


def exact() -> Iterator[Measurement]:
    """Small chains by enumeration of all labellings, and gradients by differences."""
    rng = np.random.default_rng(SEEDS[0])
    lengths, tags = rng.integers(1, 6, 12), 3
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    scores, transitions = 3 * rng.normal(size=(starts[-1], tags)), rng.normal(size=(tags, tags))
    chances = rng.dirichlet(np.ones(tags), starts[-1])
    marginals, pairs = np.empty_like(scores), np.zeros((len(lengths), tags, tags))
    values = expectations(scores, np.exp(transitions), chances, starts, marginals, pairs)
    off = 0.0
    for s, (a, b) in enumerate(pairwise(starts)):
        paths = np.array(list(product(range(tags), repeat=b - a)))
        total = (scores[a:b] + np.log(chances[a:b]))[np.arange(b - a), paths].sum(axis=1)
        total += transitions[paths[:, :-1], paths[:, 1:]].sum(axis=1)
        law = np.exp(total - total.max())
        value = total.max() + np.log(law.sum())
        law /= law.sum()
        wanted = np.array([[law[paths[:, t] == k].sum() for k in range(tags)] for t in range(b - a)])
        off = max(off, abs(values[s] - value), np.abs(marginals[a:b] - wanted).max())
    yield Measurement("small chains: largest difference from enumeration", off, "", at_most=1e-10)
    table = sp.csr_matrix(rng.normal(size=(starts[-1], 4)))
    for method in ("marginal", "moments"):
        problem = ChainProblem(table, starts, chances, method)
        theta = rng.normal(size=problem.size)
        gradient, worst = problem.value_and_gradient(theta)[1], 0.0
        for place, step in enumerate(1e-4 * np.eye(problem.size)):
            near, far = (
                (problem.value_and_gradient(theta + h * step)[0] - problem.value_and_gradient(theta - h * step)[0])
                / (2e-4 * h)
                for h in (1, 2)
            )
            worst = max(worst, abs((4 * near - far) / 3 - gradient[place]))  # Richardson's rule
        yield Measurement(f"gradient of a chain, {method}: largest error", worst, "", at_most=1e-8)


def responses() -> Iterator[Measurement]:
    """tr Sigma of three responses on ten bits, against closed forms for independent bits."""
    bits = np.array(list(product([0, 1], repeat=10)), dtype=float)
    for name, theta in (("even bits", np.zeros(10)), ("skewed bits", np.linspace(-2, 2, 10))):
        p = 1 / (1 + np.exp(-theta))
        v, clean = p * (1 - p), float((1 / (p * (1 - p))).sum())
        law = np.prod(np.where(bits == 1, p, 1 - p), axis=1)
        for epsilon in (1.0, 2.0, 4.0, 8.0):
            found = ask.compare_responses(bits, [epsilon], theta).factors
            told = np.expm1(epsilon) / (np.expm1(epsilon) + len(bits))
            away = bits - p
            classic = (told**2 * law**2 / (told * law + (1 - told) / len(bits)) * away.T) @ away
            wanted = {"classic": np.trace(np.linalg.inv(classic)) / clean}
            for response, odds, share in (("per-value", epsilon / 10, 1.0), ("coordinate", epsilon, 0.1)):
                q = 1 / (1 + np.exp(-odds))
                r = q * p + (1 - q) * (1 - p)
                wanted[response] = (1 / (share * v**2 * (2 * q - 1) ** 2 / (r * (1 - r)))).sum() / clean
            for response, value in wanted.items():
                off = abs(found[response][0] / value - 1)
                label = f"tr Sigma, {name}, epsilon {epsilon:g}, {response} ({found[response][0]:.4g}): relative error"
                yield Measurement(label, off, "", at_most=0.01)


# -- coverage ------------------------------------------------------------------------------------------------------


def coverage(n: int = 4000, repeats: int = 200) -> Iterator[Measurement]:
    """Three bits with an intercept and a slope each: six parameters, intervals of 95%."""
    bits = np.array(list(product([0, 1], repeat=3)), dtype=float)
    theta = np.array([[0.5, 0.4], [-0.5, 0.3], [0.2, -0.6]])
    rng = np.random.default_rng(SEEDS[0])
    for name, channel in (
        ("classic", ask.RandomizedResponse(range(8), epsilon=3.0)),
        ("per-value", ask.PerValueFlip(3, 3.0)),
    ):
        for method in ("marginal", "moments"):
            inside = np.zeros(6)
            for _ in range(repeats):
                X = rng.normal(size=(n, 1))
                scores = np.column_stack([np.ones(n), X]) @ theta.T @ bits.T
                truth = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
                reports = channel.simulate(bits[truth] if channel.hides == "numbers" else truth, rng)
                model = ask.IndirectModel(ask.States(bits), channel, method).fit(X, reports)
                inside += np.abs(model.parameters_ - theta.ravel()) < 1.959964 * model.standard_errors_
            # Over six parameters of 200 sets; those of one set are nearly independent.
            label = f"coverage of 95% intervals, {name}, {method}, {repeats} sets"
            yield Measurement(label, float(inside.mean() / repeats), "", at_least=0.92, at_most=0.97)


# -- taggers -------------------------------------------------------------------------------------------------------


def sentences(split: str) -> tuple[list[list[str]], list[list[str]]]:
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


def skewed_matrix(classes: list[str], reading: str) -> np.ndarray:
    """Kept with probability .45; half of the rest goes to one tag, the other half to all others.

    Which tag is one is a matter of reading: the next one in the alphabet, or one and the same for all, whose own rest
    then goes to all others.
    """
    count = len(classes)
    matrix = np.full((count, count), 0.275 / (count - 2))
    for k, tag in enumerate(classes):
        if reading == tag:
            matrix[:, k] = 0.55 / (count - 1)
        else:
            matrix[(k + 1) % count if reading == "next" else classes.index(reading), k] = 0.275
        matrix[k, k] = 0.45
    return matrix


def tags() -> Iterator[Measurement]:
    """Every third training sentence, the whole test file, level 2 for each token, ridge 3, 100 steps."""
    try:
        words, truth = (part[::3] for part in sentences("train"))
    except OSError as error:
        yield Measurement("taggers from hidden tags", None, "", at_least=0.865, skipped=str(error))
        return
    test, known = sentences("test")
    classes = sorted({tag for row in truth for tag in row})

    def accuracy(channel, reports, design=None):
        model = ask.IndirectModel(ask.Chain(classes, "words"), ask.PerToken(channel), ridge=3.0, max_iter=100)
        return model.fit(words, reports, design=design).score(test, known, of="truth")

    naive = ask.Identity(classes)
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        response = ask.RandomizedResponse(classes, epsilon=2.0)
        reports = ask.PerToken(response).simulate(truth, rng)
        ours, theirs = (accuracy(channel, reports) for channel in (response, naive))
        name = f"EWT, seed {seed}, response at 2"
        yield Measurement(f"{name}: accuracy", ours, "", at_least=0.865)
        yield Measurement(f"{name}: less that of the naive field", ours - theirs, "", at_least=0.006)
        for reading, wanted in (("next", 0.88), ("X", 0.88), ("NOUN", None)):
            skewed = ask.FiniteChannel(skewed_matrix(classes, reading), classes)
            reports = ask.PerToken(skewed).simulate(truth, rng)
            name = f"EWT, seed {seed}, skewed to {reading}"
            yield Measurement(f"{name}: accuracy", accuracy(skewed, reports), "", at_least=wanted)
            yield Measurement(f"{name}: accuracy of the naive field", accuracy(naive, reports), "", at_most=0.75)
        nominal, verbal = ("NOUN", "PROPN", "PRON", "NUM", "ADJ", "DET"), ("VERB", "AUX", "ADV", "PART")
        kind = {tag: "nominal" if tag in nominal else "verbal" if tag in verbal else "other" for tag in classes}
        groups = {name: [tag for tag in classes if kind[tag] == name] for name in ("nominal", "verbal", "other")}
        both = ask.DesignPerRow({"coarse": ask.Coarsening(groups, classes), "exact": naive})
        design = np.where(rng.random(len(words)) < 0.05, "exact", "coarse")
        reports = ask.PerToken(both).simulate(truth, rng, design)
        found = accuracy(both, reports, design)
        yield Measurement(f"EWT, seed {seed}, three groups and 5% exact: accuracy", found, "", at_least=0.86)


# -- candidate sets ------------------------------------------------------------------------------------------------


def pictures() -> tuple[np.ndarray, ...]:
    with np.load(DATA / "mnist" / "mnist.npz") as kept:
        parts = [kept[name] for name in ("x_train", "y_train", "x_test", "y_test")]
    small = [part.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49) / 255 for part in parts[::2]]
    return small[0], parts[1].astype(int), small[1], parts[3].astype(int)


def sets() -> Iterator[Measurement]:
    """Pictures of 7 x 7 pixels, 5000 of them, ridge 1."""
    try:
        X, y, new, known = pictures()
    except OSError as error:
        yield Measurement("candidate sets of MNIST", None, "", at_least=0.84, skipped=str(error))
        return
    near = np.full((10, 10), 0.1)  # of each class three others join often
    for k in range(10):
        near[[(k + 1) % 10, (k + 3) % 10, (k + 7) % 10], k] = 0.7
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        some = rng.choice(len(X), 5000, replace=False)
        for name, channel, fitted, wanted in (
            ("size 3", ask.CandidateSets(range(10), size=3), None, 0.84),
            ("size 5", ask.CandidateSets(range(10), size=5), None, 0.83),
            ("correlated", ask.CandidateSets(range(10), inclusion=near), ask.CandidateSets(range(10)), 0.82),
            ("correlated, known", ask.CandidateSets(range(10), inclusion=near), None, None),
        ):
            reports = channel.simulate(y[some], rng)
            rows = np.array([len(text.split("|")) < 10 for text in reports])
            model = ask.IndirectModel(ask.States(), fitted or channel, ridge=1.0).fit(X[some][rows], reports[rows])
            found = model.score(new, known, of="truth")
            yield Measurement(f"MNIST, seed {seed}, candidate sets, {name}: accuracy", found, "", at_least=wanted)


# -- speed ---------------------------------------------------------------------------------------------------------


def speed() -> Iterator[Measurement]:
    """CPU seconds of a pass over the tokens, and of an iteration of crfsuite on the same features and true tags."""
    try:
        words, truth = (part[::3] for part in sentences("train"))
    except OSError as error:
        yield Measurement("a pass of a chain, to an iteration of crfsuite", None, at_most=1.5, skipped=str(error))
        return
    classes = sorted({tag for row in truth for tag in row})
    channel = ask.PerToken(ask.RandomizedResponse(classes, epsilon=2.0))
    reports = channel.simulate(truth, np.random.default_rng(SEEDS[0]))

    def problem(count: int) -> ChainProblem:
        tokens = token_table(words[:count], word_features)
        return ChainProblem(tokens.table, tokens.starts, channel.likelihood(reports[:count]), "marginal")

    def seconds(one: ChainProblem) -> float:
        theta, best = np.zeros(one.size), float("inf")
        one.value_and_gradient(theta)  # compiles
        for _ in range(5):
            begin = time.process_time()
            one.value_and_gradient(theta)
            best = min(best, time.process_time() - begin)
        return best

    whole, quarter = problem(len(words)), problem(len(words) // 4)
    ours, part = seconds(whole), seconds(quarter)
    growth = ours / part * quarter.table.shape[0] / whole.table.shape[0]
    yield Measurement("a pass of a chain: time per token, all sentences to a quarter of them", growth, at_most=1.25)
    theirs, unavailable = None, ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sentences.json"
        rows = list(zip(map(word_features, words), truth, strict=True))
        path.write_text(json.dumps(rows), encoding="utf-8")
        script = partial(PEER_SCRIPT.replace, "PATH")
        try:
            theirs = run(environment(*PEERS), script(json.dumps(str(path))))["seconds"]
        except PeersUnavailable as error:
            unavailable = str(error)
    ratio = None if theirs is None else seconds(whole) / theirs
    yield Measurement("a pass of a chain, to an iteration of crfsuite", ratio, at_most=1.5, skipped=unavailable)
