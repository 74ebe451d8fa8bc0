/** Prints what compiling for Pyodide needs to know of npm's `pyodide`, as JSON: its version, wheels' platform, sysconfig. */
import { loadPyodide } from 'pyodide';

const pyodide = await loadPyodide({ stdout: () => {}, stderr: () => {} });
const { abi_version: abi } = pyodide.lockfile.info;
const config = JSON.parse(pyodide.runPython(`
import json, sysconfig
json.dumps({"version": sysconfig.get_python_version(), "variables": sysconfig.get_config_vars()}, default=str)
`));
process.stdout.write(JSON.stringify({ ...config, platform: `pyemscripten_${abi}_wasm32` }), () => process.exit());
