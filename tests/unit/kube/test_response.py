"""HTTP/1.1 answers, whole and broken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.response import MAX_HEAD, Answer, MalformedError, ResponseParser

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunked(*chunks: bytes, trailer: bytes = b"") -> bytes:
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return CHUNKED + body + b"0\r\n" + trailer + b"\r\n"


def sized(body: bytes, status: int = 201, *headers: bytes) -> bytes:
    lines = b"".join(header + b"\r\n" for header in headers)
    return b"HTTP/1.1 %d X\r\n%sContent-Length: %d\r\n\r\n%s" % (status, lines, len(body), body)


def test_the_usual_answer() -> None:
    answer = ResponseParser().feed(sized(b"{}"))
    assert answer == Answer(201, b"{}", close=False, retry_after=None)


def test_headers_in_any_case_are_headers() -> None:
    data = b"HTTP/1.1 429 X\r\nretry-AFTER:  7 \r\nCONNECTION: Close\r\ncontent-LENGTH: 0\r\n\r\n"
    assert ResponseParser().feed(data) == Answer(429, b"", close=True, retry_after="7")


def test_an_old_server_closes_unless_it_says_otherwise() -> None:
    head = b"HTTP/1.0 200 OK\r\n%sContent-Length: 0\r\n\r\n"
    assert ResponseParser().feed(head % b"") == Answer(200, b"", True, None)
    kept = ResponseParser().feed(head % b"Connection: keep-alive\r\n")
    assert kept == Answer(200, b"", False, None)


def test_interim_answers_are_passed_over() -> None:
    parser = ResponseParser()
    assert parser.feed(b"HTTP/1.1 100 Continue\r\n\r\n") is None
    answer = parser.feed(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + sized(b"ab"))
    assert answer == Answer(201, b"ab", False, None)


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_that_has_no_body(status: int) -> None:
    data = b"HTTP/1.1 %d X\r\n\r\n" % status
    assert ResponseParser().feed(data) == Answer(status, b"", False, None)


def test_chunks_are_joined_and_trailers_dropped() -> None:
    answer = ResponseParser().feed(chunked(b"abc", b"d" * 300, trailer=b"X-Sum: 1\r\nY: 2\r\n"))
    assert answer == Answer(200, b"abc" + b"d" * 300, False, None)


def test_a_chunk_may_carry_an_extension() -> None:
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n"
    assert ResponseParser().feed(data) == Answer(200, b"abc", False, None)


def test_a_body_without_a_length_lasts_until_the_end() -> None:
    parser = ResponseParser()
    assert parser.feed(b"HTTP/1.1 502 Bad Gateway\r\n\r\n<html>") is None
    assert parser.feed(b"</html>") is None
    assert parser.end() == Answer(502, b"<html></html>", True, None)


def test_a_body_that_is_cut_off_is_no_answer() -> None:
    parser = ResponseParser()
    assert parser.feed(sized(b"abcdef")[:-1]) is None
    assert parser.started
    assert parser.end() is None
    parser = ResponseParser()
    assert parser.feed(chunked(b"abc")[:-2]) is None
    assert parser.end() is None


@pytest.mark.parametrize(
    "data",
    [
        b"garbage",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1_0\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabcd",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * 5000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
        chunked(b"a") + b"HTTP/1.1",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * MAX_HEAD,
        b"HTTP/1.1 099 X\r\n\r\n",
    ],
)
def test_what_is_no_answer_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedError):
        ResponseParser().feed(data)


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40).map(sized),
            st.lists(st.binary(min_size=1, max_size=40)).map(lambda parts: chunked(*parts)),
        ),
        max_size=4,
    ),
    st.data(),
)
def test_where_the_cuts_are_does_not_matter(answers: list[bytes], data: st.DataObject) -> None:
    parser = ResponseParser()
    for whole in answers:
        wanted = ResponseParser().feed(whole)
        got: Answer | None = None
        rest = whole
        while rest:
            assert got is None
            size = data.draw(st.integers(1, len(rest)))
            got = parser.feed(rest[:size])
            rest = rest[size:]
        assert got == wanted
        assert got is not None


@given(st.binary(max_size=200))
def test_no_bytes_crash_it(tail: bytes) -> None:
    for head in (b"", b"HTTP/1.1 200 OK\r\n", CHUNKED):
        parser = ResponseParser()
        try:
            parser.feed(head + tail)
        except MalformedError:
            continue
