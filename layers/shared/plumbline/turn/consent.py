"""A yes or a no to a proposal, in the reader's words."""

from __future__ import annotations

import re

from plumbline.turn.phrases import plain_words

_YES = re.compile(
    r"(?:yes|yes please|yeah|yep|sure|ok|okay|please do|go ahead|do it|please connect me"
    r"|connect me|sounds good|that would be great|i'd like that|of course|absolutely)"
    r"(?:[,!. ]+(?:please|thanks|thank you|do|go ahead|connect me))*[.! ]*"
)
_NO_WORDS = (
    r"(?:no|no thanks|no thank you|nope|nah|not now|not yet|maybe later|later|i'd rather not"
    r"|don't|please don't|no need|not interested|stay with you|thanks|thank you|please)"
)
_NO = re.compile(rf"(?!thanks|thank you|please[,!. ]*$){_NO_WORDS}(?:[,!. ]+{_NO_WORDS})*[.! ]*")


def detect_consent(query: str) -> bool | None:
    """True or False where the whole message is a yes or a no to a proposal, else None."""
    words = plain_words(query)
    if _YES.fullmatch(words):
        return True
    return False if _NO.fullmatch(words) else None
