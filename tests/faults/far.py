"""A queue at work behind a bad network."""

from tests.faults.load import BRISK
from tests.faults.site import Site
from tests.support.hub import Hub
from tests.support.postgres import Cluster
from tests.support.proxy import Proxy

# A short freeze is well within the timeout and the lease.
SECONDS = BRISK | {"LEASE": 8, "TRANSACTIONAL_TIMEOUT": 6}


class Far:
    """A queue at work whose workers reach PostgreSQL through a proxy, and whose enqueuers need none."""

    def __init__(self, hub: Hub, postgres: Cluster) -> None:
        self.proxy = Proxy(postgres.port).__enter__()
        name = hub.url.partition("?")[0].rpartition("/")[2]
        url = f"postgres://{postgres.user}@127.0.0.1:{self.proxy.port}/{name}"
        self.site = Site(hub, seconds=SECONDS, DATABASE_URL=url)
        self.site.ready()
        # From here on a fault meets workers at work, not their start.
        self.site.load.goes_on(40)
        self.pids = self.site.trees[0].lasting()

    def close(self) -> None:
        self.site.close()
        self.proxy.__exit__(None, None, None)
