"""What incrementals need: an archive restores only with every ancestor, up to a full one."""

from collections.abc import Iterable, Mapping

from backups.retention.archives import Archive, State, age


def unbroken(good: Mapping[str, Archive]) -> set[str]:
    """The ids whose every ancestor is among the good ones. A circle of parents leads to no full one: broken."""
    known: dict[str, bool] = {}
    for first in good:
        path: list[str] = []
        here: str | None = first
        while here is not None and here in good and here not in known:
            known[here] = False  # who comes by here again goes in a circle
            path.append(here)
            here = good[here].parent
        ends_well = here is None or known.get(here, False)
        known.update(dict.fromkeys(path, ends_well))
    return {each for each, ends_well in known.items() if ends_well}


def needed(staying: Iterable[Archive], archives: Mapping[str, Archive]) -> dict[str, list[str]]:
    """The ancestors of all that stay, each with those that continue it, newest first.

    What runs or waits for its next attempt needs its parent too; what failed will never be restored.
    """
    children: dict[str, list[Archive]] = {}
    stays = {each.id: each for each in staying}
    unseen = list(stays.values())
    while unseen:
        child = unseen.pop()
        if child.state is State.FAILED or child.parent is None or child.parent not in archives:
            continue
        children.setdefault(child.parent, []).append(child)
        if child.parent not in stays:
            stays[child.parent] = archives[child.parent]
            unseen.append(archives[child.parent])
    return {
        parent: [each.id for each in sorted(of_it, key=age, reverse=True)]
        for parent, of_it in children.items()
    }
