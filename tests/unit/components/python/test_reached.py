"""Which files of a folder some code is made of: read, never run."""

from pathlib import Path

import pytest

from stretto.components.python.reached import files_of_module, reached

HELPER = {"helper.py": "N = 1\n"}


def laid(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def found(folder: Path, *starts: str) -> set[str]:
    return {str(file.relative_to(folder)) for file in reached([folder / each for each in starts], folder)}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"main.py": "import helper\n", **HELPER}, {"helper.py"}, id="a module"),
        pytest.param({"main.py": "from helper import N as M\n", **HELPER}, {"helper.py"}, id="a name of one"),
        pytest.param({"main.py": "def f():\n    import helper\n", **HELPER}, {"helper.py"}, id="in a function"),
        pytest.param(
            {"main.py": "try:\n    import helper\nexcept ImportError:\n    helper = None\n", **HELPER},
            {"helper.py"},
            id="where it may be missing",
        ),
        pytest.param({"main.py": "import json, numpy, helper\n", **HELPER}, {"helper.py"}, id="beside installed ones"),
        pytest.param(
            {"main.py": "import one\n", "one.py": "import two\n", "two.py": ""}, {"one.py", "two.py"}, id="far"
        ),
        pytest.param(
            {"main.py": "import one\n", "one.py": "import two\n", "two.py": "import one\n"},
            {"one.py", "two.py"},
            id="in a circle",
        ),
        pytest.param({"main.py": "import main\n"}, set(), id="itself"),
        pytest.param({"main.py": "", **HELPER}, set(), id="none"),
        pytest.param(
            {"main.py": "import lib.net\n", "lib/__init__.py": "", "lib/net.py": "", "lib/other.py": ""},
            {"lib/__init__.py", "lib/net.py"},
            id="in a package",
        ),
        pytest.param(
            {"main.py": "from lib import net, SIZE\n", "lib/__init__.py": "SIZE = 1\n", "lib/net.py": ""},
            {"lib/__init__.py", "lib/net.py"},
            id="from a package",
        ),
        pytest.param(
            {
                "main.py": "import lib.deep.net\n",
                "lib/__init__.py": "",
                "lib/deep/__init__.py": "from .. import near\nfrom ..far import X\n",
                "lib/deep/net.py": "from . import beside\nfrom .more import *\n",
                "lib/deep/beside.py": "",
                "lib/deep/more.py": "",
                "lib/near.py": "",
                "lib/far.py": "X = 1\n",
            },
            {
                *("lib/__init__.py", "lib/deep/__init__.py", "lib/deep/net.py", "lib/deep/beside.py"),
                *("lib/deep/more.py", "lib/near.py", "lib/far.py"),
            },
            id="relatively",
        ),
        pytest.param({"main.py": "from lib import net\n", "lib/net.py": ""}, {"lib/net.py"}, id="no __init__"),
        pytest.param(
            {"main.py": "import both\n", "both.py": "", "both/__init__.py": ""},
            {"both/__init__.py"},
            id="package first",
        ),
        pytest.param({"main.py": "import fast\n", "fast.abi3.so": "\0ELF"}, {"fast.abi3.so"}, id="compiled"),
        pytest.param(
            {"main.py": "import old\n", "old.py": "print 1\nimport helper\n", **HELPER}, {"old.py"}, id="broken"
        ),
        pytest.param({"main.py": "import helper\nDAY = '\\d'\n", **HELPER}, {"helper.py"}, id="of which Python warns"),
        pytest.param({"main.py": "import zero\n", "zero.py": "a\0b"}, {"zero.py"}, id="with a null"),
        pytest.param({"main.py": "open('words.txt')\n", "words.txt": "a"}, set(), id="data"),
        pytest.param(
            {"main.py": "import importlib\nimportlib.import_module('helper')\n", **HELPER}, set(), id="unseen"
        ),
        pytest.param({"main.py": "from . import helper\n", **HELPER}, {"helper.py"}, id="relatively at the top"),
        pytest.param({"main.py": "from ................. import helper\n", **HELPER}, set(), id="from far above"),
    ],
)
def test_a_file_reaches_what_its_imports_name(tmp_path: Path, files: dict[str, str], expected: set[str]) -> None:
    assert found(laid(tmp_path, files), "main.py") == {"main.py", *expected}


def test_nothing_outside_of_the_folder_is_reached(tmp_path: Path) -> None:
    laid(
        tmp_path,
        {"outside.py": "", "inside/main.py": "import outside\nfrom ..outside import x\nfrom .. import outside\n"},
    )
    assert found(tmp_path / "inside", "main.py") == {"main.py"}


def test_files_that_are_not_there_are_left_out(tmp_path: Path) -> None:
    assert found(tmp_path, "main.py") == set()
    assert list(files_of_module(["no", "such"], tmp_path)) == []
