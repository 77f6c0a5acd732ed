"""Writes a model folder in the Hugging Face layout: weights in bf16, the vision encoder with its connector as ONNX, and all else
that `transformers` and the page need. Also a command: `python export.py CHECKPOINT.pt TOKENIZER.json FOLDER`."""

import copy
import json
import os
import sys

import numpy as np
import torch
from safetensors.torch import save_file

from tokenizer import IMAGE_TOKENS

CHAT_TEMPLATE = (
    "<|im_start|>{% for message in messages %}{{message['role'] | capitalize}}{% if message['content'][0]['type'] == 'image' %}{{':'}}"
    "{% else %}{{': '}}{% endif %}{% for line in message['content'] %}{% if line['type'] == 'text' %}{{line['text']}}"
    "{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)


def write_json(folder: str, name: str, value) -> None:
    with open(os.path.join(folder, name), "w") as file:
        json.dump(value, file, indent=2, ensure_ascii=False)
        file.write("\n")


def write_tokenizer(tokenizer, folder: str) -> None:
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    content = json.loads(tokenizer.to_str())
    added = {
        str(t["id"]): {k: t[k] for k in ("content", "lstrip", "normalized", "rstrip", "single_word", "special")}
        for t in content["added_tokens"]
    }
    specials = ["<fake_token_around_image>", "<image>", "<end_of_utterance>"]
    write_json(folder, "tokenizer_config.json", {
        "add_prefix_space": False, "added_tokens_decoder": added, "additional_special_tokens": specials,
        "bos_token": "<|im_start|>", "clean_up_tokenization_spaces": False, "eos_token": "<end_of_utterance>",
        "legacy": False, "model_max_length": 1024, "pad_token": "<|im_end|>", "processor_class": "Idefics3Processor",
        "tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<|endoftext|>", "chat_template": CHAT_TEMPLATE,
    })
    write_json(folder, "special_tokens_map.json", {
        "additional_special_tokens": specials, "bos_token": "<|im_start|>", "eos_token": "<end_of_utterance>",
        "pad_token": "<|im_end|>", "unk_token": "<|endoftext|>",
    })
    write_json(folder, "added_tokens.json", {t["content"]: t["id"] for t in content["added_tokens"]})
    write_json(folder, "chat_template.json", {"chat_template": CHAT_TEMPLATE})


def write_configs(config, tokenizer, folder: str) -> None:
    config = copy.deepcopy(config)
    config.architectures = ["Idefics3ForConditionalGeneration"]
    data = config.to_dict()
    text = data["text_config"]
    text["rope_theta"] = text.get("rope_parameters", {}).get("rope_theta", 10000.0)  # where older readers look for it
    for part in (data, text, data["vision_config"]):
        part.pop("transformers_version", None)
        part.pop("_attn_implementation", None)
        part.pop("dtype", None)
    data["dtype"] = "bfloat16"
    data["torch_dtype"] = "bfloat16"
    text["torch_dtype"] = "bfloat16"
    write_json(folder, "config.json", data)
    write_json(folder, "generation_config.json", {
        "_from_model_config": True, "bos_token_id": tokenizer.token_to_id("<|im_start|>"),
        "eos_token_id": tokenizer.token_to_id("<end_of_utterance>"), "pad_token_id": tokenizer.token_to_id("<|im_end|>"),
    })
    write_json(folder, "preprocessor_config.json", {
        "do_convert_rgb": True, "do_image_splitting": False, "do_normalize": True, "do_pad": True, "do_rescale": True,
        "do_resize": True, "image_mean": [0.5, 0.5, 0.5], "image_processor_type": "Idefics3ImageProcessor",
        "image_std": [0.5, 0.5, 0.5], "max_image_size": {"longest_edge": 64}, "processor_class": "Idefics3Processor",
        "resample": 1, "rescale_factor": 1 / 255, "size": {"longest_edge": 64},
    })
    write_json(folder, "processor_config.json", {"image_seq_len": IMAGE_TOKENS, "processor_class": "Idefics3Processor"})


class VisionEncoder(torch.nn.Module):
    """Vision tower and connector in one graph of plain operations: [B, 1, 3, 64, 64] to [B·16, 128]."""

    def __init__(self, model):
        super().__init__()
        vision = model.model.vision_model
        self.patch, self.position = vision.embeddings.patch_embedding, vision.embeddings.position_embedding
        self.layers, self.norm = vision.encoder.layers, vision.post_layernorm
        self.projection = model.model.connector.modality_projection.proj
        self.scale = model.config.scale_factor
        self.heads = model.config.vision_config.num_attention_heads

    def attention(self, a, x):
        n, width = x.shape[1], x.shape[2]
        head = width // self.heads
        q, k, v = (f(x).reshape(-1, n, self.heads, head).transpose(1, 2) for f in (a.q_proj, a.k_proj, a.v_proj))
        weights = torch.softmax(q @ k.transpose(2, 3) * head**-0.5, dim=-1)
        return a.out_proj((weights @ v).transpose(1, 2).reshape(-1, n, width))

    def forward(self, pixel_values):
        x = self.patch(pixel_values.reshape(-1, 3, 64, 64)).reshape(-1, self.patch.out_channels, 64).transpose(1, 2)
        x = x + self.position.weight
        for layer in self.layers:
            x = x + self.attention(layer.self_attn, layer.layer_norm1(x))
            y = layer.mlp.fc1(layer.layer_norm2(x))
            x = x + layer.mlp.fc2(torch.nn.functional.gelu(y, approximate="tanh"))
        x = self.norm(x)
        s, width = self.scale, x.shape[2]
        side = 8
        x = x.reshape(-1, side // s, s, side // s, s, width).permute(0, 1, 3, 2, 4, 5)
        return self.projection(x.reshape(-1, s * s * width))


def write_onnx(model, folder: str) -> float:
    """Exports the vision encoder and returns the largest difference from the model's own path."""
    import onnxruntime

    os.makedirs(os.path.join(folder, "onnx"), exist_ok=True)
    path = os.path.join(folder, "onnx", "vision_encoder.onnx")
    encoder = VisionEncoder(model).eval()
    torch.onnx.export(
        encoder, (torch.zeros(2, 1, 3, 64, 64),), path, dynamo=False, opset_version=17, input_names=["pixel_values"],
        output_names=["image_features"], dynamic_axes={"pixel_values": {0: "batch_size"}, "image_features": {0: "tokens"}},
    )
    pixels = torch.rand(3, 1, 3, 64, 64) * 2 - 1
    with torch.no_grad():
        own = model.model.get_image_features(pixels, return_dict=True)
    own = getattr(own, "pooler_output", own)
    own = torch.cat(list(own)) if isinstance(own, (list, tuple)) else own
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    got = session.run(None, {"pixel_values": pixels.numpy()})[0]
    return float(np.abs(own.reshape(-1, own.shape[-1]).numpy() - got).max())


def export_folder(model, tokenizer, folder: str) -> None:
    os.makedirs(folder, exist_ok=True)
    rounded = copy.deepcopy(model).to(torch.bfloat16)
    weights = {k: v.contiguous() for k, v in rounded.state_dict().items() if "position_ids" not in k}
    save_file(weights, os.path.join(folder, "model.safetensors.new"), metadata={"format": "pt"})
    os.replace(os.path.join(folder, "model.safetensors.new"), os.path.join(folder, "model.safetensors"))
    write_tokenizer(tokenizer, folder)
    write_configs(model.config, tokenizer, folder)
    difference = write_onnx(rounded.float().eval(), folder)
    print(f"exported to {folder}; ONNX against torch: {difference:.1e}", flush=True)


def main():
    from model import build, pico_config
    from tokenizers import Tokenizer

    checkpoint, words, folder = sys.argv[1:4]
    tokenizer = Tokenizer.from_file(words)
    model = build(pico_config(tokenizer))
    model.load_state_dict(torch.load(checkpoint, weights_only=False)["model"])
    export_folder(model, tokenizer, folder)


if __name__ == "__main__":
    main()
