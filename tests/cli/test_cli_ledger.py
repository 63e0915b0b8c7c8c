"""Budgets from the command line: filters and receipts."""

import json
import shutil

import numpy as np

import askance as ask


def test_a_receipt_notices_a_ledger_that_was_set_back(run, tmp_path):
    book, kept, older = tmp_path / "clinic.ledger", tmp_path / "receipt.json", tmp_path / "older"
    assert run("ledger", "create", book, "--epsilon", "1", "--delta", "1e-6", "--data-set", "clinic")[0] == 0
    ask.Ledger(book).spend("0.1", what="one")
    shutil.copyfile(book, older)
    ask.Ledger(book).spend("0.1", what="two")
    assert run("ledger", "receipt", book, "--out", kept)[0] == 0
    assert run("ledger", "receipt", book, "--out", kept)[0] == 2  # it exists already
    code, out, _ = run("ledger", "show", book, "--receipt", kept)
    assert code == 0
    assert "goes on from where" in out
    assert "Had this list been fixed in advance" in out
    shutil.copyfile(older, book)
    code, _, err = run("ledger", "show", book, "--receipt", kept)
    assert code != 0
    assert "set back" in err
    code, _, err = run("ledger", "show", book, "--receipt", book)
    assert code != 0
    assert "no receipt" in err


def test_the_filter_is_chosen_when_a_ledger_is_made(run, tmp_path):
    book = tmp_path / "l"
    assert (
        run("ledger", "create", book, "--epsilon", "1", "--delta", "1e-6", "--data-set", "d", "--filter", "renyi")[0]
        == 0
    )
    assert json.loads(run("ledger", "show", book, "--json")[1])["filter"]["filter"] == "renyi"
    code, _, err = run("ledger", "create", tmp_path / "m", "--epsilon", "1", "--data-set", "d", "--filter", "gdp")
    assert code != 0
    assert "delta" in err


def test_releases_record_their_mechanisms(tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 20, "1e-3", data_set="d", filter="sums")
    X, y = np.column_stack([np.ones(40), np.arange(40)]), np.tile([-1, 1], 20)
    for mechanism, delta in (("laplace", 0), ("knorm", 0), ("gaussian", "1e-6"), ("response", 0)):
        ask.release_mean_operator(X, y, "0.5", delta, mechanism=mechanism, ledger=ledger)
    counts = [[5, 15, 20], [10, 10, 10]]
    for mechanism, delta in (
        ("discrete-laplace", 0), ("truncated-laplace", "1e-5"), ("discrete-gaussian", "1e-5"), ("laplace", 0),
        ("gaussian", "1e-5"), ("laplace-prior", 0), ("dirichlet", "1e-4"),
    ):  # fmt: skip
        ask.release_counts(counts, "0.5", delta, mechanism=mechanism, ledger=ledger, people="40 rows")
    ask.release_counts(counts, "0.5", disjoint=False, mechanism="discrete-laplace", ledger=ledger, people="40 rows")
    kinds = [[loss.kind for loss in entry.losses] for entry in ledger.entries]
    assert kinds[:4] == [["laplace"], ["radial"], ["gaussian"], ["channel"]]
    assert kinds[4:8] == [["discrete-laplace"], ["truncated-laplace"], ["discrete-gaussian"], ["rounded-laplace"]]
    assert kinds[8:10] == [["gaussian"], ["rounded-laplace"]]
    assert kinds[11] == ["discrete-laplace"] * 2
    assert ledger.total() < float(ledger.spent.epsilon)
