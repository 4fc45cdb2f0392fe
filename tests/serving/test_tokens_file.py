"""The file of tokens: what is wrong in it is named, what is right is read, what is added is new."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from surplus.engine.errors import ConfigError
from surplus.engine.serving.new_token import add_token
from surplus.engine.serving.rights import Right
from surplus.engine.serving.tokens_file import read_tokens, tokens_in

DIGEST = "ab" * 32
GOOD = f'[[token]]\nname = "a"\nsha256 = "{DIGEST}"\nrights = ["infer"]\n'

WRONG = [
    ("[[token", "(at "),  # no TOML
    ("[[tokens]]\n", "unknown table 'tokens'; there are token, certificate"),
    ('[token]\nname = "a"\n', "[[token]] in two pairs of brackets"),
    (GOOD + "until = 1\n", "[[token]] 1 (a): unknown field 'until'"),
    (GOOD.replace('name = "a"\n', ""), "[[token]] 1: 'name' is missing"),
    (GOOD.replace('"a"', "1"), "[[token]] 1: 'name' must be a text"),
    (GOOD.replace(f'sha256 = "{DIGEST}"\n', ""), "(a): give either 'sha256'"),
    (GOOD + 'secret = "sixteen-letters-or-more"\n', "(a): give either 'sha256'"),
    (GOOD.replace(DIGEST, "ab"), "(a): 'sha256' must have 64 hexadecimal digits"),
    (GOOD.replace(f'sha256 = "{DIGEST}"', 'secret = "short"'), "(a): 'secret' must have at least"),
    (GOOD.replace('["infer"]', "[]"), "(a): 'rights' is missing, or empty"),
    (GOOD.replace('["infer"]', '"infer"'), "(a): 'rights' must be a list of texts"),
    (GOOD.replace("infer", "all"), "(a): 'rights' has 'all'; there are health, infer, "),
    (GOOD + "expires = 2027-01-01\n", "(a): 'expires' must be a date and time"),
    (GOOD + 'models = "resnet"\n', "(a): 'models' must be a list of texts"),
    (GOOD + GOOD.replace("ab", "cd"), "two tokens are called 'a'"),
    (
        '[[certificate]]\nname = "a"\nsecret = "x"\n',
        "[[certificate]] 1 (a): unknown field 'secret'",
    ),
]


@pytest.mark.parametrize(("text", "said"), WRONG, ids=[said for _, said in WRONG])
def test_what_is_wrong_is_named(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=r"^tokens\.toml: .*" + re.escape(said)):
        tokens_in(text, "tokens.toml")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--tokens .*none\.toml: No such file"):
        read_tokens(tmp_path / "none.toml")


def test_what_is_read() -> None:
    secret = "sixteen-letters-or-more"
    text = (
        f'[[token]]\nname = "a"\nsecret = "{secret}"\nrights = ["infer", "health"]\n'
        'models = ["m"]\nexpires = 1970-01-01T00:01:00Z\n'
        '[[certificate]]\nname = "spiffe://c/shop"\nrights = ["statistics"]\n'
    )
    token, certificate = tokens_in(text, "")
    assert token.digest == hashlib.sha256(secret.encode()).digest()
    assert (token.rights, token.models) == ((Right.INFER, Right.HEALTH), ("m",))
    assert token.ends_unix_s == 60
    assert (certificate.certificate, certificate.digest) == ("spiffe://c/shop", b"")


def test_a_new_token_is_its_owners_and_the_file_has_its_hash(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    first = add_token(path, "a", ("infer",), ("m",), 1.0)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    second = add_token(path, 'b "quoted"', ("health", "infer"), (), None)
    assert path.stat().st_mode & 0o777 == 0o640
    assert first not in path.read_text()
    a, b = read_tokens(path)
    assert [one.digest for one in (a, b)] == [
        hashlib.sha256(secret.encode()).digest() for secret in (first, second)
    ]
    assert (a.models, a.ends_unix_s > 0) == (("m",), True)
    assert (b.name, b.ends_unix_s) == ('b "quoted"', 0)


@pytest.mark.parametrize(
    ("name", "rights", "days", "said"),
    [
        ("a", ("infer",), None, "two tokens are called 'a'"),
        ("b", ("all",), None, "'rights' has 'all'"),
        ("b", ("infer",), 0.0, "--days must be above 0"),
        ("b", ("infer",), float("nan"), "--days must be above 0"),
    ],
)
def test_a_token_that_does_not_do_leaves_the_file(
    tmp_path: Path, name: str, rights: tuple[str, ...], days: float | None, said: str
) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text(GOOD)
    with pytest.raises(ConfigError, match=said):
        add_token(path, name, rights, (), days)
    assert path.read_text() == GOOD
