"""What is sealed opens with this installation's keys and for its own purpose only."""

import pytest

from notifications.errors import SealBroken
from notifications.sealing import seal, unseal


def test_what_is_sealed_opens_for_its_purpose_only():
    sealed = seal("whsec_ä", "a")
    assert "whsec" not in sealed
    assert sealed != seal("whsec_ä", "a")
    assert unseal(sealed, "a") == "whsec_ä"
    for text, purpose in ((sealed, "b"), (sealed.swapcase(), "a"), ("", "a"), ("nonsense", "a")):
        with pytest.raises(SealBroken, match="SECRET_KEY_FALLBACKS"):
            unseal(text, purpose)


def test_a_changed_key_opens_what_the_old_one_sealed_while_it_is_a_fallback(settings):
    settings.SECRET_KEY = "old" * 20
    sealed = seal("secret", "a")
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new" * 20, ["old" * 20]
    assert unseal(sealed, "a") == "secret"
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(SealBroken):
        unseal(sealed, "a")
