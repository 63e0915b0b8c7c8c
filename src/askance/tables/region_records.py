"""Regions as people have them: records, lists of records by sentence, or a frame of pandas, polars or Arrow."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from askance.channels.columns import NOT_ARROW
from askance.errors import InvalidInput
from askance.frames import column_names, library_of, lists_of_rows, refuse_other_numbers, refuse_other_rows

_PLACES = ("sentence", "start", "width")
_EXPECTED = "a list of regions, a list of regions for each sentence, a frame, or a RegionRelease"


def records_of_regions(regions: Any, sentences: int | None = None) -> list[Any]:
    """Bring regions into a list of records.

    Parameters
    ----------
    regions : list of records; list of lists of records, one for each sentence; or a frame
        A frame has a row for each region, with the columns ``sentence``, ``start`` and ``width``, and either ``counts``
        (a mapping in each row; ``tags`` and ``labels`` may stand beside it) or a column for each tag. There, what is
        missing was not asked for.
    sentences : int, optional
        How many sentences there are.

    Examples
    --------
    >>> records_of_regions([[{"start": 0, "width": 2, "counts": {"N": 2}}], []])
    [{'sentence': 0, 'start': 0, 'width': 2, 'counts': {'N': 2}}]
    >>> import pyarrow as pa
    >>> frame = pa.table({"sentence": [0], "start": [0], "width": [3], "N": [None], "V": [2]})
    >>> records_of_regions(frame)
    [{'sentence': 0, 'start': 0, 'width': 3, 'counts': {'V': 2}, 'tags': ['V']}]
    """
    if library_of(regions) is not None and column_names(regions) is None:  # a column: a region or a list in each row
        regions = [_plain(row) for row in lists_of_rows(regions, "regions")]
    if hasattr(regions, "__arrow_c_stream__") or isinstance(regions, pa.Table | pa.RecordBatch):
        return _from_frame(regions)
    if isinstance(regions, str | bytes | Mapping) or not isinstance(regions, Iterable):
        raise InvalidInput(f"regions={regions!r}", _EXPECTED)
    read = list(regions)
    if not read or not all(_is_list(each) for each in read):
        return read
    if sentences is not None and len(read) != sentences:
        raise InvalidInput(f"regions of {len(read)} sentences for {sentences} sentences", "a list for each sentence")
    return [_numbered(region, number) for number, its in enumerate(read) for region in its]


def check_rows(regions: Any, sentences: Any) -> None:
    """Refuse sentences of pandas whose index says that regions are those of others."""
    column = library_of(regions) is not None and column_names(regions) is None
    listed = isinstance(regions, Sequence) and bool(regions) and all(map(_is_list, regions))
    if column and _is_list(lists_of_rows(regions, "regions")[0] if len(regions) else None):
        refuse_other_rows(sentences=sentences, regions=regions)
    elif not listed:
        refuse_other_numbers(sentences, "sentences")


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)


def _numbered(region: Any, number: int) -> Any:
    return {"sentence": number} | dict(region) if isinstance(region, Mapping) else region


def _from_frame(frame: Any) -> list[dict[str, Any]]:
    try:
        table = frame if isinstance(frame, pa.Table) else pa.table(frame)
    except NOT_ARROW as error:
        raise InvalidInput(f"a {type(frame).__name__} that Arrow cannot read ({error})", _EXPECTED) from None
    names = table.column_names
    if "sentence" not in names:
        raise InvalidInput(f"a frame with the columns {', '.join(map(repr, names[:8]))}", f"{', '.join(_PLACES)}, ...")
    rows = [{name: _plain(value) for name, value in row.items()} for row in table.to_pylist()]
    if "counts" in names or "labels" in names:
        return [{name: value for name, value in row.items() if value is not None} for row in rows]
    return [_from_wide(row) for row in rows]


def _from_wide(row: dict[str, Any]) -> dict[str, Any]:
    tags = {name: value for name, value in row.items() if name not in _PLACES}
    region = {name: row[name] for name in _PLACES if row.get(name) is not None}
    region["counts"] = {tag: count for tag, count in tags.items() if count is not None}
    return region if len(region["counts"]) == len(tags) else region | {"tags": list(region["counts"])}


def _plain(value: Any) -> Any:
    """What a cell means: numbers that became floats because others were missing are whole again."""
    if isinstance(value, float):
        return None if math.isnan(value) else int(value) if value.is_integer() else value
    if isinstance(value, list) and value and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        value = dict(value)  # how Arrow gives maps
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        plain = {name: _plain(item) for name, item in value.items()}
        return {name: item for name, item in plain.items() if item is not None}
    return value
