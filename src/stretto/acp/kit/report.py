"""Verdicts for programs: JSON, and JUnit's XML as CI systems read it."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from stretto.acp.kit.kit import Verdict
from stretto.types.json import JsonObject


def as_document(url: str, component: str, verdicts: Sequence[Verdict]) -> JsonObject:
    """Everything, with the counts before it."""
    return {
        "url": url,
        "component": component,
        "passed": sum(each.passed for each in verdicts),
        "failed": sum(bool(each.complaints) for each in verdicts),
        "skipped": sum(bool(each.skipped) for each in verdicts),
        "cases": [_case(each) for each in verdicts],
    }


def as_junit(component: str, verdicts: Sequence[Verdict]) -> str:
    """One test suite, a test case for each verdict (the schema that Jenkins' xunit plugin publishes)."""
    failed, skipped = sum(bool(v.complaints) for v in verdicts), sum(bool(v.skipped) for v in verdicts)
    counts = {"tests": len(verdicts), "failures": failed, "skipped": skipped, "errors": 0}
    took_s = sum(each.took_ms for each in verdicts) / 1000.0
    suite = Element("testsuite", {"name": f"acp {component}", **{n: str(c) for n, c in counts.items()}})
    suite.set("time", f"{took_s:.3f}")
    for each in verdicts:
        attributes = {
            "classname": f"acp.{each.case.group}",
            "name": each.case.name,
            "time": f"{each.took_ms / 1000:.3f}",
        }
        case = SubElement(suite, "testcase", attributes)
        if each.skipped:
            SubElement(case, "skipped", {"message": _xml(each.skipped)})
        if each.complaints:
            failure = SubElement(case, "failure", {"message": _xml(each.complaints[0])})
            failure.text = _xml("\n".join([*each.complaints, f"sent: {each.sent}", f"got:  {each.got}", each.case.why]))
    indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suite, encoding="unicode")


def _case(verdict: Verdict) -> JsonObject:
    told: JsonObject = {"name": verdict.case.name, "group": verdict.case.group.value}
    if verdict.skipped:
        return {**told, "verdict": "skipped", "why": verdict.skipped}
    if not verdict.complaints:
        return {**told, "verdict": "passed", "took_ms": round(verdict.took_ms, 3)}
    told |= {"verdict": "failed", "complaints": list(verdict.complaints), "sent": verdict.sent, "got": verdict.got}
    return {**told, "why": verdict.case.why, "took_ms": round(verdict.took_ms, 3)}


def _xml(text: str) -> str:
    """Without the characters that XML 1.0 cannot hold (section 2.2)."""
    return "".join(
        c if c in "\t\n" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff" else "?" for c in text
    )
