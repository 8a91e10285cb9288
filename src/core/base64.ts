/** Bytes as text and back: base64 with padding (RFC 4648, section 4). */

export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** @throws DOMException when the text is no base64; it does not repeat the text */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  // A loop: blocks come as thousands of such texts, and a callback for each byte takes ten times as long.
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}
