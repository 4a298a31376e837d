"""How the living workers stand: whether they listen, and so whether others see it when they die."""

from collections.abc import Iterator

from hubqueue.doctor.finding import Finding, span, warning, well
from hubqueue.doctor.patient import Patient

ALIVE = """
SELECT count(*), count(*) FILTER (WHERE NOT sessions_visible), count(DISTINCT host),
    min(host || ':' || pid) FILTER (WHERE NOT sessions_visible)
FROM hubqueue_worker WHERE lease_until > hubqueue_now()
"""


def look(patient: Patient) -> Iterator[Finding]:
    """By what they wrote down when they started."""
    with patient.django() as cursor:
        cursor.execute(ALIVE)
        alive, deaf, hosts, one = cursor.fetchone()
    if deaf:
        yield warning(
            "workers_do_not_listen",
            expected="workers that listen to the doorbell",
            found=f"{deaf} of {alive} do not ({one}{' and others' if deaf > 1 else ''}): they poll every"
            f" {span(patient.conf.poll_without_listen)}, and their death is seen only by the lease, after"
            f" {span(patient.conf.lease)}",
            advice="see to the direct way first, then restart them",
        )
    elif alive:
        yield well(
            "workers", f"{alive} alive on {hosts} host{'' if hosts == 1 else 's'}, all listening"
        )
