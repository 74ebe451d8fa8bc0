/** The frame of every page. */
export const metadata = { title: 'xla-wasm in Next.js', icons: { icon: 'data:,' } };

export default function Layout({ children }) {
  return <html lang="en"><body style={{ fontFamily: 'sans-serif', maxWidth: '30rem', margin: '2rem auto' }}>{children}</body></html>;
}
