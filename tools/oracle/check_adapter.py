"""Loads an exported adapter with PEFT onto pico: `python tools/oracle/check_adapter.py FOLDER`.

Fails if PEFT misses a weight, does not know one, or gives the model other numbers than W + s·BA merged by hand.
"""

import os
import sys
import warnings

import torch
from peft import PeftModel
from safetensors.torch import load_file

from common import inputs_of, load_model


def main() -> None:
    folder = sys.argv[1]
    warnings.filterwarnings("error", message=".*adapter keys.*")  # PEFT only warns of missing keys
    model, processor = load_model()
    inputs = inputs_of(processor, "How many circles are there?", None)
    with torch.no_grad():
        base = model(**inputs).logits
    adapted = PeftModel.from_pretrained(model, folder).eval()
    written = load_file(os.path.join(folder, "adapter_model.safetensors"))
    names = {n.replace(".default", ""): p for n, p in adapted.named_parameters() if "lora_" in n}
    assert set(names) == set(written), f"PEFT has other names: {sorted(set(names) ^ set(written))[:4]}"
    for name, parameter in names.items():
        assert torch.equal(parameter.detach().float(), written[name]), f"{name} was not taken over"
    config = adapted.peft_config["default"]
    with torch.no_grad():
        got = adapted(**inputs).logits
        model = adapted.unload()
        for name, a in written.items():
            if ".lora_A." in name:
                b = written[name.replace("lora_A", "lora_B")]
                path = name.removeprefix("base_model.model.").removesuffix(".lora_A.weight")
                model.get_submodule(path).weight += config.lora_alpha / config.r * (b @ a)
        merged = model(**inputs).logits
    difference = float((got - merged).abs().max())
    assert difference < 1e-4, f"the adapter and the merged weights differ by {difference}"
    print(f"{len(written)} tensors, r = {config.r}, alpha = {config.lora_alpha}: loaded by PEFT; logits moved by {float((got - base).abs().max()):.3g}, merged by hand: {difference:.1e} apart")


if __name__ == "__main__":
    main()
