"""The compiled inner loop of ``forest``."""

from askance.compiled import compiled


@compiled
def walk(rows, roots, columns, thresholds, lefts, rights, shares, made):  # type: ignore[no-untyped-def]
    """Add to ``made``, n x classes, the mean over trees of the shares of the leaf that each row falls into."""
    n, classes = made.shape
    trees = roots.shape[0]
    # Tree by tree in blocks of rows: a tree stays in the processor's cache while the rows pass through it.
    for start in range(0, n, 4096):
        stop = min(start + 4096, n)
        for t in range(trees):
            for i in range(start, stop):
                node = roots[t]
                while columns[node] >= 0:
                    node = lefts[node] if rows[i, columns[node]] <= thresholds[node] else rights[node]
                for k in range(classes):
                    made[i, k] += shares[node, k]
    for i in range(n):
        for k in range(classes):
            made[i, k] /= trees
