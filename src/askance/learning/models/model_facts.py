"""What a summary says about a fit by gradients, above its table."""

from typing import Any

from askance.learning.answers.kept_fit import likelihood_fact

Facts = tuple[tuple[str, str], ...]


def chain_facts(model: Any) -> Facts:
    """Of sequences: the level of one token, and of the longest whole, are both said."""
    each = model.channel_.guarantee.epsilon
    return (
        ("sentences", f"{model.n_reports_}"),
        ("tokens", f"{model.n_tokens_}"),
        ("features", f"{model.n_features_in_}"),
        ("epsilon of one token", f"{each:.4g}"),
        (f"epsilon of the longest sentence ({model.longest_} tokens)", f"{model.longest_ * each:.4g}"),
        *_fit_facts(model),
    )


def own_facts(model: Any) -> Facts:
    """Of single truths."""
    return (("reports", f"{model.n_reports_}"), *_fit_facts(model))


def _fit_facts(model: Any) -> Facts:
    facts = []
    kind = f" ({'information' if model.method == 'marginal' else 'sandwich'} standard errors)"
    if model.covariance_ is None:
        kind = ""
        facts.append(("standard errors", f"none: there are {len(model.parameters_):,} parameters"))
    facts += [("method", f"{model.method}{kind}"), *likelihood_fact(model)]
    if model.ridge_:
        facts.append(("penalty", f"ridge {model.ridge_:.4g}"))
    return tuple(facts)
