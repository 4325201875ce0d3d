"""``python -m tests.frozen write FILE`` before a change, ``python -m tests.frozen compare FILE`` after it.

p-values must be equal and other numbers agree to 1e-12; whatever else differs is printed, with both values.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from pathlib import Path
from typing import Any

from steinball.arrays import to_host
from tests.frozen.cases import all_cases

CLOSE = 1e-12


def observed(call: Any) -> dict[str, Any]:
    """Everything that a call shows: numbers, draws, contributions, texts, warnings; or the error that it raised."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as error:  # a refusal is an answer too
            return {"error": f"{type(error).__name__}: {error}"}
        found: dict[str, Any] = {"texts": {}, "numbers": {}}
        if not hasattr(result, "to_dict"):
            found["numbers"]["value"] = plain(getattr(result, "wealth", result))
        else:
            found["numbers"]["fields"] = plain(result.to_dict())
            found["texts"] = {"brief": str(result), "details": result.summary(details=True), "repr": repr(result)}
            for name in ("draws", "contributions"):
                found["numbers"][name] = plain(getattr(result, name, None))
            for name in ("explain", "tolerance_curve", "smallest_detectable", "credibility", "interval"):
                found["numbers"][name] = asked(result, name)
    found["warnings"] = sorted({str(w.message) for w in given})
    return found


def asked(result: Any, name: str) -> Any:
    """What a method says, or why it does not."""
    try:
        answer = getattr(result, name)()
        return plain(
            answer.to_dict() if hasattr(answer, "to_dict") else vars(answer) if hasattr(answer, "__dict__") else answer
        )
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if hasattr(value, "shape"):
        return plain(to_host(value).tolist())
    return repr(value)


def differences(before: Any, after: Any, path: str = "") -> list[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        keys = sorted({*before, *after})
        return [d for key in keys for d in differences(before.get(key), after.get(key), f"{path}/{key}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        found = [
            d for k, (b, a) in enumerate(zip(before, after, strict=True)) for d in differences(b, a, f"{path}[{k}]")
        ]
        return found[:3] + [f"{path}: … {len(found)} of {len(before)} in all"] * (len(found) > 3)
    if _is_number(before) and _is_number(after) and not path.endswith("pvalue"):
        same = before == after or abs(before - after) <= CLOSE * max(1.0, abs(before))
    else:
        same = before == after
    return [] if same else [f"{path}:\n    before {_short(before)}\n    after  {_short(after)}"]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else text[:300] + "…"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def main() -> int:
    task, file, *only = sys.argv[1:]
    cases = {name: call for name, call in all_cases().items() if not only or any(name.startswith(o) for o in only)}
    found = {name: observed(call) for name, call in cases.items()}
    if task == "write":
        Path(file).write_text(json.dumps(found))
        print(f"{len(found)} calls, {sum('error' in one for one in found.values())} of them refused")
        return 0
    before, changed = json.loads(Path(file).read_text()), 0
    for name, now in found.items():
        different = differences(before.get(name), json.loads(json.dumps(now)))
        changed += bool(different)
        if different:
            print(f"{name}\n  " + "\n  ".join(different[:8]))
    print(f"{len(found)} calls, {changed} differ")
    return int(changed > 0)


if __name__ == "__main__":
    sys.exit(main())
