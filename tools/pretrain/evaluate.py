"""Measures an exported model folder on held-out questions and, on request, writes the figures into its model card.

    python evaluate.py ../../public/models/pico --per-family 125 --split test --card
    python evaluate.py ../../public/models/pico-mico --set write-triplets.ts --per-family 400 --split test --card

Greedy and sampled (temperature 1) responses of at most 48 tokens, decoded by the transformers model in batches of equally long
prompts. Right, careful and formatted are judged by the product's own code (judge.ts).
"""

import argparse
import json
import os
import subprocess
import time
from collections import defaultdict

import torch
from tokenizers import Tokenizer
from transformers import Idefics3ForConditionalGeneration

from data import HERE, deno_command, frames
from model import normalise
from tokenizer import prompt_text

LONGEST = 48
HASTY_START = "<think> a quick look says"
# name, phrasing, temperature, how the response is made to begin, more arguments for the set; sampled plain questions are asked often
CONDITIONS = [
    ("plain, greedy", "plain", 0.0, "", ()),
    ("plain, sampled at T = 1", "plain", 1.0, "", ()),
    ("steps, greedy", "steps", 0.0, "", ()),
    ("steps, sampled at T = 1", "steps", 1.0, "", ()),
]
MORE = {
    "write-set.ts": [
        ("plain, made to look quickly, greedy", "plain", 0.0, HASTY_START, ()),
        ("steps, made to look quickly, greedy", "steps", 0.0, HASTY_START, ()),
    ],
    "write-triplets.ts": [
        ("steps, greedy, no crop", "steps", 0.0, "", (1, 1)),
        ("steps, greedy, views of 0.7 to 0.85", "steps", 0.0, "", (0.7, 0.85)),
        ("steps, greedy, views of 0.5 to 0.7", "steps", 0.0, "", (0.5, 0.7)),
    ],
}


@torch.no_grad()
def respond(model, prompts, pictures, end, temperature=0.0, generator=None, rows=128):
    """Token ids of one response per prompt. Prompts of the same length share a batch, so there is no padding."""
    out = [None] * len(prompts)
    by_length = defaultdict(list)
    for i, p in enumerate(prompts):
        by_length[len(p)].append(i)
    for same in by_length.values():
        for at in range(0, len(same), rows):
            part = same[at:at + rows]
            ids = torch.tensor([prompts[i] for i in part])
            pixels = torch.stack([pictures[i] for i in part])
            result = model(input_ids=ids, pixel_values=pixels, use_cache=True)
            tokens, alive = [[] for _ in part], torch.ones(len(part), dtype=torch.bool)
            for _ in range(LONGEST):
                logits = result.logits[:, -1].float()
                if temperature > 0:
                    chosen = torch.multinomial(torch.softmax(logits / temperature, -1), 1, generator=generator)[:, 0]
                else:
                    chosen = logits.argmax(-1)
                for r in range(len(part)):
                    if alive[r]:
                        if chosen[r].item() == end:
                            alive[r] = False
                        else:
                            tokens[r].append(chosen[r].item())
                if not alive.any():
                    break
                result = model(input_ids=chosen[:, None], past_key_values=result.past_key_values, use_cache=True)
            for r, i in enumerate(part):
                out[i] = tokens[r]
    return out


def judge(questions, responses):
    lines = "\n".join(
        json.dumps(dict(family=q["family"], kind=q["answerKind"], answer=q["answer"], response=r))
        for q, r in zip(questions, responses)
    )
    command = deno_command() + ["run", "-A", os.path.join(HERE, "judge.ts")]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def form(q) -> str:
    """How many conditions a question has that could be dropped, for the family count; how the pictures of a triplet differ."""
    if q["family"] == "mico":
        return "edit: " + q["edit"]
    if q["family"] != "count":
        return q["family"]
    return "count, %d conditions" % sum(q["params"][k] is not None for k in ("colour", "kind"))


def summary(questions, verdicts):
    rows = defaultdict(list)
    for q, v in zip(questions, verdicts):
        for key in dict.fromkeys(("all", q["family"], form(q))):
            rows[key].append(v)
    mean = lambda vs, k: sum(v[k] for v in vs) / len(vs)
    partial = (key for key in rows if key == "all" or len(rows[key]) < len(rows["all"]))
    order = sorted(partial, key=lambda key: (key != "all", ": " in key or "condition" in key, key))
    return {key: dict(n=len(rows[key]), **{k: mean(rows[key], k) for k in ("right", "careful", "formatted")}) for key in order}


def main():
    a = argparse.ArgumentParser()
    a.add_argument("folder")
    a.add_argument("--set", default="write-set.ts", help="the script that writes the questions")
    a.add_argument("--per-family", type=int, default=125)
    a.add_argument("--split", default="test")
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--samples", type=int, default=4, help="sampled responses per question")
    a.add_argument("--show", type=int, default=0, help="print this many responses per condition")
    a.add_argument("--threads", type=int, default=2)
    a.add_argument("--card", action="store_true", help="write the figures into README.md of the folder")
    o = a.parse_args()
    torch.set_num_threads(o.threads)
    began = time.time()
    model = Idefics3ForConditionalGeneration.from_pretrained(o.folder, dtype=torch.float32).eval()
    tokenizer = Tokenizer.from_file(os.path.join(o.folder, "tokenizer.json"))
    end = tokenizer.token_to_id("<end_of_utterance>")
    generator = torch.Generator().manual_seed(o.seed)
    figures = {}
    for name, phrasing, temperature, start, more in CONDITIONS + MORE[o.set]:
        copies = o.samples if phrasing == "plain" and temperature > 0 else 1
        questions, pictures = [], []
        for info, shown in frames(o.set, "eval", o.seed, o.split, phrasing, o.per_family, *more):
            questions += [info] * copies
            pictures += [normalise(torch.from_numpy(shown.copy()))] * copies
        texts = [prompt_text(q["branches"][0]["prompt"], q["pictures"]) + start for q in questions]
        prompts = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        got = respond(model, prompts, pictures, end, temperature, generator)
        texts = [start + tokenizer.decode(ids, skip_special_tokens=True) for ids in got]
        verdicts = judge(questions, texts)
        figures[name] = summary(questions, verdicts)
        print(f"\n{name} ({time.time() - began:.0f} s)")
        for key, row in figures[name].items():
            print(f"  {key:22} n {row['n']:5}  right {row['right']:.3f}  careful {row['careful']:.3f}  formatted {row['formatted']:.3f}")
        step = max(1, len(questions) // max(1, o.show))
        for q, t, v in list(zip(questions, texts, verdicts))[::step][: o.show]:
            print("   ", "right" if v["right"] else "WRONG", q["branches"][0]["prompt"], "|", t, "|", q["answer"])
    if o.card:
        write_card(o, figures)


def write_card(o, figures):
    path = os.path.join(o.folder, "README.md")
    text = open(path).read()
    head, tail = "<!-- figures -->", "<!-- /figures -->"
    lines = [head, "", f"Split `{o.split}`, seed {o.seed}, {o.per_family} questions per family; sampled rows take {o.samples} responses per plain question.", ""]
    lines += ["| condition | questions | responses | right | careful | in the format |", "|---|---|---|---|---|---|"]
    for name, rows in figures.items():
        for key, r in rows.items():
            lines.append(f"| {name} | {key} | {r['n']} | {r['right']:.1%} | {r['careful']:.1%} | {r['formatted']:.1%} |")
    block = "\n".join([*lines, "", tail])
    before, rest = text.split(head)
    after = rest.split(tail)[1]
    open(path, "w").write(before + block + after)


if __name__ == "__main__":
    main()
