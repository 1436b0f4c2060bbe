"""From tokens to text as they come: what may still change is held back.

Two things may: the bytes of a character that has not come whole, and letters that may be the beginning of a stop text.
"""

from collections.abc import Sequence

from edgewise.training.tokens import Tokenizer

__all__ = ["Writer"]

UNKNOWN = "\ufffd"  # what decoding puts for bytes that are no character, a part of one among them


class Writer:
    """The text of one sequence.

    Args:
        tokenizer: what makes text of tokens.
        stop: texts at the first of which the sequence ends; it is not part of what is written.

    Example:
        >>> from edgewise.training.tokens import Characters
        >>> writer = Writer(Characters("ab."), stop=("..",))
        >>> [writer.write([one]) for one in (0, 2, 1, 2, 2)], writer.stopped
        (['a', '', '.b', '', ''], True)
    """

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str] = ()) -> None:
        self.stopped = False
        self._tokenizer = tokenizer
        self._stop = tuple(stop)
        self._tokens: list[int] = []  # from a little before the first that is not written yet
        self._written = 0  # how many of these are
        self._held = ""  # text that may be the beginning of a stop text

    def write(self, tokens: Sequence[int]) -> str:
        """Take the next tokens and return the text that is certain now; nothing after a stop text."""
        if self.stopped:
            return ""
        self._tokens.extend(tokens)
        text = self._decode()
        if text.endswith(UNKNOWN):
            return ""
        # Some tokenizers write a token otherwise at the beginning (no space before the first word), so the tokens that
        # were written last stay as what stands before the next.
        del self._tokens[: self._written]
        self._written = len(self._tokens)
        return self._before_stop(text)

    def close(self) -> str:
        """Return what was held back; no tokens come any more."""
        if self.stopped:
            return ""
        rest = self._before_stop(self._decode()) + self._held
        self._tokens, self._written, self._held = [], 0, ""
        return rest

    def _decode(self) -> str:
        if not self._written:
            return self._tokenizer.decode(self._tokens)
        before = self._tokenizer.decode(self._tokens[: self._written])
        return self._tokenizer.decode(self._tokens)[len(before) :]

    def _before_stop(self, text: str) -> str:
        if not self._stop:
            return text
        text = self._held + text
        ends = [end for end in (text.find(stop) for stop in self._stop) if end >= 0]
        if ends:
            self.stopped, self._held = True, ""
            return text[: min(ends)]
        begun = max(_begun(text, stop) for stop in self._stop)
        self._held = text[len(text) - begun :]
        return text[: len(text) - begun]


def _begun(text: str, stop: str) -> int:
    """Return how many letters at the end of `text` are the beginning of `stop`."""
    longest = min(len(text), len(stop) - 1)
    return next((length for length in range(longest, 0, -1) if text.endswith(stop[:length])), 0)
