"""Tests jaxlib.mlir alone: no jax and no core. The expected texts come from the real bindings."""

import io
import json
import pathlib
import re
import sys
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE / "mlir"


def _package(name, folder):
    """Makes a package whose __init__ does not run, so that nothing else is imported."""
    package = types.ModuleType(name)
    package.__path__ = [str(folder)]
    sys.modules.setdefault(name, package)


_package("jaxlib", HERE.parent / "jaxlib")

import numpy as np  # noqa: E402

from jaxlib.mlir import ir, passmanager  # noqa: E402
from jaxlib.mlir._ir import portable  # noqa: E402
from jaxlib.mlir._mlir_libs import _jax_mlir_ext  # noqa: E402
from jaxlib.mlir.dialects import chlo, func, sdy  # noqa: E402
from jaxlib.mlir.dialects import stablehlo as hlo  # noqa: E402


def without_locations(text):
    """Returns a program's text without locations, as printing without them gives it."""
    text = re.sub(r"^#loc.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r" loc\((?:#loc\d*|unknown|[^\n]*?)\)(?=[,)\n]|$)", "", text,
                  flags=re.MULTILINE).rstrip()


def texts():
    return sorted(DATA.glob("*.mlir"))


class ContextTest(unittest.TestCase):
    def setUp(self):
        self.context = ir.Context()
        self.context.__enter__()
        self.location = ir.Location.unknown()
        self.location.__enter__()
        self.addCleanup(self.context.__exit__)
        self.addCleanup(self.location.__exit__)

    def function(self, inputs, results, body, name="main"):
        """Returns a module with one function; `body` gives the values that it returns."""
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            view = func.FuncOp(name, (inputs, results), visibility="public")
            with ir.InsertionPoint(view.add_entry_block()):
                func.ReturnOp(body(*view.arguments))
        return module


class TextTest(ContextTest):
    def test_programs_are_read_and_written_as_they_were(self):
        for path in texts():
            with self.subTest(path.name):
                text = path.read_text()
                module = ir.Module.parse(text)
                self.assertTrue(module.operation.verify())
                again = module.operation.get_asm(enable_debug_info=True)
                self.assertEqual(again.rstrip("\n"), text.rstrip("\n"))

    def test_the_generic_form_means_the_same(self):
        for path in texts():
            with self.subTest(path.name):
                module = ir.Module.parse(path.read_text())
                generic = module.operation.get_asm(print_generic_op_form=True)
                self.assertIn('"builtin.module"()', generic)
                self.assertEqual(str(ir.Module.parse(generic)), str(module))

    def test_bytes_of_a_module_are_read_again(self):
        for path in texts():
            module = ir.Module.parse(path.read_text())
            file = io.BytesIO()
            module.operation.write_bytecode(file)
            self.assertEqual(str(ir.Module.parse(file.getvalue())), str(module))

    def test_bytes_keep_what_a_reduction_leaves_out(self):
        f32 = ir.F32Type.get()
        vector, scalar = ir.RankedTensorType.get((4,), f32), ir.RankedTensorType.get((), f32)

        def body(x, zero):
            made = hlo.ReduceOp([scalar], [x], [zero], [0])
            place = ir.Location.file("body.py", 1, 2)
            with ir.InsertionPoint(made.body.blocks.append(scalar, scalar)), place:
                hlo.return_([hlo.add(*made.body.blocks[0].arguments)])
            return [made.result]

        module = self.function([vector, scalar], [scalar], body)
        self.assertIn("applies stablehlo.add", str(module))
        self.assertNotIn("body.py", module.operation.get_asm(enable_debug_info=True))
        file = io.BytesIO()
        module.operation.write_bytecode(file)
        self.assertIn(b"body.py", file.getvalue())
        self.assertEqual(str(ir.Module.parse(file.getvalue())), str(module))

    def test_numbers_are_written_as_mlir_writes_them(self):
        values = json.loads((DATA / "values.json").read_text())
        for name, expected in values["texts"].items():
            type_ = ir.Type.parse(name)
            made = [str(ir.FloatAttr.get(type_, float(number))) for number in values["numbers"]]
            self.assertEqual(made, expected, name)

    def test_numbers_are_read_again(self):
        values = json.loads((DATA / "values.json").read_text())
        for expected in values["texts"].values():
            for text in expected:
                self.assertEqual(str(ir.Attribute.parse(text)), text)

    def test_large_constants_are_elided_on_demand(self):
        module = ir.Module.parse((DATA / "constants.mlir").read_text())
        text = module.operation.get_asm(large_elements_limit=10)
        self.assertIn("dense_resource<__elided__> : tensor<101xf32>", text)
        self.assertNotIn("0x0000", text)

    def test_attributes_are_read_and_written(self):
        for text in (
                'true', '1 : i32', '[1, 2.000000e+00, 3 : i8, "a\\22b"]', '@f::@"g h"', 'unit',
                '{a, "b c" = dense<[[1, -2]]> : tensor<1x2xi4>, c = array<i64: 1, 2>}',
                '#stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>',
                '#stablehlo.conv<[b, f, 0, 1]x[i, o, 0, 1]->[b, 0, 1, f]>',
                '#stablehlo<comparison_direction EQ>', '#stablehlo.bounds<1, ?>',
                '#stablehlo.result_accuracy<ulps = 4, mode = #stablehlo.result_accuracy_mode<'
                'TOLERANCE>>',
                '#sdy.sharding<@mesh, [{"x":(1)2, "y", ?}p1], replicated={"x"}, unreduced={"z"}>',
                '#sdy.sharding<mesh<["x"=2, "a b"=3], device_ids=[5, 4]>, [{}]>',
                '#sdy.op_sharding_rule<([ij, z_2])->([ij, z_2]) {i=2, j=3, k=1, l=1, m=1, n=1, '
                'o=1, p=1, q=1, r=1, s=1, t=1, u=1, v=1, w=1, x=1, y=1, z=1, z_1=1, z_2=1} '
                'reduction={i} need_replication={j}, custom>',
                '#sdy<manual_axes{"x", "y"}>', 'dense<(1.000000e+00,2.000000e+00)> : '
                'tensor<2xcomplex<f64>>', 'dense<> : tensor<0x3xf32>',
                'tensor<2x?xf32, #stablehlo.bounds<?, 3>>', '(i32, !stablehlo.token) -> ()'):
            self.assertEqual(str(ir.Attribute.parse(text)), text)

    def test_errors_of_parsing_tell_the_place(self):
        for parse, text, message in (
                (ir.Attribute.parse, "foo", "expected attribute value"),
                (ir.Module.parse, "foo", "custom op 'foo' is unknown"),
                (ir.Module.parse, "func.func @f() {\n  return %x : i32\n}",
                 "use of undeclared SSA value name '%x'"),
                (ir.Type.parse, "tensor<2xfoo>", "expected non-function type"),
                (ir.Module.parse, '"a.b"() : () -> (', "expected non-function type")):
            with self.assertRaisesRegex(ir.MLIRError, re.escape(message)):
                parse(text)
        with self.assertRaisesRegex(ir.MLIRError, '"-":2:10'):
            ir.Module.parse("func.func @f() {\n  return %x : i32\n}")


    def test_wrong_texts_are_errors_of_one_kind(self):
        text = (DATA / "control.mlir").read_text()
        failed = 0
        for place in range(0, len(text), 101):
            for wrong in (text[:place], text[:place] + "<" + text[place + 1:],
                          text[:place] + text[place + 5:]):
                try:
                    str(ir.Module.parse(wrong))
                except ir.MLIRError:
                    failed += 1
        self.assertGreater(failed, 100)
        for wrong in ("[" * 5000, "(" * 5000, '"a.b"() ({' * 2000, "tensor<" + "complex<" * 5000):
            for parse in (ir.Module.parse, ir.Attribute.parse, ir.Type.parse):
                with self.assertRaises(ir.MLIRError):
                    parse(wrong)


class ArtifactTest(ContextTest):
    def test_artifacts_of_jax_are_read(self):
        for path in sorted(DATA.glob("*.vhlo")):
            with self.subTest(path.name):
                module = portable.deserialize(path.read_bytes())
                expected = path.with_suffix(".exported.mlir").read_text()
                text = module.operation.get_asm(enable_debug_info=True)
                self.assertEqual(without_locations(text), without_locations(expected))

    def test_artifacts_are_read_again(self):
        for path in texts():
            module = ir.Module.parse(path.read_text())
            for target in ("1.17.0", "1.13.7", "1.0.0"):
                with self.subTest(f"{path.name} {target}"):
                    data = portable.serialize(module, target)
                    self.assertEqual(data[:4], b"ML\xefR")
                    self.assertIn(f"StableHLO_v{target}".encode(), data[:40])
                    again = portable.deserialize(data)
                    # An artifact does not keep what is the default; real JAX dropped it, too.
                    if path.name.endswith(".exported.mlir") and target != "1.0.0":
                        self.assertEqual(str(again), str(module))
                    twice = portable.deserialize(portable.serialize(again, target))
                    self.assertEqual(str(twice), str(again))

    def test_cut_artifacts_are_errors(self):
        data = (DATA / "control.vhlo").read_bytes()
        for length in range(4, len(data) - 1, 97):
            with self.assertRaisesRegex(ir.MLIRError, "Unable to parse bytecode"):
                portable.deserialize(data[:length])

    def test_changed_artifacts_are_read_or_are_errors(self):
        data = (DATA / "control.vhlo").read_bytes()
        failed = 0
        for place in range(4, len(data), 11):
            changed = bytearray(data)
            changed[place] ^= 0xFF
            try:
                str(portable.deserialize(bytes(changed)))
            except ir.MLIRError:
                failed += 1
        self.assertGreater(failed, 10)

    def test_targets_are_versions(self):
        module = ir.Module.create()
        with self.assertRaisesRegex(ValueError, "target version"):
            portable.serialize(module, "one")


class BuildingTest(ContextTest):
    def test_builders_infer_types(self):
        f32, i32 = ir.F32Type.get(), ir.IntegerType.get_signless(32)
        vector = ir.RankedTensorType.get((4, 6), f32)

        def body(x):
            c64 = hlo.complex(x, x)
            self.assertEqual(str(c64.type), "tensor<4x6xcomplex<f32>>")
            self.assertIs(hlo.real(c64).type, vector)
            less = hlo.compare(x, x, hlo.ComparisonDirectionAttr.get("LT"))
            self.assertEqual(str(less.type), "tensor<4x6xi1>")
            self.assertIs(hlo.select(less, x, x).type, vector)
            self.assertEqual(str(hlo.transpose(x, [1, 0]).type), "tensor<6x4xf32>")
            self.assertEqual(str(hlo.slice(x, [0, 1], [4, 6], [3, 2]).type), "tensor<2x3xf32>")
            both = hlo.concatenate([x, x], ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1))
            self.assertEqual(str(both.type), "tensor<4x12xf32>")
            values, indices = chlo.top_k(x, 2)
            self.assertEqual([str(values.type), str(indices.type)],
                             ["tensor<4x2xf32>", "tensor<4x2xi32>"])
            pad = hlo.pad(x, hlo.constant(ir.DenseElementsAttr.get(np.float32(0))),
                          [1, 0], [0, 2], [0, 1])
            self.assertEqual(str(pad.type), "tensor<5x13xf32>")
            return [x]

        self.function([vector], [vector], body)
        self.assertIs(ir.RankedTensorType.get([4, 6], ir.F32Type.get()), vector)
        self.assertNotEqual(i32, ir.IntegerType.get_unsigned(32))

    def test_builders_refuse_what_the_bindings_refuse(self):
        f32 = ir.RankedTensorType.get((), ir.F32Type.get())

        def body(x):
            with self.assertRaisesRegex(ValueError, "Operand 1 of operation"):
                hlo.add(x, 3)
            with self.assertRaisesRegex(TypeError, "missing required argument: 'rhs'"):
                hlo.add(x)
            with self.assertRaisesRegex(TypeError, "unexpected keyword argument"):
                hlo.add(x, x, foo=1)
            with self.assertRaisesRegex(ir.MLIRError, "out-of-bounds"):
                hlo.concatenate([x], 0)
            return [x]

        self.function([f32], [f32], body)
        with self.assertRaisesRegex(ValueError, "Cannot cast type to IntegerType"):
            ir.IntegerType(f32)
        with self.assertRaisesRegex(ir.MLIRError, "invalid tensor element type"):
            ir.RankedTensorType.get((2,), f32)

    def test_verification_finds_wrong_functions(self):
        f32 = ir.RankedTensorType.get((), ir.F32Type.get())
        module = self.function([f32], [f32], lambda x: [x])
        self.assertTrue(module.operation.verify())
        view = module.body.operations[0]
        view.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([], []))
        with self.assertRaisesRegex(ir.MLIRError, "entry block must have 0 arguments"):
            module.operation.verify()

    def test_uses_are_replaced(self):
        f32 = ir.RankedTensorType.get((), ir.F32Type.get())
        module = self.function([f32, f32], [f32], lambda x, y: [hlo.add(x, x)])
        x, y = module.body.operations[0].arguments
        self.assertEqual([use.operand_number for use in x.uses], [0, 1])
        x.replace_all_uses_with(y)
        self.assertEqual(list(x.uses), [])
        self.assertIn("stablehlo.add %arg1, %arg1", str(module))

    def test_symbols_get_names_of_their_own(self):
        module = ir.Module.create()
        table = ir.SymbolTable(module.operation)
        names = []
        with ir.InsertionPoint(module.body):
            for name in ("f", "f", "g", "g", "f"):
                names.append(table.insert(func.FuncOp(name, ([], []))).value)
        self.assertEqual(names, ["f", "f_0", "g", "g_1", "f_2"])
        self.assertIn("f_2", table)
        with self.assertRaisesRegex(KeyError, "not in the symbol table"):
            table["h"]

    def test_a_clone_is_another_operation(self):
        module = ir.Module.parse((DATA / "control.mlir").read_text())
        copy = module.operation.clone(ip=False)
        self.assertEqual(str(copy), str(module))
        copy.regions[0].blocks[0].operations[0].erase()
        self.assertNotEqual(str(copy), str(module))

    def test_walks_go_in_both_orders(self):
        module = ir.Module.parse((DATA / "elementwise.mlir").read_text())
        seen = []

        def note(operation):
            seen.append(operation.name)
            return ir.WalkResult.ADVANCE

        module.operation.walk(note, ir.WalkOrder.PRE_ORDER)
        self.assertEqual(seen[0], "builtin.module")
        count = len(seen)
        module.operation.walk(note)
        self.assertEqual((seen[-1], len(seen)), ("builtin.module", 2 * count))

    def test_calls_are_inlined_with_their_locations(self):
        f32 = ir.RankedTensorType.get((), ir.F32Type.get())
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            callee = func.FuncOp("f", ([f32], [f32]))
            named = ir.Location.name("add:", ir.Location.name("add"))
            with ir.InsertionPoint(callee.add_entry_block()), named:
                func.ReturnOp([hlo.add(callee.arguments[0], callee.arguments[0])])
            caller = func.FuncOp("main", ([f32], [f32]))
            place = ir.Location.name("jit(g)", ir.Location.file("a.py", 1, 2))
            with ir.InsertionPoint(caller.add_entry_block()):
                with ir.Location.name("outer", place):
                    made = _jax_mlir_ext.inlined_func_call(callee.operation, caller.arguments)
                func.ReturnOp(made)
        text = caller.operation.get_asm(enable_debug_info=True)
        self.assertIn("stablehlo.add %arg0, %arg0", text)
        self.assertIn('loc("outer/add"(', text)


class PassTest(ContextTest):
    def run_passes(self, text, passes):
        module = ir.Module.parse(text)
        manager = passmanager.PassManager.parse(f"builtin.module({passes})")
        manager.run(module.operation)
        return module

    def test_meshes_are_lifted(self):
        inline = 'mesh<["x"=2]>'
        text = (f'func.func @main(%a: tensor<2xf32> {{sdy.sharding = #sdy.sharding<{inline}, '
                f'[{{"x"}}]>}}) -> tensor<2xf32> {{\n  %0 = sdy.sharding_constraint %a <{inline}, '
                '[{}]> : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}')
        module = str(self.run_passes(text, "sdy-lift-inlined-meshes"))
        self.assertEqual(module.count("sdy.mesh"), 1)
        self.assertIn('sdy.mesh @mesh = <["x"=2]> {stablehlo.mesh = {axes = [{name = "x", '
                      'size = 2 : i64}]}}', module)
        self.assertIn("sdy.sharding_constraint %arg0 <@mesh, [{}]>", module)
        self.assertIn('#sdy.sharding<@mesh, [{"x"}]>', module)

    def test_symbols_that_nothing_uses_go(self):
        text = ("func.func @main() {\n  call @f() : () -> ()\n  return\n}\n"
                "func.func private @f() {\n  call @g() : () -> ()\n  return\n}\n"
                "func.func private @g()\nfunc.func private @h()")
        module = str(self.run_passes(text, "symbol-dce"))
        self.assertIn("@g", module)
        self.assertNotIn("@h", module)

    def test_locations_are_stripped(self):
        module = self.run_passes((DATA / "control.mlir").read_text(), "strip-debuginfo")
        text = module.operation.get_asm(enable_debug_info=True)
        self.assertNotIn("make.py", text)

    def test_unknown_passes_are_errors(self):
        with self.assertRaisesRegex(ValueError, "does not refer to a registered pass"):
            passmanager.PassManager.parse("builtin.module(foo)")
        with self.assertRaisesRegex(ValueError, "anchor operation"):
            passmanager.PassManager.parse("symbol-dce")

    def test_symbols_are_renamed_in_shardings(self):
        sharding = sdy.TensorShardingAttr.get("mesh", [sdy.DimensionShardingAttr.get([], True)])
        module = ir.Module.create()
        module.operation.attributes["s"] = ir.ArrayAttr.get([sharding])
        ir.SymbolTable.replace_all_symbol_uses("mesh", "other", module.operation)
        self.assertIn("#sdy.sharding<@other, [{}]>", str(module))


if __name__ == "__main__":
    unittest.main()
