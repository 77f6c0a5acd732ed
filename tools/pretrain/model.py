"""pico: transformers' own Idefics3 model at 1.3 million parameters, and the short way through its modules that training takes."""

import torch
from transformers import Idefics3Config, Idefics3ForConditionalGeneration

IMAGE = 64


def pico_config(tokenizer) -> Idefics3Config:
    def token(text: str) -> int:
        return tokenizer.token_to_id(text)

    ends = dict(bos_token_id=token("<|im_start|>"), eos_token_id=token("<end_of_utterance>"), pad_token_id=token("<|im_end|>"))
    text = dict(
        model_type="llama", vocab_size=tokenizer.get_vocab_size(), hidden_size=128, intermediate_size=352, num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=2, head_dim=32, hidden_act="silu", max_position_embeddings=1024,
        rms_norm_eps=1e-5, rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, attention_bias=False,
        mlp_bias=False, tie_word_embeddings=False, initializer_range=0.02, **ends,
    )
    vision = dict(
        hidden_size=96, intermediate_size=384, num_hidden_layers=3, num_attention_heads=4, image_size=IMAGE, patch_size=8,
        num_channels=3, hidden_act="gelu_pytorch_tanh", layer_norm_eps=1e-6, attention_dropout=0.0, initializer_range=0.02,
    )
    return Idefics3Config(
        text_config=text, vision_config=vision, image_token_id=token("<image>"), scale_factor=2, tie_word_embeddings=False, **ends
    )


def image_features(model: Idefics3ForConditionalGeneration, pixels: torch.Tensor) -> torch.Tensor:
    """[N, 3, 64, 64] normalised pixels to [N, 16, 128] features, through the model's own modules.

    The same numbers as the model's own path, which walks through the batch in Python to give each picture its position ids;
    for a full picture they are simply 0, 1, 2, …
    """
    vision = model.model.vision_model
    patches = vision.embeddings.patch_embedding(pixels).flatten(2).transpose(1, 2)
    x = patches + vision.embeddings.position_embedding.weight
    for layer in vision.encoder.layers:
        x = layer(x, attention_mask=None)
        x = x[0] if isinstance(x, tuple) else x
    return model.model.connector(vision.post_layernorm(x))


def normalise(rgb: torch.Tensor) -> torch.Tensor:
    """uint8 [N, 64, 64, 3] to float [N, 3, 64, 64] in [-1, 1], as the image processor does."""
    return (rgb.permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.5


def build(config: Idefics3Config) -> Idefics3ForConditionalGeneration:
    model = Idefics3ForConditionalGeneration._from_config(config, attn_implementation="sdpa")
    model = model.float()
    # Begin with patches that see what differs from a flat grey, and with positions that count as much as what is seen: left to
    # the usual small values, the light background drowns both and the vision tower grows out of hand.
    with torch.no_grad():
        embeddings = model.model.vision_model.embeddings
        patch = embeddings.patch_embedding
        patch.weight.normal_(0, 0.1)
        patch.weight -= patch.weight.mean((1, 2, 3), keepdim=True)
        patch.bias.zero_()
        embeddings.position_embedding.weight.normal_(0, 0.5)
    return model
