"""Good files of every kind, and what is done with each at the command line: what a fuzzer starts from."""

import contextlib
import io
import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import askance as ask
from askance.cli.app import main

GOLDEN = Path(__file__).parent / "golden"
Uses = dict[str, list[list[str]]]

STUDY = """[study]
name = "s"
title = "A study"
[questions.cheated]
text = "Did you?"
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }
[questions.income]
bounds = [0, 10]
channel = { design = "private-number", epsilon = 4.0 }
[questions.picture]
width = 3
channel = { design = "state-flip", states = 4, flip = 0.1 }
[covariates.age]
type = "number"
[covariates.school]
type = "category"
levels = ["a", "b"]
"""


def make_corpus(folder: Path) -> Uses:
    """Write good files of the kinds that commands take, and return what is done with each."""
    rng = np.random.default_rng(4)
    n = 60
    (folder / "study.toml").write_text(STUDY)
    (folder / "plan.toml").write_text(STUDY[: STUDY.index("[questions.income]")])
    answers = pd.DataFrame(
        {
            "cheated": rng.choice(["no", "yes"], n),
            "income": rng.uniform(0, 10, n),
            "age": rng.normal(size=n),
            "school": rng.choice(["a", "b"], n),
            "picture": [rng.integers(0, 4, 3).tolist() for _ in range(n)],
            "id": [f"p{i}" for i in range(n)],
            "bag": np.where(np.arange(n) % 2, "u", "v"),
            "y": rng.choice([-1, 1], n),
        }
    )
    answers.to_parquet(folder / "data.parquet", index=False)
    simple = answers.drop(columns="picture")
    simple.to_csv(folder / "data.csv", index=False)
    (folder / "simple.toml").write_text(STUDY[: STUDY.index("[questions.picture]")] + STUDY[STUDY.index("[cov") :])
    simple[["id", "age", "income"]].to_csv(folder / "x.csv", index=False)
    simple[["bag", "age", "income"]].to_csv(folder / "rows.csv", index=False)
    pd.DataFrame({"bag": ["u", "v"], "no": [0.3, 0.7], "yes": [0.7, 0.3]}).to_csv(folder / "shares.csv", index=False)
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for words in (["--out", "release.parquet"], ["--out", "parts", "--rows-per-part", "25"]):
            _run(["privatize", "study.toml", "data.parquet", *words])
        for number, key in ((1, "key.pem"), (2, "other.pem")):
            _write_keys(number, Path(key))
        _run(["privatize", "study.toml", "data.parquet", "--out", "signed.parquet", "--sign", "key.pem"])
        ask.Ledger.create("b.ledger", "1000", "0.1", data_set="d")
        X, y = simple[["age", "income"]], simple["cheated"]
        warner = ask.Warner(0.8)
        ask.Prevalence(warner).fit(y).save("prevalence.json")
        ask.IndirectClassifier(warner).fit(X, y).save("classifier.json")
        number = ask.PrivateNumber(0, 10, epsilon=4.0)
        ask.IndirectRegressor(number).fit(X[["age"]], number.simulate(X["income"].to_numpy(), rng)).save("line.json")
        ask.RatioEstimator(method="mmd").fit(X, simple["bag"], {"u": [0.3, 0.7], "v": [0.7, 0.3]}).save("ratios.json")
        mean = ask.release_mean_operator(
            X.to_numpy(), simple["y"], 5, classes=(-1, 1), columns=("age", "income"), ids=simple["id"].tolist()
        )
        mean.write("mu.json")
        ask.release_counts({"u": [10, 20], "v": [20, 10]}, 2, classes=("no", "yes")).write("counts.json")
        regions = ask.RegionCounts(["N", "V"], 2).simulate([["N", "V"]] * 8, rng)
        ask.RegionRelease.of(regions, [["dogs", "bark"]] * 8, ["N", "V"]).write("regions.jsonl")
        ask.CountTagger(random_state=0).fit([["dogs", "bark"]] * 8, regions).save("tagger.json")
        Path("text.txt").write_text("dogs bark\n")
        _run(["ledger", "receipt", "b.ledger", "--out", "b.receipt"])
        units = [f"u{i}" for i in range(12)]
        groups = rng.integers(20, 90, (12, 2))
        chosen = rng.binomial(groups, [0.2, 0.7]).sum(axis=1)
        pd.DataFrame({"unit": units, "town": groups[:, 0], "land": groups[:, 1]}).to_csv("groups.csv", index=False)
        pd.DataFrame({"unit": units, "a": chosen, "b": groups.sum(axis=1) - chosen}).to_csv("votes.csv", index=False)
    return USES


def make_wide_corpus(folder: Path) -> Uses:
    """Write good files of every kind, channel, estimator and version that there is: for a long run."""
    import channel_examples
    import estimator_examples

    uses = dict(make_corpus(folder))
    channels = channel_examples.EXAMPLES | channel_examples.NUMBERS | channel_examples.ATTRIBUTES
    for name, channel in channels.items():
        path = f"channel-{name}.json"
        (folder / path).write_text(json.dumps(channel.to_spec()))
        uses[path] = [["audit", path, "--draws", "50", "--quiet"]]
    for name, make in estimator_examples.EXAMPLES.items():
        example, model, rows, release = make(), f"saved-{name}.json", f"rows-{name}.csv", f"made-{name}"
        example.fitted.save(folder / model)
        if isinstance(example.new, np.ndarray):
            pd.DataFrame(example.new[:20]).to_csv(folder / rows, index=False)
        else:
            shutil.copy(folder / "x.csv", folder / rows)
        release += ".parquet" if isinstance(example.release, ask.Release) else ".json"
        release = release.replace(".json", ".jsonl") if isinstance(example.release, ask.RegionRelease) else release
        example.release.write(folder / release)
        tagger = ["tag", model, "text.txt"]
        uses[model] = [tagger if name == "CountTagger" else ["predict", model, rows]]
        uses[release] = [["verify", release], ["fit", release, "--seed", "1", "--passes", "1"]]
        if release.endswith(".parquet"):
            uses[release][1] = ["fit", release]
    for path in sorted(GOLDEN.iterdir()):
        kind = path.name.partition("-")[0]
        if path.is_file() and kind in _GOLDEN_USES:
            shutil.copy(path, folder)
            uses[path.name] = [[word.replace("FILE", path.name) for word in words] for words in _GOLDEN_USES[kind]]
    return uses


def _write_keys(number: int, path: Path) -> None:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
    path.write_bytes(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()))
    public = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    path.with_suffix(".pub").write_bytes(public)


def _run(words: list[str]) -> None:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            main(words)
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"{words}: {said.getvalue()}") from None


PAID = ["--epsilon", "0.5", "--ledger", "b.ledger", "--out", "new.json"]
COUNTS = ["release", "counts", "data.csv", "--label", "cheated", "--bag", "bag", "--classes", "no,yes", *PAID]
# What is done with a file, by its name; the file stands for itself.
USES: Uses = {
    "study.toml": [
        ["audit", "study.toml", "--draws", "50", "--quiet"],
        ["privatize", "study.toml", "data.parquet", "--out", "new.parquet"],
    ],
    "simple.toml": [["fit", "data.csv", "--study", "simple.toml", "--question", "cheated"]],
    "data.csv": [
        ["privatize", "simple.toml", "data.csv", "--out", "new.parquet"],
        ["fit", "data.csv", "--study", "simple.toml", "--formula", "cheated ~ age + C(school)"],
        ["fit", "data.csv", "--study", "simple.toml", "--formula", "income ~ age"],
        [*COUNTS, "--id", "id"],
        ["release", "mean-operator", "data.csv", "--features", "x.csv", "--id", "id", "--label", "y", *PAID],
    ],
    "x.csv": [
        ["fit", "mu.json", "--features", "x.csv", "--id", "id"],
        ["predict", "classifier.json", "x.csv", "--id", "id"],
    ],
    "rows.csv": [
        ["fit", "rows.csv", "--proportions", "shares.csv", "--method", "mean-map"],
        ["ratios", "rows.csv", "--model", "ratios.json", "--group", "bag"],
    ],
    "shares.csv": [["fit", "rows.csv", "--proportions", "shares.csv", "--method", "mean-map"]],
    "release.parquet": [
        ["fit", "release.parquet", "--question", "cheated"],
        ["fit", "release.parquet", "--formula", "cheated ~ age"],
        ["fit", "release.parquet", "--formula", "income ~ age"],
        ["audit", "release.parquet", "--draws", "50", "--quiet"],
        ["audit", "release.parquet", "--data", "data.parquet", "--quiet"],
        ["verify", "release.parquet", "--ledger", "b.ledger"],
    ],
    "parts/part-00001.parquet": [["verify", "parts"], ["fit", "parts", "--question", "cheated"]],
    "parts/_manifest.json": [["verify", "parts"], ["fit", "parts", "--question", "cheated"]],
    "signed.parquet.sig": [["verify", "signed.parquet", "--key", "key.pub"]],
    "key.pub": [["verify", "signed.parquet", "--key", "key.pub"]],
    "key.pem": [["privatize", "study.toml", "data.parquet", "--out", "new.parquet", "--sign", "key.pem"]],
    "groups.csv": [["crosstab", "groups.csv", "votes.csv", "--report", "new.html"]],
    "votes.csv": [["crosstab", "groups.csv", "votes.csv"]],
    "b.receipt": [["ledger", "show", "b.ledger", "--receipt", "b.receipt"]],
    "plan.toml": [
        ["plan", "prevalence", "--prevalence", "0.1", "--epsilon", "1", "--margin", "0.03", "--quiet"],
        ["plan", "difference", "--between", "0.1,0.2", "--design", "list items=.5,.4,.3", "--power", "0.8"],
        [
            "plan",
            "rows",
            "--pilot",
            "x.csv",
            "--column",
            "income=0,10",
            "--column",
            "age=-5,5",
            "--outcome",
            "income",
            "--epsilon",
            "4",
            "-n",
            "5000",
        ],
        ["plan", "ratios", "--bag", "0.8,0.2", "--bag", "0.3,0.7", "--epsilon", "1", "-n", "500"],
        ["plan", "prevalence", "--study", "plan.toml", "--prevalence", "0.2", "-n", "500"],
        ["ledger", "create", "new.ledger", "--epsilon", "1", "--delta", "1e-6", "--data-set", "d"],
        ["audit", '{"channel": "warner", "p": 0.75}', "--draws", "50", "--error-rate", "0.01", "--quiet"],
    ],
    "mu.json": [["fit", "mu.json", "--features", "x.csv", "--id", "id"]],
    "counts.json": [["fit", "rows.csv", "--proportions", "counts.json", "--method", "mean-map"]],
    "regions.jsonl": [["fit", "regions.jsonl", "--seed", "1", "--passes", "1"]],
    "b.ledger": [
        ["privatize", "simple.toml", "data.csv", "--id", "id", "--ledger", "b.ledger", "--out", "new.parquet"],
        ["ledger", "show", "b.ledger"],
        ["ledger", "receipt", "b.ledger", "--out", "new.receipt"],
        COUNTS,
    ],
    "prevalence.json": [["predict", "prevalence.json", "x.csv"]],
    "classifier.json": [["predict", "classifier.json", "x.csv"]],
    "line.json": [["predict", "line.json", "x.csv"]],
    "ratios.json": [["ratios", "rows.csv", "--model", "ratios.json", "--group", "bag"]],
    "tagger.json": [["tag", "tagger.json", "text.txt"]],
    "text.txt": [["tag", "tagger.json", "text.txt"]],
}
# The same of files of earlier versions, by the first word of their name.
_GOLDEN_USES = {
    "counts": [["verify", "FILE"], ["fit", "rows.csv", "--proportions", "FILE", "--method", "mean-map"]],
    "ledger": [["ledger", "show", "FILE"]],
    "mean": [["verify", "FILE"], ["fit", "FILE", "--features", "x.csv", "--id", "id"]],
    "model": [["predict", "FILE", "x.csv"], ["tag", "FILE", "text.txt"], ["ratios", "rows.csv", "--model", "FILE"]],
    "regions": [["verify", "FILE"], ["fit", "FILE", "--seed", "1", "--passes", "1"]],
    "release": [["verify", "FILE"], ["fit", "FILE"], ["audit", "FILE", "--draws", "50", "--quiet"]],
    "study": [["audit", "FILE", "--draws", "50", "--quiet"]],
}
