/** The help texts of the command line and of single commands; and completion for shells. */

export const USAGE = `usage: xla-wasm run MODULE [options]
       xla-wasm info|print|compile|explain|convert|gradient|vmap MODULE [options]
       xla-wasm completion bash|zsh|fish
       xla-wasm COMMAND --help

MODULE is HLO or StableHLO, whatever its form: text, a serialized proto, MLIR bytecode, the file of
jax.export; compressed by gzip or not; a URL; "-": standard input.

  run       runs it, and prints its results
  info      prints its parameters and results; of a .npy, .npz or .safetensors file, the arrays
  print     prints it as HLO text
  compile   prints it as HLO text after all optimisations
  explain   describes the compiled program: which operations are one loop, where time and memory go
  convert   writes it as --output FILE.hlo (text) or FILE.pb (a proto, for real XLA); or arrays in a
            .npy, .npz or .safetensors file as another of these
  gradient  prints the program of its gradient as HLO text; --output FILE.hlo or FILE.pb writes it
  vmap      prints the program for a batch as HLO text; --output FILE.hlo or FILE.pb writes it
  completion  prints a script that completes commands, options and files in a shell

  --shape NAME=SHAPE  a parameter's shape, for a program of unknown sizes: x=f32[8,128]
  --elided zeros|random  values for constants that a dump leaves out, {...}: to see its speed
  --function NAME     of StableHLO: the function that runs (default: main, or the only public one)
  --platform NAME     of an export for several platforms: which one (default: cpu)
  --replicas N        for N replicas (default: what the module states, or 1)
  --partitions N      of N partitions each (default: what the module needs, or 1)
  --threads N         use N threads; 0: none (default: as many as the machine has)
  --disable NAME,...  leave these rewrites, stages or kernels out (docs/passes.md lists them)

run:
  --input FILE.npy    the next parameter's argument, the same on every device
  --input NAME=FILE   the argument of the parameter of this name (or number)
  --input NAME=VALUE  the same, as it is: 1.5 or [1, 2]
  --input FILE.npz    arguments by name, or by the end of a name; FILE.safetensors too
  --input NAME=FILE.npz  the same, with NAME in front of the names
                      FILE may have {replica}, {partition} or {device} in it, as x.{replica}.npy:
                      then each device has its own; with --output, too
  --random            random numbers for the other parameters
  --seed N            other random numbers (default 0)
  --output FILE       write the output, or the first device's results as .npy, .npz, .safetensors
  --json              print one line of JSON per device
  --time N            run N times, and print the least and the median time
  --profile FILE      write what ran when, as a Chrome trace
  --on pjrt           run on real XLA instead: needs Python with jax (PYTHON names another python3)
  --check             compare the results with those of the evaluator, an operation at a time; with
                      --on pjrt: with the simulated run, device by device
  --bisect            say which rewrite, stage, kernel or instruction makes them differ
  --nans              say which instruction makes the first NaN (or infinity) of the results, and of
                      which operands; as jax_debug_nans
  --platform cpu|gpu|tpu  where real XLA runs, with --on pjrt
  --coordinator HOST:PORT  with --on pjrt: several processes, each with --process I --processes N
  --process I         with --coordinator: the number of this process
  --processes N       with --coordinator: how many there are

compile:
  --steps             what a device does, step by step
  --wasm              the generated WebAssembly as text; --output FILE.wasm: its bytes

gradient:
  --wrt NAME          by a parameter: a name, a number or a prefix of names (again for more; default: all)
  --of N              of result N (default 0)
  --value             keep the results, before the gradient
  --max-trips N       an upper bound of iterations, for loops of unknown count
  --checkpoint WHAT   loops save all (none, the default), each state (all), or every sqrt(n)-th (sqrt)

vmap:
  --in 0,null,...     the dimension of the batch in each parameter (or one for all, or NAME=0,...; default 0)
  --out 0,...         the same in the results
  --size N            how many elements it has, which the program does not say

  --help              print this, or the help of a command
  --version           print the version

Exit codes: 0: done; 1: it failed, with one line "error: ..." on standard error.`;

/** Examples of each command: arguments, and what they do. */
const EXAMPLES = {
  run: [
    ["model.hlo --input x.npy --input 'scale=2' --json", 'two arguments, results as JSON'],
    ["model.jax --input weights.safetensors --input 'x=[[1, 2, 3]]'", 'weights by name'],
    ['step.hlo --replicas 4 --random --profile trace.json', 'four devices, what ran when'],
    ['model.hlo --random --check', 'compared with the evaluator'],
    ['model.hlo --random --on pjrt --check', 'the same on real XLA, and compared'],
    ['model.hlo --input x.npy --nans', 'where NaN begins'],
  ],
  info: [['model.jax', 'parameters and results'], ['weights.npz', 'names and shapes of arrays']],
  print: [['model.mlirbc --output model.hlo', 'StableHLO as HLO text']],
  compile: [
    ['model.hlo', 'the module after all rewrites'], ['model.hlo --steps', 'the steps of a device'],
    ['model.hlo --wasm', 'the generated WebAssembly'], ['model.hlo --disable fuse', 'without a rewrite'],
  ],
  explain: [['model.hlo', 'with random arguments'], ['model.hlo --input x.npy', 'with your own'], ['model.hlo --json', 'the same for programs']],
  convert: [['model.mlir --output model.pb', 'a proto for real XLA'], ['w.npz --output w.safetensors', 'arrays in another form']],
  gradient: [['loss.hlo --wrt params --value', 'the loss and its gradient'], ['loss.hlo --output step.hlo', 'into a file']],
  vmap: [['model.hlo --in 0,null --size 8', 'many inputs, the same weights'], ['model.hlo --size 8 --output batch.hlo', 'into a file']],
  completion: [['bash > ~/.local/share/bash-completion/completions/xla-wasm', 'bash'], ['zsh > ~/.zfunc/_xla-wasm', 'zsh'],
    ['fish > ~/.config/fish/completions/xla-wasm.fish', 'fish']],
};

/** The lines of each option in the usage, by its name. */
const OPTION_TEXTS = new Map();
for (const [text, name] of USAGE.matchAll(/^ {2}--([\w-]+)[^\n]*(?:\n {4,}[^\n]*)*/gm)) {
  OPTION_TEXTS.set(name, [...(OPTION_TEXTS.get(name) ?? []), text]);
}

export const COMMAND_NAMES = Object.keys(EXAMPLES);

/** @param {string} command @param {string[]} options of it */
export function helpOf(command, options) {
  const [about] = new RegExp(`^ {2}${command} [^]*?(?=\\n {2}\\S|\\n\\n)`, 'm').exec(USAGE);
  const width = Math.max(...EXAMPLES[command].map(([args]) => args.length));
  return [
    `usage: xla-wasm ${command} ${command === 'completion' ? 'bash|zsh|fish' : `${command === 'convert' ? 'FILE' : 'MODULE'} [options]`}`, '',
    about.replace(/^ {2}\S+ +/, '').replace(/\n +/g, ' '), '',
    ...options.flatMap((name) => OPTION_TEXTS.get(name)), '',
    'Examples:', ...EXAMPLES[command].map(([args, what]) => `  xla-wasm ${command} ${args.padEnd(width)}  # ${what}`), '',
    USAGE.split('\n').at(-1),
  ].join('\n');
}

/* ---- Completion ---- */

const FILES = ['input', 'output', 'profile'];
const WORDS = { elided: 'zeros random', on: 'pjrt', platform: 'cpu gpu tpu cuda rocm' };
const SHELLS = {
  bash: (commands) => `# Completion of xla-wasm for bash.
_xla_wasm() {
  local word="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" options=
  case "$previous" in
${Object.entries(WORDS).map(([name, words]) => `    --${name}) COMPREPLY=($(compgen -W "${words}" -- "$word")); return ;;`).join('\n')}
    ${FILES.map((name) => `--${name}`).join('|')}) COMPREPLY=($(compgen -f -- "$word")); return ;;
  esac
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "${Object.keys(commands).join(' ')} --help --version" -- "$word"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${Object.entries(commands).map(([name, options]) => `    ${name}) options="${options.map((option) => `--${option}`).join(' ')}" ;;`).join('\n')}
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _xla_wasm xla-wasm`,
  zsh: (commands) => `#compdef xla-wasm
# Completion of xla-wasm for zsh.
_xla_wasm() {
  if (( CURRENT == 2 )); then
    compadd -- ${Object.keys(commands).join(' ')} --help --version
    return
  fi
  case "\${words[CURRENT-1]}" in
${Object.entries(WORDS).map(([name, words]) => `    --${name}) compadd -- ${words}; return ;;`).join('\n')}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    case "\${words[2]}" in
${Object.entries(commands).map(([name, options]) => `      ${name}) compadd -- ${options.map((option) => `--${option}`).join(' ')} ;;`).join('\n')}
    esac
  else
    _files
  fi
}
compdef _xla_wasm xla-wasm`,
  fish: (commands) => ['# Completion of xla-wasm for fish.',
    `complete -c xla-wasm -n __fish_use_subcommand -f -a "${Object.keys(commands).join(' ')}"`,
    ...Object.entries(commands).flatMap(([name, options]) => options.map((option) =>
      `complete -c xla-wasm -n "__fish_seen_subcommand_from ${name}" -l ${option}${WORDS[option] ? ` -x -a "${WORDS[option]}"` : FILES.includes(option) ? ' -r' : ''}`)),
  ].join('\n'),
};

/** @param {string} shell @param {Record<string, string[]>} commands options by command; undefined for another shell */
export const completionOf = (shell, commands) => (Object.hasOwn(SHELLS, shell) ? SHELLS[shell](commands) : undefined);
