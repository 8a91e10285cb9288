/** The rule in wrangler.toml makes SQL files text. */
declare module "*.sql" {
  const text: string;
  export default text;
}
