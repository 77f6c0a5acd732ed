"""What the reference scripts share: the model and its processor in float32, the test pictures, adapters, packed arrays."""

import base64
import json
import os
import zlib

import numpy as np
import torch
from PIL import Image
from transformers import AutoProcessor, Idefics3ForConditionalGeneration

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MODEL = os.path.join(ROOT, "public", "models", "pico")
FIXTURES = os.path.join(ROOT, "tests", "fixtures")
TARGETS = r"model\.text_model\.layers\.\d+\.(self_attn\.[qkvo]_proj|mlp\.(gate|up|down)_proj)"


def load_model(folder: str = MODEL):
    model = Idefics3ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    return model, AutoProcessor.from_pretrained(folder)


def load_questions() -> list[dict]:
    with open(os.path.join(FIXTURES, "questions.json")) as file:
        questions = json.load(file)
    for q in questions:
        pixels = np.frombuffer(zlib.decompress(base64.b64decode(q["rgb"])), np.uint8)
        q["picture"] = Image.fromarray(pixels.reshape(q["height"], q["width"], 3))
    return questions


def template(processor, text: str, image: bool) -> str:
    content = ([{"type": "image"}] if image else []) + [{"type": "text", "text": text}]
    return processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)


def inputs_of(processor, text: str, picture):
    rendered = template(processor, text, picture is not None)
    if picture is None:
        return processor.tokenizer(rendered, return_tensors="pt", add_special_tokens=False)
    return processor(text=rendered, images=[picture], return_tensors="pt")


def pack(array) -> str:
    """float32, little-endian, base64."""
    if torch.is_tensor(array):
        array = array.detach().numpy()
    return base64.b64encode(np.ascontiguousarray(array, "<f4").tobytes()).decode()


def pack_bytes(array) -> str:
    """uint8, deflated, base64."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array, np.uint8).tobytes(), 9)).decode()


def noise(count: int, seed: int, scale: float) -> np.ndarray:
    """The same numbers as noise() in tests/model/fixtures.ts, to the bit: a 32-bit linear congruential generator."""
    state = seed & 0xFFFFFFFF
    values = np.empty(count, np.float64)
    for i in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        values[i] = (state / 4294967296 - 0.5) * 2 * scale
    return values.astype(np.float32)


def write_fixture(name: str, value) -> None:
    path = os.path.join(FIXTURES, name)
    with open(path, "w") as file:  # one item a line, so that a diff says which
        if isinstance(value, list):
            file.write("[\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in value) + "\n]\n")
        else:
            file.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items()) + "\n}\n")
    print(f"{name}: {os.path.getsize(path)} bytes")


def add_lora(model, rank: int, alpha: float):
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=rank, lora_alpha=alpha, lora_dropout=0.0, bias="none", target_modules=TARGETS, task_type="CAUSAL_LM")
    return get_peft_model(model, config)


def fill_lora(peft_model, seed: int, scale: float) -> list[tuple[str, torch.nn.Parameter]]:
    """Fills A and B of every module with noise, each tensor from its own seed, in the order of the file's sorted names."""
    named = sorted((n.replace(".default", ""), p) for n, p in peft_model.named_parameters() if "lora_" in n)
    with torch.no_grad():
        for i, (_, parameter) in enumerate(named):
            parameter.copy_(torch.from_numpy(noise(parameter.numel(), seed + i, scale)).reshape(parameter.shape))
    return named


def row_log_probs(model, inputs, responses, temperature: float) -> list[torch.Tensor]:
    """Per-token log-probs of every response under one prompt, each in its own forward without padding."""
    rows = []
    length = inputs["input_ids"].shape[1]
    for response in responses:
        full = dict(inputs)
        full["input_ids"] = torch.cat([inputs["input_ids"], torch.tensor([response], dtype=torch.long)], 1)
        full["attention_mask"] = torch.ones_like(full["input_ids"])
        logits = model(**full).logits[0, length - 1 : -1] / temperature
        rows.append(torch.log_softmax(logits, -1).gather(1, torch.tensor(response)[:, None])[:, 0])
    return rows
