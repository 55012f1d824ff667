import type { A } from "./types";
import fs = require("fs");
export { helper } from "./helper";

/** Shapes of things. */
export namespace Shapes.Flat {
  export class Square<T> extends Shape<T> implements Area, Edges {
    private readonly size = 1;

    constructor(private a: string, public b?: number) {
      super();
    }

    /** Overloads stay apart. */
    scale(by: number): Square<T>;
    scale(by: string): Square<T>;
    scale(by: number | string): Square<T> {
      return this;
    }

    @memoize()
    @log("area", { level: 1 })
    get area(): number {
      return this.size;
    }

    onClick = (event: MouseEvent): void => {};

    static #secret(): void {}
  }
}

/**
 * A store of users.
 * @deprecated use Repository
 */
@Injectable({ providedIn: "root" })
export abstract class UserStore {
  abstract find(id: string): Promise<User | undefined>;
}

export interface Reader<T> extends Closable, Iterable<T> {
  read(size?: number): T;
  new (path: string): Reader<T>;
  readonly path: string;
}

export enum Colour {
  Red = "red",
}

export const enum Level {
  Low,
}

// Either one.
export type Either<L, R> = { left: L } | { right: R };

declare module "untyped" {
  export function parse(text: string): unknown;
}

export function pick<T, K extends keyof T>(from: T, ...keys: K[]): Pick<T, K>;
export function pick(from: any, ...keys: any[]): any {
  function has(key: string) {
    return key in from;
  }
  return keys.filter(has);
}

export const debounce = <T extends unknown[]>(call: (...args: T) => void, wait = 10) => call;

export default async function (request: Request): Promise<Response> {
  return new Response();
}
