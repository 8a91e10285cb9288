/** A text of a machine, as it is: bodies, answers. What is longer than its place is scrolled, by the keyboard as well. */

export function Code({ label, children }: { readonly label: string; readonly children: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no mouse scrolls it with the arrow keys.
    <section className="code" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
