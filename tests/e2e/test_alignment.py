"""The aligner on BANKING77 and on what is out of its scope: what the benchmark measures is what was promised.

The training takes a minute; no time is asserted, the benchmark tells it.
"""

import pytest

from benchmarks.alignment import BANKING, CLINC, align_figures


@pytest.mark.ci
@pytest.mark.skipif(not (BANKING.is_file() and CLINC.is_file()), reason="the shared data are not beside this checkout")
def test_banking77_is_aligned_and_what_is_out_of_scope_is_refused() -> None:
    figures = align_figures()
    assert figures["align_accuracy_forced"] >= 0.89
    assert figures["align_error_at_default"] <= 0.01
    assert figures["align_coverage_at_default"] >= 0.60
    assert figures["align_oos_refused"] >= 0.97
