/** @file The page's entry. */
import './ui/fonts.css';
import './ui/theme.css';
import { mount } from 'svelte';
import { Session } from './session/session.svelte.ts';
import Page from './views/page/Page.svelte';

const target = document.querySelector('#page');
if (!target) throw new Error('The page has no #page element.');

const session = new Session(new URL('./', document.baseURI).href.split('#')[0]);
mount(Page, { target, props: { session } });
void session.start(location.hash);
