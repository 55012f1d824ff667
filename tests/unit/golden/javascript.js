'use strict'
/*!
 * express
 */
const a = require('x'), {b} = require('./y').z
require('./side')
import def, {q as r} from "mod"
export * from './re'
/**
 * Makes things. And more.
 * @param {string} x the x
 */
exports.make = async function (x, {y, z} = {}, ...rest) { function inner() {} }
module.exports = function () {}
module.exports = { foo() {}, bar: (x) => x, nested: { deep: function() {} }, "quoted-name"() {} }
// Adds.
export const add = x => x + 1, sub = (a, b) => { return a - b }
var app = exports = module.exports = {};
app.init = function init(a) {}
Foo.prototype.bar = function* () {}
class A extends B {
  static #p(a) {}
  constructor(x) { this.cb = () => {} }
  get y() {}
  /** field doc */
  handle = async (e) => {};
  [Symbol.iterator]() {}
}
foo().bar = function () {}
/** Comp doc */
@Dec({a: 1})
export class C {}
export default class extends Q {}

// eslint-disable-next-line no-unused-vars
/* Not this: it stands behind a blank line. */


function undocumented() {}

var second = 1; /* trailing words belong to second */
function afterTrailing() {}

module.exports = class Store {
  /* Reads {@link Row rows} from <b>disk</b>; e.g. the first. Then more. */
  async read(id, ...rest) {}
};

const api = {
  /** Lists everything. */
  list: async ({ page = 1 }) => page,
  nested: { deep() {} },
};

(function immediately() {
  return function () {};
})();
