"""Taggers from region counts: accuracy by width of the window, the hybrid against its parents, and the speed of a pass.

English Web Treebank, XPOS tags, one region per sentence with the counts of all tags, starts uniform on all places; the
train file to learn from, the test file to be tested on. Every number is a mean over 5 draws of the regions. Features,
ridge, step and passes were chosen on the dev file.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from askance.errors import InvalidInput
from askance.learning.counting.count_moments import fit_moments
from askance.learning.counting.counted_regions import Corpus, Regions, count_tags, labelled
from askance.learning.counting.node_fit import PASSES, Progress, hybrid_passes, marginal_passes
from askance.learning.counting.node_model import NodeModel
from askance.learning.counting.token_features import TokenFeatures
from askance.papers.data.tagged_corpora import TaggedCorpus, web_treebank
from askance.papers.linear_moments.count_beam import beam_posteriors
from benchmarks import Measurement, _tagging_chain
from benchmarks._peers import PeersUnavailable, environment, run

WANTED = {2: 0.848, 4: 0.860, 8: 0.868, 16: 0.872, None: 0.874}  # node model, by width; None: whole sentences
DRAWS = 5
COMPARED = 3  # passes after which the hybrid is compared with its parents
WIDTH = 8  # where speed is measured

PEERS = ("python-crfsuite==0.9.12",)
PEER_SCRIPT = """
import json, time
import pycrfsuite
trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
for features, tags in json.load(open(PATH)):
    trainer.append(features, tags)
def seconds(iterations):
    trainer.set_params({"max_iterations": iterations, "c2": 0.1})
    start = time.process_time()
    trainer.train(PATH + ".model")
    return time.process_time() - start
few, many = seconds(2), seconds(12)
print(json.dumps({"seconds": (many - few) / 10}))
"""


def main() -> Iterator[Measurement]:
    data, missing = None, "ASKANCE_DATA names no folder: one that holds ud-ewt is needed"
    try:
        data = web_treebank()
    except InvalidInput as error:
        missing = str(error)
    if data is None or data.stand_in:
        for width, wanted in WANTED.items():
            yield Measurement(f"node, {named(width)}: accuracy", None, "", at_least=wanted, skipped=missing)
        return
    bench = Bench(data)
    yield Measurement("node, all labels: accuracy", bench.supervised(), "")
    for width, wanted in WANTED.items():
        yield from bench.accuracy(width, wanted)
    yield from bench.speed()
    yield from _tagging_chain.main(data)


def named(width: int | None) -> str:
    return "whole sentences" if width is None else f"w={width}"


class Bench:
    """The treebank as arrays, and what is measured on it."""

    def __init__(self, data: TaggedCorpus) -> None:
        self.data = data
        self.corpus, self.test = Corpus.of(data.train.sentences), Corpus.of(data.test.sentences)
        codes = {tag: code for code, tag in enumerate(data.tags)}
        self.labels, self.test_labels = (
            np.array([codes.get(tag, -1) for its in part.tags for tag in its]) for part in (data.train, data.test)
        )
        self.features = TokenFeatures.of(self.corpus.vocabulary)
        self.test_rows = self.features.rows(self.test.vocabulary).matrix(len(self.features))

    def regions(self, width: int | None, rng: np.random.Generator, sentences: int | None = None) -> Regions:
        """A window of every sentence, or of the first so many."""
        lengths = self.corpus.lengths[:sentences]
        widths = lengths if width is None else np.minimum(lengths, width)
        places, alike = np.arange(len(lengths)), np.zeros(len(lengths), np.int64)
        asked = np.ones((1, len(self.data.tags)), bool)
        start = rng.integers(lengths - widths + 1)
        return count_tags(self.labels, self.corpus.starts, places, start, widths, alike, asked)

    def score(self, fitted: Progress) -> float:
        """Accuracy on the test file, words that were never seen included."""
        guess = np.asarray(self.test_rows @ fitted.theta).argmax(axis=1)
        return float((guess[self.test.words] == self.test_labels).mean())

    def supervised(self) -> float:
        sentence = np.repeat(np.arange(len(self.corpus.lengths)), self.corpus.lengths)
        place = np.arange(len(sentence)) - self.corpus.starts[sentence]
        as_counted = labelled(sentence, place, self.labels, len(self.data.tags))
        return self.score(marginal_passes(self.corpus, as_counted, self.features, batch=256))

    def accuracy(self, width: int | None, wanted: float) -> Iterator[Measurement]:
        moments = np.empty(DRAWS)
        marginal, hybrid = np.empty((DRAWS, COMPARED)), np.empty((DRAWS, PASSES))
        for draw in range(DRAWS):
            regions = self.regions(width, np.random.default_rng(draw))
            start = fit_moments(self.corpus, regions, self.features, seed=draw)
            moments[draw] = self.score(start)

            def note(here: Progress, into: np.ndarray) -> None:
                into[here.passes - 1] = self.score(here)

            question = (self.corpus, regions, self.features)
            marginal_passes(*question, None, COMPARED, lambda here, into=marginal[draw]: note(here, into), seed=draw)
            hybrid_passes(*question, start, PASSES, lambda here, into=hybrid[draw]: note(here, into), seed=draw)
        name = f"node, {named(width)}"
        yield Measurement(f"{name}: accuracy, hybrid after {PASSES} passes", float(hybrid[:, -1].mean()), "", wanted)
        yield Measurement(f"{name}: standard deviation over draws", float(hybrid[:, -1].std(ddof=1)), "")
        yield Measurement(f"{name}: accuracy, moments", float(moments.mean()), "")
        for done in range(COMPARED):
            after = f"after pass {done + 1}"
            parents = max(moments.mean(), marginal[:, done].mean())
            yield Measurement(f"{name}: accuracy, marginal {after}", float(marginal[:, done].mean()), "")
            yield Measurement(f"{name}: accuracy, hybrid {after}", float(hybrid[:, done].mean()), "")
            gain = float(hybrid[:, done].mean() - parents)
            yield Measurement(f"{name}: hybrid less the better parent {after}", gain, "", at_least=0)

    def speed(self) -> Iterator[Measurement]:
        """CPU seconds, since all of it runs on one core; the best of several passes."""
        regions = self.regions(WIDTH, np.random.default_rng(0))
        fitted = marginal_passes(self.corpus, regions, self.features, passes=2)
        laws = NodeModel(self.features, fitted.theta).probabilities(self.corpus.vocabulary)
        half = self.regions(WIDTH, np.random.default_rng(0), len(self.corpus.lengths) // 2)
        beam = steps = ours = part = float("inf")
        beam_posteriors(laws, self.corpus, self.regions(WIDTH, np.random.default_rng(0), 10))  # compile
        for _ in range(3):
            begin = time.process_time()
            beam_posteriors(laws, self.corpus, regions)
            beam = min(beam, time.process_time() - begin)
            steps = min(steps, self.pass_seconds(regions, laws))
            ours = min(ours, self.pass_seconds(regions))
            part = min(part, self.pass_seconds(half))
        name = f"marginal likelihood, {named(WIDTH)}"
        yield Measurement(f"{name}: tokens a second", float(regions.width.sum()) / ours, "/s")
        label = f"{name}: a pass with a beam of 500 (its search and the same steps), to one pass"
        yield Measurement(label, (beam + steps) / ours, at_least=10)
        theirs, unavailable = self.crfsuite_seconds()
        label = f"{name}: one iteration of crfsuite on whole sentences, to one pass"
        yield Measurement(label, None if theirs is None else theirs / ours, at_least=5, skipped=unavailable)
        growth = ours / part * float(half.width.sum() / regions.width.sum())
        yield Measurement(f"{name}: time per token, all sentences to half of them", growth, at_most=1.25)

    def pass_seconds(self, regions: Regions, laws: np.ndarray | None = None) -> float:
        """The best of a few passes; with laws, of the steps alone."""
        ends: list[float] = []

        def note(here: Progress) -> None:
            ends.append(time.process_time())

        marginal_passes(self.corpus, regions, self.features, None, 6, note, soft_labels=laws)
        return float(np.diff(ends).min())

    def crfsuite_seconds(self) -> tuple[float | None, str]:
        """An iteration of L-BFGS on the whole sentences, with the same features; or why there is none."""
        rows = self.features.rows(self.corpus.vocabulary)
        names = self.features.names
        of_type = [
            [names[number] for number in rows.indices[rows.indptr[a] : rows.indptr[a + 1]]]
            for a in range(len(self.corpus.vocabulary))
        ]
        bounds = list(zip(self.corpus.starts[:-1], self.corpus.starts[1:], strict=True))
        sentences = [[of_type[a] for a in self.corpus.words[first:last]] for first, last in bounds]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "sentences.json"
            path.write_text(json.dumps(list(zip(sentences, self.data.train.tags, strict=True))), encoding="utf-8")
            try:
                found = run(environment(*PEERS), PEER_SCRIPT.replace("PATH", json.dumps(str(path))))
            except PeersUnavailable as error:
                return None, str(error)
        return found["seconds"], ""
