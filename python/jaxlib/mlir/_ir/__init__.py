"""The parts of jaxlib.mlir.ir.

| modules | what they hold |
| --- | --- |
| context, location, tracebacks | what is current in a thread, diagnostics, places in sources |
| types, attributes, elements, structs, sdy | types and attributes; those of dialects from tables |
| operations, lists, symbols | operations, regions, blocks, values, symbol tables |
| registry, views, inference | rows of operations, their classes and builders, types of results |
| printer, naming, aliases, formats, forms, numbers | text, from one format an operation |
| lexer, syntax, parser | the same formats, read |
| bytecode, bytecode_reader, bytecode_writer, encodings, properties, portable | bytes, VHLO |
| inlining, passes, shardings, verifier, refinement | what JAX does to programs |
"""
