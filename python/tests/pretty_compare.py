"""Compares our pretty printer with the real jaxlib's on random documents.

Run with a Python that has the real jaxlib: `python pretty_compare.py [SEED [COUNT]]`.
"""

import importlib.util
import pathlib
import random
import sys

import jaxlib._pretty_printer as real

PATH = pathlib.Path(__file__).resolve().parent.parent / "jaxlib" / "_pretty_printer.py"
spec = importlib.util.spec_from_file_location("ours_pretty_printer", PATH)
ours = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ours)

SOURCES = ["one", "two", "three"]


def random_doc(rng, pp, depth):
    kind = rng.choice(["nil", "text", "text", "break", "concat", "concat", "group", "nest",
                       "color", "source"] if depth else ["nil", "text", "break"])
    if kind == "nil":
        return pp.nil()
    if kind == "text":
        text = rng.choice(["a", "lambda", "<é&>", "x" * 9])
        options = [rng.choice([None, None, None, s]) for s in ("note", "here", "#there")]
        return pp.text(text, *options)
    if kind == "break":
        return pp.brk(rng.choice([" ", "; ", ""]))
    if kind == "concat":
        return pp.concat([random_doc(rng, pp, depth - 1) for _ in range(rng.randrange(5))])
    if kind == "group":
        return pp.group(random_doc(rng, pp, depth - 1))
    if kind == "nest":
        n = rng.randrange(4)
        return pp.nest(n, random_doc(rng, pp, depth - 1))
    if kind == "source":
        source = rng.choice(SOURCES)
        return pp.source_map(random_doc(rng, pp, depth - 1), source)
    colors = [rng.choice([None, pp.Color.RED, pp.Color.RESET]) for _ in range(2)]
    intensity = rng.choice([None, pp.Intensity.BRIGHT])
    return pp.color(random_doc(rng, pp, depth - 1), *colors, intensity)


def outcome(seed, pp):
    rng = random.Random(seed)
    doc = random_doc(rng, pp, 6)
    source_map = rng.choice([None, []])
    text = doc._format(
        rng.choice([5, 20, 80]), use_color=rng.random() < 0.5,
        output_format=rng.choice([pp.OutputFormat.TEXT, pp.OutputFormat.HTML]),
        separable_lines=rng.random() < 0.5, annotation_prefix=" # ", source_map=source_map)
    return repr(doc), text, source_map


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    wrong = 0
    for n in range(count):
        a, b = outcome(f"{seed}:{n}", real), outcome(f"{seed}:{n}", ours)
        if a != b:
            wrong += 1
            print(f"document {n}:\n  {a}\n  {b}")
            if wrong > 5:
                break
    print(f"{count} documents, {wrong} differ")
    sys.exit(wrong > 0)


main()
