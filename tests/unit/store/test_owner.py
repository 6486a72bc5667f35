import os
import subprocess
import sys

import pytest

from stretto.store.owner import described, named, new_owner, surely_gone


def test_two_owners_differ_even_in_one_process() -> None:
    assert new_owner() != new_owner()


def test_a_living_process_is_not_gone() -> None:
    assert not surely_gone(new_owner())
    assert not surely_gone(named(new_owner(), "resume"))


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="only /proc tells that a process has ended")
def test_an_ended_process_is_gone() -> None:
    code = "from stretto.store.owner import new_owner; print(new_owner())"
    owner = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert surely_gone(owner)
    assert surely_gone(named(owner, "resume"))


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="only /proc tells that a process has ended")
def test_a_process_id_that_was_given_out_again_is_told_apart() -> None:
    host, kernel, pid, _, nonce = new_owner().split("/")
    assert surely_gone(f"{host}/{kernel}/{pid}/1/{nonce}")


@pytest.mark.parametrize("owner", ["", "somebody", "host//123/456/abcd", "host/another-kernel/123/456/abcd"])
def test_what_cannot_be_told_is_left_to_the_lease(owner: str) -> None:
    assert not surely_gone(owner)


def test_people_are_told_the_process_and_the_name() -> None:
    assert described("host/k/12/34/ab") == "process 12 on host"
    assert described(named("host/k/12/34/ab", "night/shift")) == "process 12 on host ('night-shift')"
    assert described("somebody") == "'somebody'"
