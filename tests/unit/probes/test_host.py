"""Load and memory of the machine that the tests run on."""

import pytest

from stretto.probes.host import HostProbe
from stretto.types.errors import MissingExtraError
from stretto.types.resources import HOST


async def test_it_tells_of_this_machine() -> None:
    probe = HostProbe()
    first = await probe.read()
    assert first.keys() == {each.name for each in HOST}
    assert not [each.nonsense(first[each.name]) for each in HOST if each.nonsense(first[each.name])]
    assert (await probe.read()).keys() == first.keys()
    await probe.close()


def test_without_psutil_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.probes.host.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"\[probes\]"):
        HostProbe()
