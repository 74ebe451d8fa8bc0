/** The page, with the plot. */
import Smoother from './smoother.jsx';

/* Rendered on the server, or when the site is built. The component below computes in the page. */
export default function Page() {
  return (
    <main>
      <h1>Smooth a signal</h1>
      <p>The page is static. The program is compiled to WebAssembly when it is first shown.</p>
      <Smoother />
    </main>
  );
}
