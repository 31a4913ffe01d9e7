// The suite imports `fs.globSync`, which Node 20 does not have and its clients do not need.
import { register } from "node:module";

const fsWithGlob =
  "import fs from 'node:fs'; export * from 'node:fs'; export default fs;" +
  "export const globSync = fs.globSync ?? (() => { throw new Error('needs Node 22'); });";
const hooks = `
export async function resolve(name, context, next) {
  if (name === "fs" && context.parentURL?.includes("/conformance/dist/")) {
    const url = "data:text/javascript," + ${JSON.stringify(encodeURIComponent(fsWithGlob))};
    return { url, shortCircuit: true };
  }
  return next(name, context);
}`;
register("data:text/javascript," + encodeURIComponent(hooks), import.meta.url);
