/** Converts text to tokens and back, as train_gpt.py does. */
const PIECE = / ?[A-Za-z]+|[^A-Za-z ]+| /g;

/** @param {string[]} tokens their texts, by number */
export function createTokens(tokens) {
  const numbers = new Map(tokens.map((text, number) => [text, number]));
  return {
    /** Numbers of a text's tokens; the longest that fit. Characters that no token has are left out. */
    encode(text) {
      const result = [];
      for (const [piece] of text.matchAll(PIECE)) {
        for (let at = 0; at < piece.length;) {
          let end = piece.length;
          while (end > at && !numbers.has(piece.slice(at, end))) end--;
          if (end > at) result.push(numbers.get(piece.slice(at, end)));
          at = Math.max(end, at + 1);
        }
      }
      return result;
    },
    text: (number) => tokens[number],
  };
}
