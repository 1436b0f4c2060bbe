"""Ways to tell attention where a token stands, which it cannot know by itself: a weighted sum has no order.

Two are added to the token before attention (`Learned`, `sinusoidal`), one turns query and key (`rotary`), one is a bias
on the scores (`alibi`).
"""

from edgewise.attention.positions.alibi import alibi, slopes
from edgewise.attention.positions.learned import Learned
from edgewise.attention.positions.rotary import Pairing, rotary
from edgewise.attention.positions.sinusoidal import sinusoidal

__all__ = ["Learned", "Pairing", "alibi", "rotary", "sinusoidal", "slopes"]
