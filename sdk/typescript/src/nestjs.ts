/**
 * A module for NestJS 10 and later: the client is a provider, and methods of providers are handlers.
 */
import {
  Logger,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type FactoryProvider,
  type ModuleMetadata,
  type OnApplicationBootstrap,
} from "@nestjs/common";
import { DiscoveryModule, DiscoveryService, MetadataScanner } from "@nestjs/core";

import type { Handler } from "./handling.js";
import type { JobType } from "./job-type.js";
import { Millrace, type MillraceOptions } from "./node/millrace.js";
import type { Worker, WorkerOptions } from "./node/worker.js";
import { messageOf } from "./errors.js";
import type { Ending } from "./outcome.js";

/** The options of the module. */
export interface MillraceModuleOptions extends MillraceOptions {
  /** The client to provide. Default a new one with the other options. */
  client?: Millrace | undefined;
  /**
   * The options of the worker that runs the methods with `OnJob`, if there are any. False: this
   * process runs none.
   */
  worker?: WorkerOptions | false | undefined;
}

type AnyHandler = Handler<any, any>;

const jobs = new WeakMap<object, JobType<any, any, any, any> | string>();

/** Makes a method of a provider the handler of a type of jobs. */
export function OnJob<Payload, GivenResult>(
  job: JobType<Payload, any, any, GivenResult>,
): HandlerDecorator<Handler<Payload, GivenResult | Ending>>;
export function OnJob(type: string): HandlerDecorator<AnyHandler>;
export function OnJob(job: JobType<any, any, any, any> | string): HandlerDecorator<AnyHandler> {
  return (_, __, method) => {
    if (method.value) jobs.set(method.value, job);
  };
}

/** Decorates a method that does for such a handler. */
export type HandlerDecorator<Wanted extends AnyHandler> = <Method extends Wanted>(
  target: object,
  name: PropertyKey,
  method: TypedPropertyDescriptor<Method>,
) => void;

const OPTIONS = Symbol("millrace:options");

/**
 * Provides `Millrace` to all modules, and runs the methods with `OnJob` from the application's start
 * to its shutdown; `enableShutdownHooks()` makes SIGTERM a shutdown.
 */
export class MillraceModule {
  /** Returns the module with these options. */
  static forRoot(options: MillraceModuleOptions = {}): DynamicModule {
    return MillraceModule.forRootAsync({ useFactory: () => options });
  }

  /** Returns the module with options that a factory makes, for instance of a `ConfigService`. */
  static forRootAsync({
    imports = [],
    inject = [],
    useFactory,
  }: Pick<FactoryProvider<MillraceModuleOptions>, "inject" | "useFactory"> &
    Pick<ModuleMetadata, "imports">): DynamicModule {
    return {
      module: MillraceModule,
      global: true,
      imports: [DiscoveryModule, ...imports],
      providers: [
        { provide: OPTIONS, inject, useFactory },
        {
          provide: Millrace,
          inject: [OPTIONS],
          useFactory: ({ client, ...options }: MillraceModuleOptions) =>
            client ?? new Millrace(options),
        },
        {
          provide: Runner,
          inject: [OPTIONS, Millrace, DiscoveryService, MetadataScanner],
          useFactory: (...parts: ConstructorParameters<typeof Runner>) => new Runner(...parts),
        },
      ],
      exports: [Millrace],
    };
  }
}

/** Starts and stops the worker with the application. */
class Runner implements OnApplicationBootstrap, BeforeApplicationShutdown {
  #worker: Worker | undefined;

  constructor(
    readonly options: MillraceModuleOptions,
    readonly client: Millrace,
    readonly discovery: DiscoveryService,
    readonly scanner: MetadataScanner,
  ) {}

  onApplicationBootstrap(): void {
    const { worker: options = {} } = this.options;
    const found = this.#handlers();
    if (options === false || found.length === 0) return;
    const log = new Logger("Millrace");
    const logger = {
      info: (message: string) => log.log(message),
      warn: (message: string) => log.warn(message),
    };
    this.#worker = this.client.worker({ logger, ...options });
    for (const [job, handler] of found) this.#worker.on(job, handler);
    this.#worker.start().ended.catch((error: unknown) => log.error(messageOf(error)));
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#worker?.stop().catch(() => undefined); // the log has said why it ended
  }

  #handlers(): [JobType<any, any, any, any> | string, AnyHandler][] {
    const holders = [...this.discovery.getProviders(), ...this.discovery.getControllers()];
    return holders.flatMap(({ instance }) => {
      if (typeof instance !== "object" || instance === null) return [];
      const names = this.scanner.getAllMethodNames(Object.getPrototypeOf(instance) as object);
      return names.flatMap((name): [JobType | string, AnyHandler][] => {
        const method = (instance as Record<string, AnyHandler>)[name] as AnyHandler;
        const job = jobs.get(method);
        return job === undefined ? [] : [[job, method.bind(instance)]];
      });
    });
  }
}
