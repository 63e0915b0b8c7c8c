"""Chain-structured taggers from region counts: accuracy, CPU seconds, and our field against crfsuite's on all labels.

The same treebank and regions as in :mod:`benchmarks.tagging`. Windows of 8 tokens are drawn anew for every fit; whole
sentences leave nothing to draw, so that one fit is all. Features, passes, rounds and folds were chosen on the dev file.
"""

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import askance as ask
from askance.learning.counting.chain_features import EDGE, SHIFTS, context_features
from askance.papers.data.tagged_corpora import TaggedCorpus
from benchmarks import Measurement
from benchmarks._peers import PeersUnavailable, environment, run

WANTED = {8: 0.898, None: 0.8981}  # by width; None: whole sentences, which must beat .898
DRAWS = {8: 3, None: 1}
FIRST_SEED = 1000  # what was tried out had small seeds

PEERS = ("python-crfsuite==0.9.12",)
PEER_SCRIPT = """
import json, time
import pycrfsuite
content = json.load(open(PATH))
trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
for features, tags in zip(content["train"], content["tags"]):
    trainer.append(features, tags)
trainer.set_params({"max_iterations": 60, "c2": 0.1, "feature.minfreq": 2})
start = time.process_time()
trainer.train(PATH + ".model")
seconds = time.process_time() - start
tagger = pycrfsuite.Tagger()
tagger.open(PATH + ".model")
print(json.dumps({"seconds": seconds, "tags": [tagger.tag(features) for features in content["test"]]}))
"""


def main(data: TaggedCorpus) -> Iterator[Measurement]:
    for width, wanted in WANTED.items():
        scores, seconds = [], []
        for draw in range(DRAWS[width]):
            rng = np.random.default_rng(FIRST_SEED + draw)
            found = fit(data, ask.RegionCounts(data.tags, width).simulate(data.train.tags, rng), draw)
            scores.append(found[0])
            seconds.append(found[1])
        name = f"chain, {'whole sentences' if width is None else f'w={width}'}"
        yield Measurement(f"{name}: accuracy", float(np.mean(scores)), "", at_least=wanted)
        yield Measurement(f"{name}: CPU seconds of a fit", min(seconds), "s")
    labels = [{"sentence": number, "labels": tags} for number, tags in enumerate(data.train.tags)]
    ours, our_seconds = fit(data, labels, 0)
    yield Measurement("chain, all labels: accuracy", ours, "")
    theirs, their_seconds, unavailable = crfsuite(data)
    yield Measurement("chain, all labels: accuracy, crfsuite with the same features", theirs, "", skipped=unavailable)
    name = "chain, all labels: our accuracy less crfsuite's"
    less = None if theirs is None else ours - theirs
    yield Measurement(name, less, "", at_least=-0.002, skipped=unavailable)
    ratio = None if their_seconds is None else their_seconds / our_seconds
    yield Measurement("chain, all labels: CPU seconds of crfsuite to ours", ratio, skipped=unavailable)


def fit(data: TaggedCorpus, regions: list[dict], seed: int) -> tuple[float, float]:
    """Accuracy on the test file and CPU seconds."""
    start = time.process_time()
    tagger = ask.CountTagger(structure="chain", tags=data.tags, random_state=seed)
    tagger.fit(data.train.sentences, regions)
    seconds = time.process_time() - start
    return tagger.score(data.test.sentences, data.test.tags, of="truth"), seconds


def crfsuite(data: TaggedCorpus) -> tuple[float | None, float | None, str]:
    """The same features and labels by crfsuite's L-BFGS; or why not."""
    content = {
        "train": [*map(features_of, data.train.sentences)],
        "tags": data.train.tags,
        "test": [*map(features_of, data.test.sentences)],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sentences.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        try:
            found = run(environment(*PEERS), PEER_SCRIPT.replace("PATH", json.dumps(str(path))))
        except PeersUnavailable as error:
            return None, None, str(error)
    truth = [tag for tags in data.test.tags for tag in tags]
    guess = [tag for tags in found["tags"] for tag in tags]
    return float(np.mean([a == b for a, b in zip(truth, guess, strict=True)])), found["seconds"], ""


def features_of(sentence: Sequence[str]) -> list[list[str]]:
    """The features of every token, by name."""
    rows: list[list[str]] = [[] for _ in sentence]
    for place, row in enumerate(rows):
        for shift in SHIFTS:
            inside = 0 <= place + shift < len(sentence)
            row += context_features(sentence[place + shift] if inside else EDGE, shift)
    return rows
