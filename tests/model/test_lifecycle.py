"""Any story of any jobs, told by chance over two connections, is the one that the contract tells.

A story that is another one is printed as it was found, with its seed. ``MODEL_SEED=... MODEL_SHRINK=1`` finds it again
and makes it short, which takes minutes.
"""

import os
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import Lifecycle
from tests.model.world import World

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

BASE = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
    report_multiple_bugs=False,
    phases=list(Phase)
    if "MODEL_SHRINK" in os.environ
    else [Phase.explicit, Phase.reuse, Phase.generate],
)


@pytest.fixture
def machine() -> Iterator[type[Lifecycle]]:
    """The state machine over this test's database; it tells other stories each time."""
    chance = int(os.environ.get("MODEL_SEED", Random().getrandbits(32)))
    print("MODEL_SEED", chance)
    with World() as world:
        Lifecycle.world = world
        yield seed(chance)(Lifecycle)


def tell(machine: type[Lifecycle], lives: int, steps: int) -> None:
    chosen = settings(BASE, max_examples=lives, stateful_step_count=steps)
    run_state_machine_as_test(machine, settings=chosen)


def test_a_life_by_chance_is_the_one_the_contract_tells(machine: type[Lifecycle]) -> None:
    tell(machine, lives=50, steps=30)


@pytest.mark.slow
def test_more_lives_by_chance_are_the_ones_the_contract_tells(machine: type[Lifecycle]) -> None:
    tell(machine, lives=150, steps=30)


@pytest.mark.slow
def test_longer_lives_by_chance_are_the_ones_the_contract_tells(machine: type[Lifecycle]) -> None:
    tell(machine, lives=240, steps=50)
