"""Training: a rung of the ladder learns a text, and then writes.

`train` makes a run folder, `resume` goes on with one that was cut off, `load` reads its model back. `find` finds a
text, `Recipe` says how to train, `How` where and how fast; `fit` trains a model that someone holds, without a folder.
"""

from edgewise.training.checkpoint import Checkpoint, Progress
from edgewise.training.choices import How, choose_device
from edgewise.training.data import Corpus, windows
from edgewise.training.folder import About, Loaded, RunFolder, load, slim
from edgewise.training.loop import fit
from edgewise.training.recipe import Recipe
from edgewise.training.run import Run, resume, train
from edgewise.training.sample import Piece, Request, sample, stream
from edgewise.training.shakespeare import SHA256
from edgewise.training.sizes import SIZES, named_size
from edgewise.training.step import Step
from edgewise.training.texts import Text, find
from edgewise.training.tokens import BytePairs, Characters, Tokenizer
from edgewise.training.watch import Evaluated, History, Stepped, Watcher

__all__ = [
    "SHA256",
    "SIZES",
    "About",
    "BytePairs",
    "Characters",
    "Checkpoint",
    "Corpus",
    "Evaluated",
    "History",
    "How",
    "Loaded",
    "Piece",
    "Progress",
    "Recipe",
    "Request",
    "Run",
    "RunFolder",
    "Step",
    "Stepped",
    "Text",
    "Tokenizer",
    "Watcher",
    "choose_device",
    "find",
    "fit",
    "load",
    "named_size",
    "resume",
    "sample",
    "slim",
    "stream",
    "train",
    "windows",
]
