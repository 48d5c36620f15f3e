"""What is taken out of everything that is written down of an agent."""

import pytest

from musician.processes.redaction import Redactor, is_cut

KEY = (
    "-----BEGIN OPENSSH PRIVATE KEY-----\n"
    "b3BlbnNzaC1rZXktdjEAAAAA\nAAAAB3NzaC1yc2EAAAADAQAB\n"
    "-----END OPENSSH PRIVATE KEY-----"
)


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "GITHUB_TOKEN",
        "DB_PASSWORD",
        "npm_config__auth",
        "AWS_SECRET_ACCESS_KEY",
        "apikey",
    ],
)
def test_the_value_of_a_variable_that_is_named_like_a_secret_is_named_instead(name: str) -> None:
    assert Redactor({name: "correct horse battery"})("it is 'correct horse battery'.") == f"it is '[{name}]'."


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SSH_AUTH_SOCK", "/run/user/1000/keyring/ssh"),
        ("KEYBOARD", "qwerty-layout"),
        ("MONKEY", "a long value"),
        ("API_KEY", "short"),
        ("TOKEN", ""),
        ("HOME", "/home/somebody"),
    ],
)
def test_what_is_no_secret_stands(name: str, value: str) -> None:
    assert Redactor({name: value})(f"value: {value}.") == f"value: {value}."


def test_the_longer_of_two_that_begin_alike_is_found_and_a_key_of_several_lines_line_by_line() -> None:
    redact = Redactor({"A_TOKEN": "abcdefgh", "B_TOKEN": "abcdefghijkl", "SIGN_KEY": KEY})
    assert redact("abcdefghijkl abcdefgh") == "[B_TOKEN] [A_TOKEN]"
    assert redact("AAAAB3NzaC1yc2EAAAADAQAB") == "[SIGN_KEY]"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("key sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAA.", "key [token]."),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[token]"),
        ("AKIAIOSFODNN7EXAMPLE", "[token]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghij", "[token]"),
        ("Authorization: Bearer abcdefghijklmnop1234", "Authorization: Bearer [a secret]"),
        ("git clone https://me:hunter22@example.org/x", "git clone https://[password]@example.org/x"),
        ("export DB_PASSWORD='hunter2hunter2'", "export DB_PASSWORD='[a secret]'"),
        (f"a {KEY} b", "a [private key] b"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA", "[private key]"),
    ],
)
def test_what_looks_like_a_token_is_taken_out_whatever_it_comes_from(text: str, clean: str) -> None:
    assert Redactor({})(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "sk-learn is a library; sk-1",
        "token = get_token(request)",
        "the password: is asked for",
        "https://example.org:8080/a@b",
        "f1e2d3c4b5a697887766554433221100ffeeddcc",
        "API_KEY=[a secret]",
    ],
)
def test_ordinary_text_stands(text: str) -> None:
    assert Redactor({})(text) == text


def test_a_key_is_cut_until_its_end_is_there() -> None:
    half = KEY.partition("AAAAB3")[0]
    assert (is_cut(half), is_cut(KEY), is_cut(f"{KEY}\n{half}"), is_cut("")) == (True, False, True, False)
