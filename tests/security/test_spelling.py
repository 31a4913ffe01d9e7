"""One spelling of paths and URLs for the owner's rules and for what they cover."""

import pytest

from agent.security.spelling import spelled_argument


@pytest.mark.parametrize(
    ("name", "told", "alike"),
    [
        ("path", "./diary/../diary//a", "diary/a"),
        ("folder", "//srv/diary", "/srv/diary"),
        ("url", "HTTPS://A.org:443/x/../%70rivate//a", "https://a.org/private/a"),
        ("url", "https://a.org/x%2F..%2fprivate%2Fa", "https://a.org/private/a"),
        ("url", "https://a.org", "https://a.org/"),
        ("url", "https://a.org?q=1", "https://a.org/?q=1"),
        ("url", "https://a.or*", "https://a.or*"),
        ("url", "https://a.org/b#c", "https://a.org/b"),
        ("url", "https://a.org/#/b*", "https://a.org/"),
        ("url", "no url", "no url"),
        ("url", "RTSP://Cam:8554/a//b", "rtsp://cam:8554/a/b"),
        ("text", "./diary/../a", "./diary/../a"),
        # As servers of the protocol's own collection and others name them
        ("destination", "/srv/pub/../private/a", "/srv/private/a"),
        ("source", "//srv/./private//a", "/srv/private/a"),
        ("source", "https://A.org/b/../c", "https://a.org/c"),
        ("repo_path", "/srv/pub/../private", "/srv/private"),
        ("filePath", "a/../b", "b"),
        ("outputDir", "/srv/pub/", "/srv/pub"),
        ("source", "mqtt", "mqtt"),
        ("source", "", ""),
        ("uri", "HTTP://x@A.org/b", "http://a.org/b"),
        ("pageUrl", "HTTP://A.org:80", "http://a.org/"),
    ],
)
def test_a_path_and_a_url_have_one_spelling(name: str, told: str, alike: str) -> None:
    assert spelled_argument(name, told) == alike
