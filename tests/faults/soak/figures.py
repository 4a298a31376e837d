"""What the soak saw, in numbers."""

from collections import Counter
from typing import Any

from tests.faults.soak.field import Field


def figures(field: Field, *, seed: int, minutes: float) -> dict[str, Any]:
    """Everything that is told at the end and written with ``--json``."""
    said = [tree.said() for tree in field.hub.trees]
    (gap,) = field.hub.rows(
        "SELECT extract(epoch FROM max(gap))::float AS seconds FROM"
        " (SELECT at - lag(at) OVER (ORDER BY at) AS gap FROM burden_effect) AS gaps"
    )
    history = field.hub.rows(
        "SELECT code, spent, count(*) AS count FROM hubqueue_failure GROUP BY 1, 2 ORDER BY 3 DESC"
    )
    befell = dict(sorted(field.befell.items()))
    return {
        "seed": seed,
        "minutes": minutes,
        "jobs": dict(field.hub.states()),
        "enqueues acknowledged": len(field.load.acknowledged()),
        "enqueues refused": dict(Counter(field.load.refusals())),
        "runs": len(field.load.runs()),
        "effects": field.load.done(),
        "kills": {name: count for name, count in befell.items() if name.startswith("killed")},
        "restarts": {name: count for name, count in befell.items() if name.startswith("restarted")},
        "faults": befell,
        "attempts spent": {row["code"]: row["count"] for row in history if row["spent"]},
        "attempts unspent": {row["code"]: row["count"] for row in history if not row["spent"]},
        "rescues": {
            cause: sum(
                line.count(f'"cause": "{cause}"')
                for text in said
                for line in text.splitlines()
                if '"job rescued"' in line
            )
            for cause in ("death", "session", "lease", "timeout")
        },
        "longest gap without an effect, seconds": round(gap["seconds"] or 0, 1),
        "leaders": sum(text.count("This scheduler leads now") for text in said),
    }
