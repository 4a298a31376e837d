"""What archives are, told to people and to programs."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from django.template.defaultfilters import filesizeformat

from backups.archive.listing import Found
from backups.archive.manifest import Manifest
from backups.archive.names import DUMP
from backups.archive.verify import Progress, Report

PLAIN = "none: whoever can write to the target may have made it"


def size(count: int) -> str:
    """Bytes, as people say them."""
    return filesizeformat(count).replace("\xa0", " ")


def found_line(found: Found, parent: str | None) -> str:
    after = f", after {parent}" if parent else ""
    return f"{found.state:<10}  {found.name}  {found.objects} objects, {size(found.bytes)}{after}"


def found_json(found: Found, parent: str | None) -> dict[str, Any]:
    """``scope``, ``started``, ``mode`` and ``parent`` only for what is ours."""
    told: dict[str, Any] = {
        "name": found.name,
        "state": found.state,
        "objects": found.objects,
        "bytes": found.bytes,
    }
    if archive := found.archive:
        told |= {
            "scope": archive.scope,
            "started": archive.started.isoformat(),
            "mode": archive.mode,
            "parent": parent,
        }
    return told


def report_lines(report: Report) -> Iterator[str]:
    yield f"{'sound' if report.sound else 'NOT SOUND'}  {report.name}"
    for finding in report.findings:
        yield f"  {finding.code}: {finding.text}"
    for stray in report.strays:
        yield f"  not of the archive, and no harm: {stray}"


def report_json(report: Report) -> dict[str, Any]:
    return {
        "name": report.name,
        "sound": report.sound,
        "findings": [asdict(each) for each in report.findings],
        "strays": report.strays,
    }


def progress_line(name: str, at: Progress) -> str:
    read = f"{size(at.bytes)} of {size(at.of_bytes)}"
    return f"{name}: {at.members} of {at.of_members} members, {read}"


def manifest_lines(manifest: Manifest) -> Iterator[str]:
    for name, value in _facts(manifest):
        yield f"{name:<12}{value}"


def _facts(manifest: Manifest) -> Iterator[tuple[str, object]]:
    encryption, parent = manifest.encryption, manifest.parent
    yield "archive", manifest.archive
    yield "written by", f"{manifest.product.name} {manifest.product.version}"
    yield "scope", manifest.scope
    yield "mode", manifest.mode + (f", after {parent.name}" if parent else "")
    yield "started", manifest.started.isoformat()
    yield "snapshot", manifest.snapshot.at.isoformat()
    yield "encryption", f"{encryption.algorithm}, key {encryption.key_id}" if encryption else PLAIN
    yield "media", f"{manifest.media.count}, {size(manifest.media.bytes)}"
    if manifest.files:
        missing = (
            f", {manifest.media.missing} not there to be taken" if manifest.media.missing else ""
        )
        yield "files", f"{manifest.files} named by rows{missing}"
    for member in manifest.members:
        if member.path == DUMP:
            yield "database", size(member.bytes)
    for label, count in manifest.counts.items():
        yield "rows", f"{label} {count}"
