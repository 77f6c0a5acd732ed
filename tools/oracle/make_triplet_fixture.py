"""Writes tests/fixtures/triplets.json: prompts with three pictures, and log-probs under them, from transformers on
public/models/pico-mico.

    python tools/oracle/make_triplet_fixture.py

The pictures are those of questions.json, three at a time; the same response is also scored with the pictures in another order.
Run it again whenever pico-mico changes.
"""

import hashlib
import os

import torch

from common import ROOT, load_model, load_questions, pack, row_log_probs, write_fixture

MODEL = os.path.join(ROOT, "public", "models", "pico-mico")
TEXTS = ["which pictures are the same?", "list the shapes in each picture, then say which are the same."]
RESPONSE = "<think> red circle 3 blue square 7. red circle 3. red circle 3. so 2 and 3</think><answer> F F T</answer><end_of_utterance>"
PICTURES = [[0, 1, 2], [2, 1, 0], [4, 5, 4], [7, 8, 9]]  # numbers of questions; one twice


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, processor = load_model(MODEL)
    questions = load_questions()
    response = processor.tokenizer(RESPONSE, add_special_tokens=False)["input_ids"]
    items = []
    for i, numbers in enumerate(PICTURES):
        text = TEXTS[i % len(TEXTS)]
        content = [{"type": "image"} for _ in numbers] + [{"type": "text", "text": text}]
        rendered = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
        inputs = processor(text=rendered, images=[questions[n]["picture"] for n in numbers], return_tensors="pt")
        with torch.no_grad():
            (scores,) = row_log_probs(model, inputs, [response], 1.0)
        items.append({"pictures": numbers, "text": text, "ids": inputs["input_ids"][0].tolist(), "logProbs": pack(scores)})
    weights = hashlib.sha256(open(os.path.join(MODEL, "model.safetensors"), "rb").read()).hexdigest()
    write_fixture("triplets.json", {"model.safetensors": weights, "response": response, "prompts": items})


if __name__ == "__main__":
    main()
