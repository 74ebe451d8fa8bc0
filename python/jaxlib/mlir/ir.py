"""MLIR's intermediate representation in pure Python, by the names of MLIR's package."""

from ._ir.attributes import (  # noqa: F401
    ArrayAttr, Attribute, BoolAttr, DenseBoolArrayAttr, DenseF32ArrayAttr, DenseF64ArrayAttr,
    DenseI8ArrayAttr, DenseI16ArrayAttr, DenseI32ArrayAttr, DenseI64ArrayAttr, DictAttr,
    FlatSymbolRefAttr, FloatAttr, IntegerAttr, NamedAttribute, OpaqueAttr, StridedLayoutAttr,
    StringAttr, SymbolRefAttr, TypeAttr, UnitAttr)
from ._ir.context import (  # noqa: F401
    Context, Diagnostic, DiagnosticHandler, DiagnosticInfo, DiagnosticSeverity,
    DialectDescriptor, DialectRegistry, Dialects, MLIRError, ThreadPool)
from ._ir.elements import (  # noqa: F401
    DenseElementsAttr, DenseFPElementsAttr, DenseIntElementsAttr, DenseResourceElementsAttr)
from ._ir.location import (  # noqa: F401
    CallSiteLoc, FileLineColLoc, FusedLoc, Location, NameLoc, UnknownLoc)
from ._ir.lists import (  # noqa: F401
    BlockArgumentList, BlockPredecessors, BlockSuccessors, OpAttributeMap, OpOperandList,
    OpOperands, OpResultList, OpSuccessors, RegionSequence)
from ._ir.operations import (  # noqa: F401
    Block, BlockArgument, BlockList, InsertionPoint, Module, Operation, OperationList, OpOperand,
    OpResult, Region, Value, WalkOrder, WalkResult, _OperationBase)
from ._ir.symbols import SymbolTable  # noqa: F401
from ._ir.types import (  # noqa: F401
    BF16Type, ComplexType, DynamicType, F16Type, F32Type, F64Type, Float4E2M1FNType,
    Float6E2M3FNType, Float6E3M2FNType, Float8E3M4Type, Float8E4M3B11FNUZType, Float8E4M3FNType,
    Float8E4M3FNUZType, Float8E4M3Type, Float8E5M2FNUZType, Float8E5M2Type, Float8E8M0FNUType,
    FloatTF32Type, FloatType, FunctionType, IndexType, IntegerType, MemRefType, NoneType,
    OpaqueType, RankedTensorType, ShapedType, TupleType, Type, TypeID, UnrankedMemRefType,
    UnrankedTensorType, VectorType)
from ._ir.views import (  # noqa: F401
    AttrBuilder, OpAdaptor, OpView, register_attribute_builder)
