"""The kinds of messages there are: an application registers its own when it starts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.utils.functional import Promise

from notifications.errors import CategoryUnknown

if TYPE_CHECKING:
    from notifications.models import Notification


@dataclass(frozen=True, slots=True)
class Subject:
    """What a message is about, as its templates see it.

    ``path`` is where the recipient looks at it (made absolute when rendered). ``withheld``: the recipient
    must not learn its title, and gets the variant of the templates without it.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    path: str = "/"
    withheld: bool = False


@dataclass(frozen=True, slots=True)
class Category:
    """One kind of message.

    ``name`` is stored and stable; templates are ``notifications/<name>/{subject.txt,body.txt,body.html}``
    and, when it ``withholds`` (``Subject.withheld`` can be true), ``notifications/<name>/withheld/...``.
    ``label`` is what a person reads where they switch it off; one that is not ``suppressible`` cannot be.
    ``describe`` reads the subject NOW, for this recipient; None = it is gone. ``sample`` fills a preview.

    ``mint``: the message carries a credential. It answers the described subject with a fresh one in it, to be
    rendered and sent and kept nowhere. It is called in the transaction that begins a sending, so for every
    attempt anew, and for no preview and no decision. A mail server may take two messages of one Message-ID
    for one, and the newest credential is the one that works: each attempt needs a Message-ID of its own.
    """

    name: str
    label: str | Promise
    suppressible: bool
    describe: Callable[["Notification"], Subject | None]
    sample: Callable[[], Subject] = Subject
    mint: Callable[["Notification", Subject], Subject] | None = None
    withholds: bool = False


_categories: dict[str, Category] = {}


def register(category: Category) -> Category:
    """Make a category known. Registering a name again replaces it."""
    _categories[category.name] = category
    return category


def category(name: str) -> Category:
    """The category of this name. Raises ``CategoryUnknown``."""
    try:
        return _categories[name]
    except KeyError:
        raise CategoryUnknown(
            f"no application registered the category {name!r}; register it in the ready() of its app"
        ) from None


def categories() -> list[Category]:
    """All categories, by name."""
    return sorted(_categories.values(), key=lambda each: each.name)
