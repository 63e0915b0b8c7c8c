"""Fitted models as JSON: readable, versioned, never pickled."""

import base64
import json
import math
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

import askance
from askance.channels.specs import channel_from_spec
from askance.errors import AskanceError, InvalidInput, NotAvailable, ReleaseError
from askance.files.kinds import MODEL
from askance.files.targets import check_target, write_text

FORMAT = "askance-model"
VERSION = 1  # of the format of saved models
ESTIMATORS = {
    "AnswerRegression": "askance.learning.surveys.answer_regression",
    "CountTagger": "askance.learning.counting.count_tagger",
    "EcologicalInference": "askance.learning.ecology.ecological_inference",
    "HiddenPredictor": "askance.learning.surveys.hidden_predictor",
    "IndirectClassifier": "askance.learning.answers.indirect_classifier",
    "IndirectModel": "askance.learning.models.indirect_model",
    "IndirectRegressor": "askance.learning.numbers.indirect_regressor",
    "JointTable": "askance.learning.surveys.joint_table",
    "ListExperiment": "askance.learning.surveys.list_experiment",
    "MeanOperatorClassifier": "askance.learning.totals.mean_operator_classifier",
    "Prevalence": "askance.learning.answers.prevalence",
    "ProportionClassifier": "askance.learning.bags.proportion_classifier",
    "SpreadClassifier": "askance.learning.records.spread_classifier",
    "RatioEstimator": "askance.learning.ratios.ratio_estimator",
}
# What a fitted estimator may hold beside arrays and plain values: it has to_dict and from_dict.
_PARTS = {
    "Guarantee": "askance.channels.guarantee",
    "BagDiagnosis": "askance.learning.bags.bag_diagnosis",
    "BagDoubt": "askance.learning.ratios.bag_doubt",
    "BagPosteriorModel": "askance.learning.ratios.bag_posterior",
    "Chain": "askance.learning.models.families",
    "DesignTest": "askance.learning.answers.compliance",
    "MmdRatios": "askance.learning.ratios.mmd",
    "Profile": "askance.solvers.profile_likelihood",
    "States": "askance.learning.models.families",
    "UnknownNumbers": "askance.learning.answers.unknown_numbers",
}
# JSON knows no such numbers: they are written as these words, and a text that is one of them is marked as a text.
_NOT_FINITE = ("nan", "inf", "-inf")
# What reading, or using what was read, raises where a file was changed.
DAMAGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError, RecursionError, zlib.error)
# How many dimensions the attributes have that estimators share.
_DIMENSIONS = {"coef_": (1, 2), "intercept_": (0, 1), "classes_": (1,), "feature_names_in_": (1,), "covariance_": (2,)}
_DIMENSIONS |= {"transitions_": (2,)}
_NUMBERS = ("coef_", "intercept_", "covariance_", "transitions_")
_MOST_PACKED = 2000  # zlib makes nothing smaller than a 1032nd
_BIT_GENERATORS = (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)


class JsonModel:
    """Adds ``to_json``, ``save`` and ``load`` to an estimator whose attributes are arrays and plain values."""

    def to_json(self) -> str:
        """Return parameters and fitted attributes as JSON."""
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        if parameters.get("base_estimator") is not None:
            raise NotAvailable(
                "saving a fit with base_estimator", "base_estimator=None", "Save base_estimator_ by its own means."
            )
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        if not fitted:
            raise NotAvailable(f"saving a {type(self).__name__} that is not fitted", "a call of fit before")
        content = {
            "format": FORMAT,
            "version": VERSION,
            "askance": askance.__version__,
            "estimator": type(self).__name__,
            "parameters": {name: _encode(value) for name, value in parameters.items()},
            "fitted": {name: _encode(value) for name, value in fitted.items()},
        }
        return json.dumps(content, indent=1, allow_nan=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a JSON file, whole or not at all, over nothing but an earlier model."""
        text = self.to_json()
        check_target(Path(path), MODEL, overwrite=True)
        write_text(Path(path), text, MODEL)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a fitted model of this class."""
        model = load_model(path)
        if not isinstance(model, cls):
            raise ReleaseError(f"{path} holds a {type(model).__name__}", f"a {cls.__name__}")
        return model

    @classmethod
    def known_parameters(cls, saved: dict[str, Any]) -> dict[str, Any]:
        """The parameters of a saved model that there still are."""
        return saved

    def fill_in(self) -> None:
        """Give a model that an earlier version saved what that version did not keep."""
        if not hasattr(self, "guarantee_"):
            self.guarantee_ = getattr(getattr(self, "channel_", None), "guarantee", None)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a fitted model that ``save`` wrote.

    Examples
    --------
    >>> import tempfile, os, askance as ask
    >>> fitted = ask.Prevalence(ask.Warner(0.8)).fit(["yes", "no", "no", "no"])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.json")
    >>> fitted.save(path)
    >>> ask.load_model(path).proportions_
    array([0.91666667, 0.08333333])
    """
    from importlib import import_module

    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        why = "there is no file" if isinstance(error, FileNotFoundError) else f"cannot read ({error.strerror})"
        raise ReleaseError(f"{why} {path}", "a model written by save") from None
    except (ValueError, RecursionError):  # not UTF-8, not JSON, or such as nobody writes
        raise ReleaseError(f"{path} is not a JSON file", "a model written by save") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ReleaseError(f"{path} is not an askance model", "a model written by save")
    version, estimator = content.get("version"), content.get("estimator")
    if version != VERSION or not isinstance(estimator, str) or estimator not in ESTIMATORS:
        raise ReleaseError(
            f"{path} holds a {estimator} of format version {version}",
            f"version {VERSION} and one of {', '.join(ESTIMATORS)}",
            "It was written by another version of askance: upgrade.",
        )
    kind = getattr(import_module(ESTIMATORS[estimator]), estimator)
    try:
        parameters = {name: _decode(value) for name, value in content["parameters"].items()}
        model = kind(**kind.known_parameters(parameters))
        for name, value in content["fitted"].items():
            setattr(model, name, _decode(value))
        model.fill_in()
        check_loaded(model)
    except DAMAGE as error:
        raise _damaged(path, error) from error
    return model


@contextmanager
def used_model(path: str | os.PathLike[str]) -> Iterator[None]:
    """Use a model that was read from a file; where its parts do not fit together, it is the file that is damaged."""
    try:
        yield
    except AskanceError:
        raise
    except DAMAGE as error:
        raise _damaged(path, error) from error


def _damaged(path: str | os.PathLike[str], error: BaseException) -> ReleaseError:
    return ReleaseError(f"{path} is a damaged model ({type(error).__name__}: {error})", remedy="Save it again.")


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype == np.float32:
        return _packed(value)
    if isinstance(value, np.ndarray):
        return {"array": _finite(value.tolist()), "dtype": "object" if value.dtype == object else value.dtype.str}
    if isinstance(value, tuple):
        return {"tuple": [_encode(item) for item in value]}
    if isinstance(value, list):
        return {"list": [_encode(item) for item in value]}
    if hasattr(value, "to_spec"):
        return {"channel": value.to_spec()}
    if type(value).__name__ in _PARTS:
        return {"part": type(value).__name__, "content": _encode(value.to_dict())}
    if isinstance(value, dict):
        return {"mapping": {name: _encode(item) for name, item in value.items()}}
    if isinstance(value, np.generic):
        return _finite(value.item())
    if isinstance(value, np.random.Generator | np.random.RandomState):
        state = value.bit_generator.state if isinstance(value, np.random.Generator) else value.get_state(legacy=False)
        return {"random": type(value).__name__, "state": _encode(state)}
    if value in _NOT_FINITE:
        return {"text": value}
    if value is None or isinstance(value, bool | int | float | str):
        return _finite(value)
    raise InvalidInput(f"a value of type {type(value).__name__}", "arrays and plain values in a saved model")


def _decode(value: Any) -> Any:
    if not isinstance(value, dict):
        return float(value) if value in _NOT_FINITE else value
    if "array" in value:
        return _array(value["array"], value["dtype"])
    if "text" in value:
        return value["text"]
    if "random" in value:
        return _generator(value["random"], _decode(value["state"]))
    if "packed" in value:
        return _unpacked(value["packed"], value["shape"])
    if "tuple" in value:
        return tuple(_decode(item) for item in value["tuple"])
    if "list" in value:
        return [_decode(item) for item in value["list"]]
    if "mapping" in value:
        return {name: _decode(item) for name, item in value["mapping"].items()}
    if "part" in value:
        from importlib import import_module

        return getattr(import_module(_PARTS[value["part"]]), value["part"]).from_dict(_decode(value["content"]))
    return channel_from_spec(value["channel"])


def _array(content: Any, name: Any) -> NDArray[Any]:
    """Read an array of one of the kinds that are written; text gets the width that it needs, whatever the file says."""
    kind = "O" if name == "object" else str(name).lstrip("<>|=")[:1]
    if not isinstance(content, list) or kind not in "biufUO":
        raise ValueError(f"an array of the type {str(name)[:40]!r}")
    if kind in "UO":
        return np.array(content, np.str_ if kind == "U" else object)
    return np.array(_numbers(content), np.dtype(name)) if kind == "f" else np.array(content, np.dtype(name))


def _unpacked(text: Any, shape: Any) -> NDArray[np.float32]:
    """Unpack single precision; no more than the shape says, which is checked before memory is taken."""
    if not isinstance(shape, list) or not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError(f"an array of the shape {str(shape)[:40]}")
    size = 4 * math.prod(shape)
    packed = base64.b64decode(text)
    if max(size, *shape) > _MOST_PACKED * (len(packed) + 1):
        raise ValueError(f"{len(packed)} bytes for an array of the shape {shape}")
    content = zlib.decompressobj().decompress(packed, size + 1)
    return np.frombuffer(content, "<f4").reshape(shape).astype(np.float32)


def check_loaded(model: Any) -> None:
    """Refuse a model whose parts have other types or lengths than any fit gives them."""
    lengths = {name: getattr(model, name) for name in ("n_features_in_", "n_iter_") if hasattr(model, name)}
    for name, value in lengths.items():
        if type(value) is not int or value < 0:
            raise ValueError(f"{name}={value!r}")
    for name, dimensions in _DIMENSIONS.items():
        value = getattr(model, name, None)
        if value is None:
            continue
        if not isinstance(value, np.ndarray | float | int) or np.ndim(value) not in dimensions:
            raise ValueError(f"{name} is no array of {' or '.join(map(str, dimensions))} dimensions")
        if name in _NUMBERS and np.asarray(value).dtype.kind not in "biuf":
            raise ValueError(f"{name} is no array of numbers")
    features = lengths.get("n_features_in_")
    for name, axis in (("feature_names_in_", 0), ("coef_", -1)):
        value = getattr(model, name, None)
        wide = getattr(model, "design_width_", features) if name == "coef_" else features  # levels have one each
        if features is not None and value is not None and value.shape[axis] != wide:
            raise ValueError(f"{name} has {value.shape[axis]} entries for {wide} features")
    coef, intercept = getattr(model, "coef_", None), getattr(model, "intercept_", None)
    if coef is not None and intercept is not None and coef.ndim == 2 and len(coef) != np.size(intercept):
        raise ValueError(f"{len(coef)} rows of coef_ and {np.size(intercept)} intercepts")


def _generator(kind: str, state: dict[str, Any]) -> np.random.Generator | np.random.RandomState:
    source: Any = {known.__name__: known for known in _BIT_GENERATORS}[state["bit_generator"]]()
    source.state = state
    return np.random.Generator(source) if kind == "Generator" else np.random.RandomState(source)


def _packed(array: NDArray[np.float32]) -> dict[str, Any]:
    """Single precision is for models of millions of weights: as text they would fill a hundred megabytes."""
    content = zlib.compress(np.ascontiguousarray(array, "<f4").tobytes(), 6)
    return {"packed": base64.b64encode(content).decode(), "shape": list(array.shape)}


def _finite(value: Any) -> Any:
    """Write NaN and infinity as words."""
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def _numbers(content: Any) -> Any:
    return [_numbers(item) for item in content] if isinstance(content, list) else float(content)
