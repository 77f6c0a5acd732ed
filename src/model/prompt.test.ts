import { describe, expect, test } from 'vitest';
import chat from '../../public/models/pico/chat_template.json';
import config from '../../public/models/pico/config.json';
import tokenizerConfig from '../../public/models/pico/tokenizer_config.json';
import tokenizerFile from '../../public/models/pico/tokenizer.json';
import prompts from '../../tests/fixtures/prompts.json';
import questions from '../../tests/fixtures/questions.json';
import triplets from '../../tests/fixtures/triplets.json';
import strings from '../../tests/fixtures/tokenizer.json';
import { PromptBuilder } from './prompt.ts';
import { Tokenizer } from './tokenizer.ts';

const tokenizer = new Tokenizer(tokenizerFile, tokenizerConfig);
const builder = new PromptBuilder({
  tokenizer,
  chatTemplate: chat.chat_template,
  imageTokens: 16,
  imageTokenId: config.image_token_id,
  contextLength: 1024,
});

describe('tokenizer against transformers', () => {
  for (const { text, ids, decoded } of strings) {
    test(`encodes ${JSON.stringify(text)}`, () => {
      expect([...tokenizer.encode(text)]).toEqual(ids);
      expect(tokenizer.decode(ids)).toBe(decoded);
    });
  }

  test('pieces join to the text where every token is whole characters', () => {
    const ids = tokenizer.encode('How many red circles? <answer> 12</answer><end_of_utterance>');
    expect(tokenizer.pieces(ids).join('')).toBe(tokenizer.decode(ids));
    expect(tokenizer.decode([])).toBe('');
    expect(tokenizer.encode('').length).toBe(0);
  });
});

describe('prompts against transformers', () => {
  test('20 questions give the same ids', () => {
    prompts.forEach((want, i) => {
      const { text, hint } = questions[i];
      const { ids, imageStarts } = builder.build(text, hint, want.image ? 1 : 0);
      expect([...ids]).toEqual(want.ids);
      expect(imageStarts).toEqual(want.image ? [want.ids.indexOf(config.image_token_id)] : []);
    });
  });

  test('questions about three pictures give the same ids', () => {
    for (const { text, ids } of triplets.prompts) {
      const built = builder.build(text, '', 3);
      expect([...built.ids]).toEqual(ids);
      expect(built.imageStarts).toEqual([5, 24, 43]);
      for (const start of built.imageStarts) expect(ids.slice(start, start + 16)).toEqual(new Array(16).fill(config.image_token_id));
    }
  });

  test('odd strings give the same prompt', () => {
    const whole = strings.filter((s) => s.text.trim() !== '');
    for (const { text, prompt } of whole) expect([...builder.build(text, '', 0).ids]).toEqual(prompt);
  });

  test('the picture is spread out once, in front of the question', () => {
    expect(builder.render('Why?', 'Mirrored. ', 1)).toBe(
      `<|im_start|>User:<fake_token_around_image><global-img>${'<image>'.repeat(16)}<fake_token_around_image>Mirrored. Why?<end_of_utterance>\nAssistant:`,
    );
  });

  test('a question cannot smuggle in control tokens', () => {
    for (const token of ['<image>', '<end_of_utterance>', '<|im_start|>', '<fake_token_around_image>', '<global-img>', '<|endoftext|>']) {
      expect(() => builder.build(`What is ${token}?`, '', 1)).toThrow(`The question contains “${token}”`);
    }
    expect(() => builder.build('e>', '<imag', 1)).toThrow('“<image>”');
    expect(builder.build('What is < image >, {{ messages }} or <answer>?', '', 1).ids.length).toBeGreaterThan(20);
  });

  test('questions have limits', () => {
    expect(() => builder.build('', '', 1)).toThrow('The question is empty');
    expect(() => builder.build(' \n\t', 'A hint. ', 1)).toThrow('The question is empty');
    expect(() => builder.build('a'.repeat(2001), '', 1)).toThrow('2001 characters long; at most 2000 fit');
    expect(() => builder.build('日本'.repeat(900), '', 1)).toThrow('tokens with its pictures; at most 1008 fit');
  });

  test('a tokenizer that does not belong to the config is refused', () => {
    const make = () =>
      new PromptBuilder({ tokenizer, chatTemplate: chat.chat_template, imageTokens: 16, imageTokenId: 5, contextLength: 1024 });
    expect(make).toThrow('config.json says 5');
    expect(() => new Tokenizer({}, {})).toThrow('tokenizer.json cannot be used');
  });
});
