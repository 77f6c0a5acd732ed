"""Writes the reference numbers of the model tests to tests/fixtures, from transformers and PEFT on public/models/pico.

    python tools/oracle/make_fixtures.py

Everything is float32; the tests' tolerances leave room for another order of sums.
"""

import hashlib
import json
import os

import numpy as np
import torch
from PIL import Image

from common import (
    MODEL, add_lora, fill_lora, inputs_of, load_model, load_questions, noise, pack, pack_bytes, row_log_probs, template, write_fixture,
)

GREEDY_TOKENS = 48
STRINGS = [
    "How many red circles are there?", "a", " ", "  two  blanks  ", "line\nbreak\n\nand\ttab", "1234567890", "naïve café", "日本語の質問",
    "🦜🏴‍☠️👩🏽‍🚀", "it's what we'll do, isn't it?", "<think> so 2</think><answer> 2</answer>", "<answer>", "< image >", "é", "e\u0301",
    "ＡＢＣ", "\u00a0non-breaking\u2003em", "x" * 70, "CamelCase_and_snake", "3+4=7; 12.5%", "مرحبا", "\u200bzero width", "ß ﬁ Ⅳ ½",
    "trailing blanks   ", "\n", "quote \"q\" 'q' `q`", "back\\slash",
]


def reference_prompts(model, processor, questions):
    tokenizer = processor.tokenizer
    end = json.load(open(os.path.join(MODEL, "generation_config.json")))["eos_token_id"]
    out = []
    for i, q in enumerate(questions):
        picture = q["picture"] if i % 10 != 9 else None  # two of them without a picture
        inputs = inputs_of(processor, q["hint"] + q["text"], picture)
        with torch.no_grad():
            logits = model(**inputs).logits[0, -1]
            ids = model.generate(**inputs, do_sample=False, max_new_tokens=GREEDY_TOKENS, eos_token_id=end, pad_token_id=end)
            response = ids[0, inputs["input_ids"].shape[1] :].tolist()
            full = dict(inputs)
            full["input_ids"], full["attention_mask"] = ids, torch.ones_like(ids)
            rows = torch.log_softmax(model(**full).logits[0, -len(response) - 1 : -1], -1)
        top = rows.topk(2, -1).values
        out.append({
            "image": picture is not None, "ids": inputs["input_ids"][0].tolist(), "logits": pack(logits), "response": response,
            "text": tokenizer.decode(response, skip_special_tokens=False, clean_up_tokenization_spaces=False),
            "logProbs": pack(rows.gather(1, torch.tensor(response)[:, None])[:, 0]), "entropies": pack(-(rows.exp() * rows).sum(-1)),
            # where the two best tokens are closer than this, rounding may choose either
            "margin": [round(float(x), 6) for x in top[:, 0] - top[:, 1]],
        })
    return out


def reference_tokenizer(processor):
    tokenizer = processor.tokenizer
    strings = []
    for text in STRINGS:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        decoded = tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        strings.append({"text": text, "ids": ids, "decoded": decoded, "prompt": inputs_of(processor, text, None)["input_ids"][0].tolist(),
                        "rendered": template(processor, text, True)})
    return strings


def pattern(width: int, height: int) -> np.ndarray:
    """The same picture as pattern() in tests/model/fixtures.ts: slopes, edges and fine detail."""
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(3), indexing="ij")
    return ((x * 7 + y * 13 + c * 50 + (x * y) % 31 * 3) % 256).astype(np.uint8)


def reference_images(processor):
    out = []
    for width, height in [(64, 64), (100, 37), (20, 50), (200, 131), (1, 1), (65, 64)]:
        picture = Image.fromarray(pattern(width, height))
        squashed = picture.resize((64, 64), Image.Resampling.LANCZOS)
        item = {"width": width, "height": height, "resized": pack_bytes(np.asarray(squashed))}
        if (width, height) == (64, 64):
            values = inputs_of(processor, "a", picture)["pixel_values"].numpy()
            item["pixelValues"] = pack(values[0, 0, :, ::9, ::9])  # every ninth pixel is enough
        out.append(item)
    return out


def reference_vision(model, processor, questions):
    pixels = torch.cat([inputs_of(processor, "a", q["picture"])["pixel_values"] for q in questions[:3]])
    with torch.no_grad():
        features = model.model.get_image_features(pixels, return_dict=True).pooler_output
    return [pack(torch.as_tensor(f)) for f in features]


def reference_gradient(model, processor, questions):
    """One Share-GRPO question with m = 2, n = 3: every response under both prompts, given coefficients, temperature 0.9."""
    rank, alpha, temperature, lengths = 3, 6, 0.9, [1, 7, 30, 12, 2, 19]
    vocabulary = model.config.text_config.vocab_size
    peft_model = add_lora(model, rank, alpha)
    named = fill_lora(peft_model, seed=100, scale=0.1)
    q = questions[1]
    mirrored = q["picture"].transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    prompts = [inputs_of(processor, q["text"], q["picture"]), inputs_of(processor, "A mirror image. " + q["other"], mirrored)]
    tokens = ((noise(sum(lengths), 7, 1.0) * 0.5 + 0.5) * (vocabulary - 20)).astype(int) + 3
    responses, at = [], 0
    for n in lengths:
        responses.append(tokens[at : at + n].tolist())
        at += n
    coefficients = torch.from_numpy(noise(2 * sum(lengths), 9, 0.05))
    scores = [row for inputs in prompts for row in row_log_probs(peft_model, inputs, responses, temperature)]
    (torch.cat(scores) * coefficients).sum().backward()
    gradient = {name: parameter.grad for name, parameter in named}
    norm = torch.sqrt(sum((g**2).sum() for g in gradient.values()))
    with torch.no_grad():
        last = peft_model(**prompts[0]).logits[0, -1]
    for parameter in (p for _, p in named):
        parameter.grad = None
    out = {
        "rank": rank, "alpha": alpha, "temperature": temperature, "seed": 100, "scale": 0.1, "coefficientSeed": 9, "coefficientScale": 0.05,
        "texts": [q["text"], "A mirror image. " + q["other"]], "ids": [p["input_ids"][0].tolist() for p in prompts], "responses": responses,
        "logProbs": pack(torch.cat(scores)), "logits": pack(last), "gradNorm": float(norm),
        "names": [{"name": n, "shape": list(p.shape)} for n, p in named], "gradient": pack(torch.cat([g.flatten() for g in gradient.values()])),
    }
    peft_model.unload()
    return out


def fingerprints() -> dict:
    """So that a test can say that the fixtures belong to another pico."""
    files = ["model.safetensors", "onnx/vision_encoder.onnx", "tokenizer.json"]
    return {name: hashlib.sha256(open(os.path.join(MODEL, name), "rb").read()).hexdigest() for name in files}


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, processor = load_model()
    questions = load_questions()
    write_fixture("pico.json", fingerprints())
    write_fixture("prompts.json", reference_prompts(model, processor, questions))
    write_fixture("tokenizer.json", reference_tokenizer(processor))
    write_fixture("images.json", reference_images(processor))
    write_fixture("vision.json", reference_vision(model, processor, questions))
    write_fixture("gradient.json", reference_gradient(model, processor, questions))


if __name__ == "__main__":
    main()
