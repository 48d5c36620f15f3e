"""What a check found, for people and programs."""

from collections.abc import Sequence

from musician.cli.context import App
from musician.cli.render import fields, lines, show
from musician.plugin.finding import Finding, Level


def report(app: App, findings: Sequence[Finding]) -> bool:
    """Print them; whether something must be mended."""
    failed = any(finding.level is Level.FAIL for finding in findings)
    show(app, {"ok": not failed, "findings": [fields(finding) for finding in findings]})
    if not app.json:
        width = max((len(finding.check) for finding in findings), default=0)
        for finding in findings:
            remedy = f": {finding.remedy}" if finding.remedy else ""
            lines(f"{finding.level:<4}  {finding.check:<{width}}  {finding.found}{remedy}")
    return failed
