"""Chains: the compiled passes against enumeration, gradients against differences, sentences in and out."""

from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse as sp

import askance as ask
from askance.errors import AskanceWarning, Unidentifiable
from askance.learning.models.chain_loops import expectations, likeliest
from askance.learning.models.chain_problem import ChainProblem
from askance.learning.models.chain_search import ChainSearch
from askance.learning.models.token_features import token_table, word_features

TAGS = ("a", "b", "c")


def sequences(rng, lengths=(1, 4, 2, 5), tags=3, width=2):
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    table = sp.csr_matrix(rng.normal(size=(starts[-1], width)))
    return table, starts, rng.random((starts[-1], tags))


def enumerated(scores, transitions, chances):
    """Log-partition, marginals and expected pairs of one sequence, over all its labellings."""
    length, tags = scores.shape
    paths = np.array(list(product(range(tags), repeat=length)))
    logs = scores[np.arange(length), paths].sum(axis=1) + np.log(chances)[np.arange(length), paths].sum(axis=1)
    logs += transitions[paths[:, :-1], paths[:, 1:]].sum(axis=1)
    law = np.exp(logs - logs.max())
    marginals = np.array([[law[paths[:, t] == k].sum() for k in range(tags)] for t in range(length)]) / law.sum()
    pairs = np.zeros((tags, tags))
    for t in range(1, length):
        np.add.at(pairs, (paths[:, t - 1], paths[:, t]), law / law.sum())
    return logs.max() + np.log(law.sum()), marginals, pairs, paths[logs.argmax()]


@pytest.mark.parametrize("seen", [False, True])
def test_passes_agree_with_enumeration(seen):
    rng = np.random.default_rng(1)
    _, starts, chances = sequences(rng)
    chances[3, 1] = 0.0  # a report that one tag cannot give
    scores, transitions = 5 * rng.normal(size=chances.shape), rng.normal(size=(3, 3))
    given = chances if seen else np.ones_like(chances)
    marginals, pairs = np.empty_like(scores), np.zeros((len(starts) - 1, 3, 3))
    empty = np.empty((0, 0))
    values = expectations(scores, np.exp(transitions), chances if seen else empty, starts, marginals, pairs)
    together = np.zeros((1, 3, 3))
    expectations(scores, np.exp(transitions), chances if seen else empty, starts, np.empty_like(scores), together)
    path = np.zeros(len(scores), np.int64)
    likeliest(scores, transitions, starts, path)
    with np.errstate(divide="ignore"):
        for s, (a, b) in enumerate(pairwise(starts)):
            value, expected, moves, best = enumerated(scores[a:b], transitions, given[a:b])
            assert abs(values[s] - value) < 1e-10
            assert np.abs(marginals[a:b] - expected).max() < 1e-10
            assert np.abs(pairs[s] - moves).max() < 1e-10
            if not seen:
                assert path[a:b].tolist() == best.tolist()
    assert together[0] == pytest.approx(pairs.sum(axis=0), abs=1e-12)


@pytest.mark.parametrize("method", ["marginal", "moments"])
def test_gradients_are_those_of_the_objective(method):
    rng = np.random.default_rng(2)
    table, starts, chances = sequences(rng)
    problem = ChainProblem(table, starts, chances, method)
    theta = rng.normal(size=problem.size)
    _, gradient = problem.value_and_gradient(theta)
    for place in range(problem.size):
        step = np.zeros_like(theta)
        step[place] = 1e-4
        # Richardson's rule on two central differences: its error is of the order of 1e-16 / 1e-4.
        near, far = (
            (problem.value_and_gradient(theta + h * step)[0] - problem.value_and_gradient(theta - h * step)[0])
            / 2e-4
            / h
            for h in (1, 2)
        )
        assert abs((4 * near - far) / 3 - gradient[place]) < 1e-8
    assert problem.record_scores(theta).sum(axis=0) == pytest.approx(gradient, abs=1e-10)


def test_long_sentences_neither_overflow_nor_underflow():
    rng = np.random.default_rng(3)
    scores = 300 * rng.normal(size=(5000, 3))
    marginals = np.empty_like(scores)
    starts = np.array([0, 5000])
    values = expectations(
        scores, np.exp(rng.normal(size=(3, 3))), np.empty((0, 0)), starts, marginals, np.zeros((1, 3, 3))
    )
    assert np.isfinite(values).all()
    assert marginals.sum(axis=1) == pytest.approx(1.0)


def sentences(n=300, seed=4):
    rng = np.random.default_rng(seed)
    words = {"D": ["the", "a"], "N": ["dog", "cat", "owl"], "V": ["barks", "sleeps"]}
    tags = [["D", "N", "V"][: rng.integers(2, 4)] for _ in range(n)]
    return [[str(rng.choice(words[tag])) for tag in row] for row in tags], tags, rng


def test_a_tagger_is_learned_from_hidden_tags_and_says_both_levels(tmp_path):
    words, tags, rng = sentences()
    channel = ask.PerToken(ask.RandomizedResponse(["D", "N", "V"], epsilon=1.0))
    model = ask.IndirectModel(ask.Chain(["D", "N", "V"], "words"), channel, ridge=1.0)
    reports = channel.simulate(tags, rng)
    model.fit(words, reports)
    assert model.score(words, tags, of="truth") > 0.95
    assert model.predict([["the", "hen"]]) == [["D", "N"]]
    assert [table.shape for table in model.predict_proba(words[:2])] == [(len(row), 3) for row in words[:2]]
    facts = dict(model.summary().facts)
    assert facts["epsilon of one token"] == "1"
    assert facts["epsilon of the longest sentence (3 tokens)"] == "3"
    assert "each alone 1" in str(model.guarantee_)
    model.save(tmp_path / "model.json")
    assert ask.load_model(tmp_path / "model.json").predict(words[:5]) == model.predict(words[:5])
    model.set_params(decode="viterbi")
    assert model.score(words, tags, of="truth") > 0.95


@pytest.mark.filterwarnings("ignore:The likelihood has several maxima")  # of real entropy: some draws have them
def test_sentences_of_a_study_are_hidden_and_fitted():
    from askance.releases import privatize_table

    words, tags, _ = sentences()
    study = ask.Study.parse(
        "[questions.tags]\nsequence = true\nchoices = ['D', 'N', 'V']\n"
        "channel = { design = 'randomized-response', epsilon = 3.0 }\n[covariates.words]\ntype = 'words'\n"
    )
    # Words come as lists, or as a text that blanks divide.
    table = {"tags": tags, "words": [" ".join(row) for row in words]}
    release = privatize_table(study, table)
    assert release.to_table()["words"].to_pylist() == words
    model = ask.IndirectModel(ask.Chain(["D", "N", "V"], "words"), ridge=1.0)
    model.fit_release(release)
    assert model.score(words, tags, of="truth") > 0.95
    with pytest.raises(ask.InvalidInput, match=r"entry 2, 'X', is not one of 'D', 'N', 'V'"):
        privatize_table(study, {"tags": [["D", "X"]], "words": ["the dog"]})
    with pytest.raises(ask.InvalidInput, match="sequences"):
        ask.Prevalence().fit_release(release)


def test_what_does_not_fit_is_said():
    words, tags, rng = sentences(20)
    device = ask.RandomizedResponse(["D", "N", "V"], epsilon=3.0)
    reports = ask.PerToken(device).simulate(tags, rng)
    chain = ask.Chain(["D", "N", "V"], "words")
    for model, X, y, message in (
        (ask.IndirectModel(chain, device), words, reports, "PerToken"),
        (ask.IndirectModel(chain, ask.PerToken(device)), words[:-1], reports, "19 sentences and 20"),
        (ask.IndirectModel(chain, ask.PerToken(device)), [*words[:-1], ["owl"]], reports, r"sentence 20 has 1 tokens"),
        (ask.IndirectModel(ask.Chain(["D", "N"], "words"), ask.PerToken(device)), words, reports, "3 classes"),
        (ask.IndirectModel(chain, ask.PerToken(device), "magic"), words, reports, "method='magic'"),
        (ask.IndirectModel(chain, ask.PerToken(device)), "the dog", reports, "one sentence a row"),
        (ask.IndirectModel(ask.Chain(["D", "N", "V"]), ask.PerToken(device)), words, reports, "features='words'"),
    ):
        with pytest.raises(ask.InvalidInput, match=message):
            model.fit(X, y)
    coarse = ask.PerToken(ask.Coarsening({"D": ["D"], "other": ["N", "V"]}))
    with pytest.raises(ask.Unidentifiable, match="'N', 'V' lead to reports of the same law"):
        ask.IndirectModel(chain, coarse).fit(words, coarse.simulate(tags, rng))


def test_features_that_a_model_does_not_know_are_left_out():
    found = token_table([["the", "owl"]], word_features, names=("bias", "word owl"))
    assert found.table.toarray().tolist() == [[1.0, 0.0], [1.0, 1.0]]


STUDY = """
[questions.tags]
sequence = true
choices = ['D', 'N', 'V']
channel = { design = 'randomized-response', epsilon = 3.0 }
[covariates.words]
type = 'words'
"""


def _released(folder, rows_per_part, count=200):
    """Sentences of a study in part files, and the same in memory."""
    import pyarrow as pa

    words, tags, rng = sentences(count)
    header = ask.Study.parse(STUDY).header()
    reports = header.questions[0].channel.simulate(tags, rng).tolist()
    release = ask.Release.from_table(pa.table({"tags": reports, "words": words}), header)
    release.write(folder, rows_per_part=rows_per_part)
    table = release.to_table()
    return ask.Release.read(folder), table["words"].to_pylist(), table["tags"].to_pylist(), release.header


@pytest.mark.parametrize("method", ["marginal", "moments"])
def test_a_chain_is_the_same_however_its_sentences_are_split(tmp_path, method):
    release, words, reports, header = _released(tmp_path / "parts", 30)
    family = ask.Chain(["D", "N", "V"], lambda sentence: [[word] for word in sentence])
    there = ask.IndirectModel(family, None, method, ridge=1.0).fit_release(release)
    here = ask.IndirectModel(family, header.questions[0].channel, method, ridge=1.0).fit(words, reports)
    assert len(release.partitions()) > 3
    assert sorted(there.parameter_names_) == sorted(here.parameter_names_)
    order = [here.parameter_names_.index(name) for name in there.parameter_names_]
    assert there.parameters_ == pytest.approx(here.parameters_[order], abs=2e-4)  # where L-BFGS ends
    assert there.standard_errors_ == pytest.approx(here.standard_errors_[order], rel=1e-3)
    assert (there.n_tokens_, there.longest_) == (here.n_tokens_, here.longest_)


def test_a_chain_is_fitted_and_used_at_the_command_line(tmp_path):
    import json

    from typer.testing import CliRunner

    from askance.cli.app import app

    _released(tmp_path / "release", 100)
    model, text = tmp_path / "tagger.json", tmp_path / "text.txt"
    text.write_text("the dog barks\n")
    fitted = CliRunner().invoke(app, ["fit", str(tmp_path / "release"), "--save", str(model), "--json"])
    assert fitted.exit_code == 0, fitted.output
    account = json.loads(fitted.stdout)
    assert account["guarantee_of_a_token"]["epsilon"] == 3
    assert account["guarantee"]["epsilon"] == 9
    tagged = CliRunner().invoke(app, ["tag", str(model), str(text), "--format", "jsonl"])
    assert json.loads(tagged.stdout)["tags"] == ["D", "N", "V"]
    with pytest.raises(ask.InvalidInput, match="askance tag"):
        CliRunner().invoke(app, ["predict", str(model), str(text)], catch_exceptions=False)


def test_tags_are_hidden_by_a_response_on_their_features():
    """Unary bits of a tag, and one coordinate of it: channels of the tags, for sequences and for classes alike."""
    words, tags, rng = sentences(600)
    for device in (ask.PerValueFlip(3, 3.0, max_ones=1), ask.CoordinateRelease(3, 3.0)):
        channel = ask.on_features(device, "identity", ["D", "N", "V"])
        assert channel.guarantee.epsilon <= 3.0
        assert channel.unbiasing_matrix() @ channel.matrix == pytest.approx(np.eye(3), abs=1e-9)
        hidden = ask.PerToken(channel)
        for method in ("marginal", "moments"):
            model = ask.IndirectModel(ask.Chain(["D", "N", "V"], "words"), hidden, method, ridge=1.0)
            assert model.fit(words, hidden.simulate(tags, rng)).score(words, tags, of="truth") > 0.9
        flat = [tag for row in tags for tag in row]
        shares = ask.Prevalence(channel).fit(channel.simulate(flat, rng)).proportions_
        assert shares == pytest.approx([flat.count(tag) / len(flat) for tag in ("D", "N", "V")], abs=0.1)
    # A column of the table by hand: bits of P(one) .2 / .8 at half of the level.
    bits = ask.on_features(ask.PerValueFlip(2, 2 * np.log(4), max_ones=1), [[1, 0], [0, 1]], ["a", "b"])
    assert bits.matrix[bits.report_labels.index("10"), 0] == pytest.approx(0.8 * 0.8, abs=1e-9)


@pytest.mark.parametrize(
    ("device", "features", "said"),
    [
        (ask.PerValueFlip(13, 2.0), "identity", "a row for each label"),
        (ask.PerValueFlip(2, 2.0), [[0, 1], [1, 2], [0, 0]], "from 0 to 1"),
        (ask.PerValueFlip(2, 2.0, max_ones=1), [[1, 1], [0, 1], [0, 0]], "more than 1 features"),
        (ask.PerValueFlip(13, 2.0), np.eye(13)[:3], "at most 12"),
        (ask.Warner(0.8), "identity", "PerValueFlip"),
    ],
)
def test_features_that_do_not_fit_are_refused(device, features, said):
    with pytest.raises(ask.InvalidInput, match=said):
        ask.on_features(device, features, ["a", "b", "c"])


# -- what a search can end at ------------------------------------------------------------------------------


def drawn_chain(seed, sentences, features, size):
    """Sentences of eight tokens and their tags, drawn exactly from a chain with normal weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(sentences, 8, features))
    X[:, :, 0] = 1
    weights, transitions = rng.normal(0, size, (features, 3)), rng.normal(0, size, (3, 3))
    tags = np.zeros((sentences, 8), int)
    for s in range(sentences):
        scores, ahead = X[s] @ weights, np.zeros((8, 3))
        for t in range(6, -1, -1):
            ahead[t] = np.logaddexp.reduce(transitions + scores[t + 1] + ahead[t + 1], axis=1)
        for t in range(8):
            logits = scores[t] + ahead[t] + (transitions[tags[s, t - 1]] if t else 0)
            tags[s, t] = rng.choice(3, p=np.exp(logits - np.logaddexp.reduce(logits)))
    return list(X), tags.tolist(), rng


def hidden_chain(seed, sentences=60, features=3, size=1.5, epsilon=1.0):
    X, tags, rng = drawn_chain(seed, sentences, features, size)
    channel = ask.PerToken(ask.RandomizedResponse([0, 1, 2], epsilon=epsilon))
    return X, channel.simulate(tags, rng), channel


def test_a_higher_maximum_than_that_from_zero_is_found_and_several_are_said(monkeypatch):
    """Few sentences, much noise, hardly a ridge: moments lead to a maximum that is 2.5 higher than that from zero."""
    X, reports, channel = hidden_chain(136, sentences=20, features=5)

    def height():
        model = ask.IndirectModel(ask.Chain([0, 1, 2]), channel, ridge=0.1).fit(X, reports)
        return model.log_likelihood_ - 0.05 * (model.parameters_**2).sum()

    with pytest.warns(AskanceWarning, match="several maxima"):
        both = height()
    monkeypatch.setattr(ChainSearch, "_starts", lambda *_: ())
    assert height() < both - 0.1


@pytest.mark.parametrize("method", ["marginal", "moments"])
def test_a_chain_without_a_finite_estimate_is_held_back_and_says_so(method):
    X, reports, channel = hidden_chain(100)
    model = ask.IndirectModel(ask.Chain([0, 1, 2]), channel, method=method)
    with pytest.warns(AskanceWarning, match="no finite estimate"):
        model.fit(X, reports)
    assert model.ridge_ == (1.0 if method == "marginal" else pytest.approx(480**0.5))
    assert model.converged_
    assert np.abs(model.parameters_).max() < 20
    with pytest.raises(Unidentifiable, match="no finite estimate"):
        ask.IndirectModel(ask.Chain([0, 1, 2]), channel, method=method, ridge=0.0).fit(X, reports)


@pytest.mark.parametrize("method", ["marginal", "moments"])
def test_features_that_repeat_each_other_share_weights_and_leave_errors_as_they_are(method):
    X, reports, channel = hidden_chain(202, sentences=150, size=0.6, epsilon=3.0)
    plain = ask.IndirectModel(ask.Chain([0, 1, 2]), channel, method=method).fit(X, reports)
    repeated = [np.column_stack([x, x[:, 1], 2 * x[:, 2]]) for x in X]
    doubled = ask.IndirectModel(ask.Chain([0, 1, 2]), channel, method=method).fit(repeated, reports)
    assert plain.ridge_ == doubled.ridge_ == 0
    nodes = np.kron([[1, 0, 0, 0, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 2]], np.eye(3))
    together = np.block([[nodes, np.zeros((9, 9))], [np.zeros((9, 15)), np.eye(9)]])
    error = plain.standard_errors_
    assert np.all(np.abs(together @ doubled.parameters_ - plain.parameters_) < 0.01 * error)
    np.testing.assert_allclose(
        together @ doubled.covariance_ @ together.T, plain.covariance_, atol=1e-4 * error.max() ** 2
    )
    np.testing.assert_allclose(doubled.parameters_[3:6], doubled.parameters_[9:12], atol=1e-6)  # the shortest weights
    np.testing.assert_allclose(plain.parameters_[:9].reshape(3, 3).sum(axis=1), 0, atol=1e-6)


@pytest.mark.parametrize("method", ["marginal", "moments"])
def test_sentences_without_a_token_are_refused(method):
    chain, channel = ask.Chain(["D", "N"], features="words"), ask.PerToken(ask.RandomizedResponse(["D", "N"], 1.0))
    with pytest.raises(ask.InvalidInput, match="2 sentences without a token"):
        ask.IndirectModel(chain, channel, method=method).fit([[], []], [[], []])
