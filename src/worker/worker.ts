/** @file The worker's entry: it offers the service through comlink. */
import * as Comlink from 'comlink';
import type { Service, WorkerEvent } from './protocol.ts';
import { createService } from './service.ts';

export type Connect = (onEvent: (event: WorkerEvent) => void) => Service & Comlink.ProxyMarked;

const connect: Connect = (onEvent) => Comlink.proxy(createService(onEvent));

Comlink.expose(connect);
