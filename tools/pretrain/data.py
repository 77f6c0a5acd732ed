"""Reads what write-set.ts or write-triplets.ts writes: pictures and texts, straight from the pipe, and packs them into batches.

Several questions about one picture (or triplet) share one sequence: the picture's prefix comes once, and each question with its response is a
branch that sees the prefix and itself, at the positions it would have alone. That is the same arithmetic for fewer tokens.
"""

import json
import os
import struct
import subprocess
import threading
import queue

import numpy as np
import torch

from tokenizer import END, SUFFIX, prefix_text

HERE = os.path.dirname(os.path.abspath(__file__))
PIXELS = 64 * 64 * 3


def deno_command() -> list:
    binary = os.path.join(HERE, "../../node_modules/deno/bin.cjs")
    return ["node", binary] if os.path.exists(binary) else ["deno"]


def frames(script, *arguments):
    """Yields (json, uint8 pictures [n, 64, 64, 3]) from write-set.ts or write-triplets.ts."""
    command = deno_command() + ["run", "-A", os.path.join(HERE, script), *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=1 << 20)
    try:
        while True:
            head = process.stdout.read(4)
            if len(head) < 4:
                break
            size = struct.unpack("<I", head)[0]
            info = json.loads(process.stdout.read(size))
            yield info, np.frombuffer(process.stdout.read(PIXELS * info["pictures"]), dtype=np.uint8).reshape(-1, 64, 64, 3)
    finally:
        process.stdout.close()
        process.terminate()
        process.wait()


class Packer:
    """Turns frames into tensors for one update."""

    def __init__(self, tokenizer, pictures: int):
        self.tokenizer = tokenizer
        self.prefix = tokenizer.encode(prefix_text(pictures), add_special_tokens=False).ids
        self.pad = tokenizer.token_to_id("<|im_end|>")
        self.image_at = [i for i, token in enumerate(self.prefix) if token == tokenizer.token_to_id("<image>")]

    def encode(self, info) -> list:
        texts = []
        for b in info["branches"]:
            texts += [b["prompt"] + SUFFIX + b.get("given", ""), b["response"] + END]
        ids = [e.ids for e in self.tokenizer.encode_batch(texts, add_special_tokens=False)]
        return [(ids[i], ids[i + 1]) for i in range(0, len(ids), 2)]

    def length(self, branches) -> int:
        return len(self.prefix) + sum(len(q) + len(r) for q, r in branches)

    def batch(self, items) -> dict:
        """`items`: list of (branches, pictures, classes of their cells)."""
        p = len(self.prefix)
        width = max(self.length(branches) for branches, *_ in items)
        ids = np.full((len(items), width), self.pad, dtype=np.int64)
        segment = np.full((len(items), width), -1, dtype=np.int64)
        position = np.zeros((len(items), width), dtype=np.int64)
        rows, columns, targets = [], [], []
        for g, (branches, *_) in enumerate(items):
            ids[g, :p] = self.prefix
            segment[g, :p] = 0
            position[g, :p] = np.arange(p)
            at = p
            for b, (question, response) in enumerate(branches):
                n = len(question) + len(response)
                ids[g, at:at + n] = question + response
                segment[g, at:at + n] = b + 1
                position[g, at:at + n] = np.arange(p, p + n)
                first = at + len(question)
                rows += [g] * len(response)
                columns += range(first - 1, first - 1 + len(response))
                targets += response
                at += n
        seg = torch.from_numpy(segment)
        order = torch.arange(width)
        sees = (seg[:, None, :] == 0) | (seg[:, None, :] == seg[:, :, None])
        mask = (sees & (order[None, None, :] <= order[None, :, None]))[:, None]
        return dict(
            pixels=torch.from_numpy(np.concatenate([pictures for _, pictures, _ in items])), ids=torch.from_numpy(ids),
            position=torch.from_numpy(position), mask=mask, rows=torch.tensor(rows), columns=torch.tensor(columns),
            targets=torch.tensor(targets), questions=sum(len(b) for b, *_ in items),
            cells=torch.tensor([cells for *_, cells in items]),
        )


def batches(packer: Packer, script: str, seed: int, first: int, groups: int, pool: int = 8, ahead: int = 16):
    """Endless batches of about `groups` frames each, beginning with batch number `first`; a batch is a list of parts.

    Frames are taken in pools of `pool` batches. Pictures of digits have short texts, pictures of shapes long ones: each kind is
    sorted by length inside the pool and cut into `pool` parts, and a batch is one part of each. So little is padding, and every
    batch holds all tasks. A thread reads ahead.
    """
    line = queue.Queue(maxsize=ahead)
    start = first - first % pool

    def parts(items, generator):
        items.sort(key=lambda item: packer.length(item[0]))
        cuts = [len(items) * k // pool for k in range(pool + 1)]
        return [items[cuts[k]:cuts[k + 1]] for k in generator.permutation(pool)]

    def read():
        held, number = [], start
        for info, pictures in frames(script, "train", seed, start * groups, 2**30 - start * groups - 1):
            held.append((packer.encode(info), pictures, info["cells"]))
            if len(held) == groups * pool:
                generator = np.random.default_rng([seed, number])
                digits = parts([item for item in held if max(item[2]) > 12], generator)
                shapes = parts([item for item in held if max(item[2]) <= 12], generator)
                for both in zip(digits, shapes):
                    if number >= first:
                        line.put([packer.batch(part) for part in both if part])
                    number += 1
                held = []

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield line.get()
