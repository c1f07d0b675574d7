"""Messages that are taken for formats: what Go's fmt.Sprintf makes of each, recorded from it."""

import pytest

from fairlead.config.golang import as_format

PRINTED = {
    "no sign": "no sign",
    "a % b": "a %!b(MISSING)",
    "100%": "100%!(NOVERB)",
    "%%": "%",
    "% %": "%",
    "%5%": "%",
    "%5d x": "%!d(MISSING) x",
    "%-+ #0.3f": "%!f(MISSING)",
    "%é": "%!é(MISSING)",
    "50%, 2": "50%!,(MISSING) 2",
    "%v%v": "%!v(MISSING)%!v(MISSING)",
    "%1.2.3d": "%!.(MISSING)3d",
    "%\n": "%!\n(MISSING)",
}


@pytest.mark.parametrize("text", PRINTED)
def test_it_is_printed_as_go_does(text: str) -> None:
    assert as_format(text) == PRINTED[text]
