"""JSON and YAML as they are read: what the text means, where it stands, what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.config.document import Node, split_path, to_json
from fairlead.config.json_text import JSONError, looks_like_json, read_json
from fairlead.config.yaml_scalars import YAMLError
from fairlead.config.yaml_text import read_yaml

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ('{"a', "unexpected end of JSON input"),
        ("{a}", "invalid character 'a' looking for beginning of object key string"),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("'a'", r"invalid character '\'' looking for beginning of value"),
        ("tru", "invalid character ' ' in literal true (expecting 'e')"),
        ("nUll", "invalid character 'U' in literal null (expecting 'u')"),
        ("fals}", "invalid character '}' in literal false (expecting 'e')"),
        ("-", "invalid character ' ' in numeric literal"),
        ("01", "invalid character '1' after top-level value"),
        ("1.", "invalid character ' ' after decimal point in numeric literal"),
        ("1e+x", "invalid character 'x' in exponent of numeric literal"),
        ('"\\x"', "invalid character 'x' in string escape code"),
        ('"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        ('"a\nb"', "invalid character '\\n' in string literal"),
        ("é", "invalid character 'Ã' looking for beginning of value"),
    ],
)
def test_what_is_no_json(text: str, words: str) -> None:
    with pytest.raises(JSONError) as raised:
        read_json(text.encode())
    assert str(raised.value) == words


def test_a_json_error_names_its_line() -> None:
    with pytest.raises(JSONError) as raised:
        read_json(b'{\n "a": 1,\n "b": x\n}')
    assert raised.value.line == 3


def test_json_keeps_what_go_would_complain_about() -> None:
    node = read_json(b'{"b": 1, "a": 1.50, "b": 2}')
    assert [member.key for member in node.members] == ["b", "a", "b"]
    assert to_json(node) == '{"b":1,"a":1.50,"b":2}'
    assert node.find(("b",)) == Node("number", 1, "2")


@given(VALUES)
def test_json_is_read_as_python_reads_it(value: object) -> None:
    text = json.dumps(value)
    assert json.loads(to_json(read_json(text.encode()))) == json.loads(text)


def test_escapes() -> None:
    assert read_json(rb'"\u00e9\ud83d\ude00\ud800\n\/"').text == "é😀\ufffd\n/"


@pytest.mark.parametrize(
    ("text", "is_json"), [("{", True), (" \n{", True), ("[]", False), ("a: {}", False), ("", False)]
)
def test_only_a_brace_makes_json(text: str, is_json: bool) -> None:
    assert looks_like_json(text.encode()) is is_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", "null"),
        ("# nothing", "null"),
        ("yes", "true"),
        ("Off", "false"),
        ("y", "true"),
        ("'yes'", '"yes"'),
        ("yEs", '"yEs"'),
        ("~", "null"),
        ("0x1F", "31"),
        ("0o17", "15"),
        ("017", "15"),
        ("0b11", "3"),
        ("-0b11", "-3"),
        ("1_000", "1000"),
        ("+5", "5"),
        ("08", "8"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "18446744073709552000"),
        ("1e3", "1000"),
        (".5", "0.5"),
        ("1e400", '"1e400"'),
        ("2001-01-01", '"2001-01-01"'),
        ("2001-99-01", '"2001-99-01"'),
        ("10:30", '"10:30"'),
        ("!!str 5", '"5"'),
        ("!!float 5", "5"),
        ("!own 5", '"5"'),
        ("!!binary aGk=", '"hi"'),
        ("{b: 1, a: 2}", '{"a":2,"b":1}'),
        ("{1: a, true: b, 1.5: c}", '{"1":"a","1.5":"c","true":"b"}'),
        ("a: &x {b: 1}\nc: *x", '{"a":{"b":1},"c":{"b":1}}'),
        ("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}", '{"a":{"b":1,"c":2},"d":{"b":1,"c":3}}'),
        ("a: 1\n---\nb: 2", '{"a":1}'),
    ],
)
def test_what_yaml_means(text: str, value: str) -> None:
    assert to_json(read_yaml(text.encode()).root) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "yaml: line 1: did not find expected node content"),
        ("a: b\n\tc: d", "yaml: line 2: found a tab character that violates indentation"),
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("a: 1\nb: c: d", "yaml: line 2: mapping values are not allowed in this context"),
        ("a: *x", "yaml: unknown anchor 'x' referenced"),
        ("a: &x [*x]", "yaml: anchor 'x' value contains itself"),
        ("<<: 5", "yaml: map merge requires map or sequence of maps as the value"),
        ("{a: b}: c", 'yaml: invalid map key: map[interface {}]interface {}{"a":"b"}'),
        ("? [1, x]\n: c", 'yaml: invalid map key: []interface {}{1, "x"}'),
        (
            "~: {a: ~}",
            "unsupported map key of type: %!s(<nil>), key: <nil>,"
            ' value: map[interface {}]interface {}{"a":interface {}(nil)}',
        ),
        ("a: .inf", "json: unsupported value: +Inf"),
        ("a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        ("a: !!binary '*'", "yaml: !!binary value contains invalid base64 data"),
        ("a: \x01", "yaml: control characters are not allowed"),
    ],
)
def test_what_is_no_yaml(text: str, words: str) -> None:
    with pytest.raises(YAMLError) as raised:
        read_yaml(text.encode())
    assert str(raised.value) == words


def test_doubled_keys_are_noted_and_the_last_one_counts() -> None:
    document = read_yaml(b"a: 1\nb: {c: 1,\n  c: 2}\na: 3")
    assert document.doubled == (
        (3, 'key "c" already set in map'),
        (4, 'key "a" already set in map'),
    )
    assert to_json(document.root) == '{"a":3,"b":{"c":2}}'


def test_aliases_of_aliases_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(YAMLError, match="document contains excessive aliasing"):
        read_yaml("\n".join(lines).encode())


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(YAMLError, match="exceeded max depth"):
        read_yaml(b"[" * 5000)
    with pytest.raises(JSONError, match="exceeded max depth"):
        read_json(b"[" * 5000)


def test_nesting_by_aliases_is_refused() -> None:
    lists = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 900))
    maps = "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{<<: *a{i - 1}}}\n" for i in range(1, 900))
    for text in (lists, maps):
        with pytest.raises(YAMLError, match=r"exceeded max depth|excessive aliasing"):
            read_yaml(text.encode())


@pytest.mark.parametrize("read", [read_json, lambda data: read_yaml(data).root])
def test_what_is_less_deep_is_read(read: Callable[[bytes], Node]) -> None:
    text = "[" * 100 + "]" * 100
    assert to_json(read(text.encode())) == text


def test_values_know_their_lines() -> None:
    root = read_yaml(b"a:\n  - b: 1\n    c:\n      d: 2\n").root
    assert root.line_of(("a", 0, "c", "d")) == 4
    assert root.line_of(("a", 0, "c", "no", "such")) == 3
    assert root.line_of(("a", 7)) == 1


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("a", ["a"]),
        ("a.b[0].c", ["a", "b", 0, "c"]),
        ("a.values[0][k]", ["a", "values", 0, "k"]),
    ],
)
def test_paths(path: str, steps: list[str | int]) -> None:
    assert split_path(path) == steps


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_text_is_more_than_an_error(data: bytes) -> None:
    for read in (read_json, read_yaml):
        with suppress(JSONError, YAMLError):
            read(data)


@pytest.mark.parametrize("text", ["a: [b, c]", "a: b: c", "a: \x07", "- *x"])
def test_pyyaml_without_libyaml_will_do(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(text: str) -> str:
        try:
            return to_json(read_yaml(text.encode()).root)
        except YAMLError:
            return "no"

    wanted = told(text)
    monkeypatch.setattr("yaml.__with_libyaml__", False)
    assert told(text) == wanted
