"""Pre-trains pico, or goes on from a model folder with another set. See README.md for the commands; `--work` keeps checkpoints, so a
stopped run goes on where it was."""

import argparse
import json
import math
import os
import time

import torch

from data import Packer, batches, frames
from export import export_folder
from model import build, image_features, normalise, pico_config
from tokenizer import TAGS, train_tokenizer
from tokenizers import Tokenizer
from transformers import Idefics3ForConditionalGeneration


CELL_CLASSES = 23


def tokenizer_texts(seed: int, count: int):
    for info, _ in frames("write-set.ts", "train", seed, 0, count):
        for b in info["branches"]:
            yield b["prompt"] + "\n"
            text = b["response"]
            for tag in TAGS:
                text = text.replace(tag, "\0")
            yield from text.split("\0")
            yield "User:"
            yield "Assistant:"
    # Words that are rare in the texts and should be one token all the same.
    for _ in range(count // 4):
        yield "".join(f" {n}" for n in range(28)) + " none. clockwise counterclockwise 90 180"


def forward(model, helper, packer, batch):
    """The loss of the responses, and that of a helper which names each cell from its image feature; the helper is thrown away."""
    features = image_features(model, normalise(batch["pixels"]))
    seen = torch.nn.functional.cross_entropy(helper(features).flatten(0, 1), batch["cells"].flatten())
    embeds = model.model.text_model.embed_tokens(batch["ids"])
    embeds = embeds.index_copy(1, torch.tensor(packer.image_at), features.reshape(len(embeds), -1, embeds.shape[-1]))
    mask = torch.zeros(batch["mask"].shape, dtype=embeds.dtype).masked_fill_(~batch["mask"], torch.finfo(embeds.dtype).min)
    hidden = model.model.text_model(
        inputs_embeds=embeds, attention_mask=mask, position_ids=batch["position"], use_cache=False
    ).last_hidden_state
    logits = model.lm_head(hidden[batch["rows"], batch["columns"]])
    return torch.nn.functional.cross_entropy(logits.float(), batch["targets"]), seen


def rate(update: int, o) -> float:
    """Warm-up, then level, then straight down to the last rate."""
    down = o.updates * (1 - o.cooldown)
    if update < o.warmup:
        return o.lr * (update + 1) / o.warmup
    if update < down:
        return o.lr
    return o.lr + (o.last_lr - o.lr) * (update - down) / (o.updates - down)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--work", required=True, help="folder for checkpoints and the log")
    a.add_argument("--out", required=True, help="the model folder, refreshed at each checkpoint")
    a.add_argument("--set", default="write-set.ts", help="the script that writes the set")
    a.add_argument("--pictures", type=int, default=1, help="pictures per frame of the set")
    a.add_argument("--start", help="a model folder to go on from, with its tokenizer")
    a.add_argument("--updates", type=int, default=5300)
    a.add_argument("--groups", type=int, default=22, help="frames per update")
    a.add_argument("--lr", type=float, default=1.2e-3)
    a.add_argument("--last-lr", type=float, default=5e-5)
    a.add_argument("--cooldown", type=float, default=0.25, help="part of the updates over which the rate goes down")
    a.add_argument("--warmup", type=int, default=200)
    a.add_argument("--decay", type=float, default=0.02)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--threads", type=int, default=2)
    a.add_argument("--every", type=int, default=300, help="updates between checkpoints")
    a.add_argument("--stop", type=int, default=0, help="stop after this update, for measuring")
    a.add_argument("--helper", type=float, default=0.5, help="weight of the helper loss on the image features")
    o = a.parse_args()
    torch.set_num_threads(o.threads)
    torch.manual_seed(o.seed)
    os.makedirs(o.work, exist_ok=True)
    words = os.path.join(o.start or o.work, "tokenizer.json")
    if not os.path.exists(words):
        train_tokenizer(tokenizer_texts(o.seed, 8000)).save(words)
    tokenizer = Tokenizer.from_file(words)
    packer = Packer(tokenizer, o.pictures)
    model = build(pico_config(tokenizer))
    if o.start:
        model.load_state_dict(Idefics3ForConditionalGeneration.from_pretrained(o.start, dtype=torch.float32).state_dict())
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {tokenizer.get_vocab_size()} tokens", flush=True)
    helper = torch.nn.Linear(model.config.text_config.hidden_size, CELL_CLASSES)
    parts = []  # the vision tower learns at half the rate; only matrices decay
    for vision in (False, True):
        own = [p for name, p in model.named_parameters() if ("vision_model" in name) == vision]
        if not vision:
            own += list(helper.parameters())
        for matrices in (False, True):
            part = [p for p in own if (p.ndim >= 2) == matrices]
            parts.append(dict(params=part, weight_decay=o.decay if matrices else 0.0, scale=0.5 if vision else 1.0))
    optimiser = torch.optim.AdamW(parts, lr=o.lr, betas=(0.9, 0.98), fused=True)
    update, seconds, questions = 0, 0.0, 0
    saved = os.path.join(o.work, "checkpoint.pt")
    if os.path.exists(saved):
        state = torch.load(saved, weights_only=False)
        model.load_state_dict(state["model"])
        helper.load_state_dict(state["helper"])
        optimiser.load_state_dict(state["optimiser"])
        update, seconds, questions = state["update"], state["seconds"], state["questions"]
    model.train()
    log = open(os.path.join(o.work, "log.jsonl"), "a")
    clock, total, cells, seen = time.time(), 0.0, 0.0, 0
    for batch in batches(packer, o.set, o.seed, update, o.groups):
        for group in optimiser.param_groups:
            group["lr"] = rate(update, o) * group["scale"]
        optimiser.zero_grad(set_to_none=True)
        tokens, pictures = sum(len(part["targets"]) for part in batch), sum(len(part["pixels"]) for part in batch)
        for part in batch:
            loss, seen_loss = forward(model, helper, packer, part)
            loss, seen_loss = loss * len(part["targets"]) / tokens, seen_loss * len(part["pixels"]) / pictures
            (loss + o.helper * seen_loss).backward()
            total += loss.item()
            cells += seen_loss.item()
            questions += part["questions"]
        norm = torch.nn.utils.clip_grad_norm_([*model.parameters(), *helper.parameters()], 1.0)
        if not math.isfinite(norm.item()):
            raise SystemExit(f"update {update}: the gradient is not finite")
        optimiser.step()
        update += 1
        seen += 1
        if seen == 50:
            seconds += time.time() - clock
            line = dict(update=update, loss=round(total / seen, 4), cells=round(cells / seen, 4), lr=round(rate(update, o), 6), seconds=round(seconds),
                        questions=questions, norm=round(norm.item(), 3), ms=round((time.time() - clock) / seen * 1000))
            print(json.dumps(line), flush=True)
            log.write(json.dumps(line) + "\n")
            log.flush()
            clock, total, cells, seen = time.time(), 0.0, 0.0, 0
        if update % o.every == 0 or update == o.updates:
            torch.save(dict(model=model.state_dict(), helper=helper.state_dict(), optimiser=optimiser.state_dict(), update=update, seconds=seconds,
                            questions=questions), saved + ".new")
            os.replace(saved + ".new", saved)
            export_folder(model, tokenizer, o.out)
        if update in (o.updates, o.stop):
            break
    print(f"done: {update} updates, {questions} questions, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
