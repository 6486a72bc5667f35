import subprocess
import sys

HEAVY = ("jsonschema_rs", "numpy", "pydantic", "aiohttp", "mcp", "cel")


def test_reading_a_workflow_loads_nothing_heavy() -> None:
    code = (
        "import sys; from stretto.spec.workflow import parse_workflow; import stretto.spec.published;"
        "parse_workflow('stretto: 1\\ncontract: {input: {a: int}}\\nsteps: [{name: a, component: b}]');"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
