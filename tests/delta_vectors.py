"""Rows of a Delta table deleted by vectors, as Spark writes them: by the protocol, in the log itself."""

import base64
import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_MAGIC = 1_681_511_377  # of RoaringBitmapArray
_WITHOUT_RUNS = 12_346  # a bitmap whose containers are arrays or bits
FEATURE = "deletionVectors"


def files_of(folder: Path) -> dict[str, dict[str, Any]]:
    """What the log says of the files of the newest version, by path."""
    found: dict[str, dict[str, Any]] = {}
    for version in sorted((folder / "_delta_log").glob("*.json")):
        for line in version.read_text(encoding="utf-8").splitlines():
            action = json.loads(line)
            if "add" in action:
                found[action["add"]["path"]] = action["add"]
            elif "remove" in action:
                found.pop(action["remove"]["path"], None)
    return found


def delete_by_vectors(folder: Path, rows: Sequence[Sequence[int]], *, feature: str = FEATURE) -> None:
    """Commit vectors: of each file, in the order of the log, the positions of all rows that are deleted."""
    actions: list[dict[str, Any]] = [
        {"commitInfo": {"operation": "DELETE", "timestamp": 0}},
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": [feature, "timestampNtz"],
                "writerFeatures": [feature, "timestampNtz"],
            }
        },
    ]
    for file, deleted in zip(files_of(folder).values(), rows, strict=False):
        kept = ("path", "partitionValues", "size", "deletionVector")
        gone = {name: file[name] for name in kept if name in file}
        actions.append({"remove": {**gone, "dataChange": True, "deletionTimestamp": 0}})
        actions.append({"add": {**file, "dataChange": True, "deletionVector": _vector(deleted)}})
    log = folder / "_delta_log"
    version = max(int(one.stem) for one in log.glob("*.json")) + 1
    text = "\n".join(map(json.dumps, actions))
    (log / f"{version:020}.json").write_text(text, encoding="utf-8")


def roaring_bitmap(rows: Sequence[int]) -> bytes:
    """A portable Roaring bitmap of at most 4,096 rows of each 65,536: more would not be written as arrays.

    https://github.com/RoaringBitmap/RoaringFormatSpec
    """
    containers: dict[int, list[int]] = {}
    for row in sorted(set(rows)):
        containers.setdefault(row >> 16, []).append(row & 0xFFFF)
    assert all(len(lows) <= 4096 for lows in containers.values())
    heads, starts, arrays = b"", b"", b""
    for high, lows in containers.items():
        heads += struct.pack("<HH", high, len(lows) - 1)
        starts += struct.pack("<I", 8 + 8 * len(containers) + len(arrays))
        arrays += struct.pack(f"<{len(lows)}H", *lows)
    return struct.pack("<II", _WITHOUT_RUNS, len(containers)) + heads + starts + arrays


def _vector(rows: Sequence[int]) -> dict[str, Any]:
    """A vector within the log."""
    held = struct.pack("<iqi", _MAGIC, 1, 0) + roaring_bitmap(rows)
    padded = held + b"\0" * (-len(held) % 4)
    text = base64.b85encode(padded).decode().translate(str.maketrans(_B85, _Z85))
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(held), "cardinality": len(rows)}
