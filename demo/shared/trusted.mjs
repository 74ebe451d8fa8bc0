/** Texts that the page itself opened in the playground, where they run at once; code of other links waits for a click. */
export const trusted = new Set();
